"""POP consumption: the broker hands out messages and hides them for a time; each is acknowledged by itself.

Members share queues without owning them; the broker chooses the queue of each message. A rejected message
stays hidden longer. A message that is not acknowledged is redelivered when its invisible time ends.
RocketMQ: `DefaultMQPushConsumerImpl.popMessage`, `ConsumeMessagePopConcurrentlyService`, `PopProcessQueue`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.client import Client
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.errors import BrokerError, ClientError
from mqgateway.gateway.client.listening import Consumed, Context
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.options import ConsumeFrom, PushOptions
from mqgateway.gateway.client.process_queue import (
    BROKER_FLOW_CONTROL_MILLIS,
    FIRST_SECONDS,
    FLOW_CONTROL_MILLIS,
    PAUSED_MILLIS,
    PULL_IDLE_MILLIS,
)
from mqgateway.gateway.client.reading import read_messages
from mqgateway.gateway.client.receipts import given, pause, restamp, stamp
from mqgateway.gateway.codec.bodies import MessageQueue, PopProcessQueueInfo, SubscriptionData
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from mqgateway.gateway.runtime.slots import Slots

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
"""Timeout of a pop, in addition to the broker's waiting time."""
ACKNOWLEDGE_SECONDS = 3.0
CLOCK_MARGIN_MILLIS = 86_400_000
"""Tolerated lag of the local clock behind the broker's, for pops that do not wait."""
FROM_MIN, FROM_MAX = 0, 1
"""Initial positions of a group without offsets."""
_NOTHING = (ResponseCode.POLLING_TIMEOUT, ResponseCode.PULL_NOT_FOUND)


class PopStatus(StrEnum):
    """Outcome of a pop."""

    FOUND = "FOUND"
    NOT_FOUND = "NOT_FOUND"
    FULL = "FULL"
    """The broker has too many parked requests."""


class PopRequest(NamedTuple):
    """Options of a pop: maximum number of messages, invisible time and the broker's waiting time."""

    messages_max: int
    invisible_millis: int
    wait_millis: int
    init_mode: int
    is_ordered: bool = False


def init_mode_of(where: ConsumeFrom) -> int:
    """Return the initial position of a group without offsets; a pop cannot start at a timestamp."""
    return FROM_MIN if where is ConsumeFrom.FIRST_OFFSET else FROM_MAX


class Popper:
    """Pops and acknowledgements of one group."""

    def __init__(self, client: Client, group: str) -> None:
        self._client = client
        self._group = group

    async def pop(
        self, queue: MessageQueue, subscribed: SubscriptionData, request: PopRequest
    ) -> tuple[PopStatus, list[ReceivedMessage]]:
        """Pop messages of a queue, or of any queue of its broker (-1). Raises as `gateway.client.calls`."""
        place = await self._client.place_of(queue, only_this=True)
        # A broker answers a request that has expired by its own clock with nothing. A request that does not
        # wait must never expire, however wrong the local clock is.
        margin = 0 if request.wait_millis else CLOCK_MARGIN_MILLIS
        header = PopMessageRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            max_msg_nums=request.messages_max,
            invisible_time=request.invisible_millis,
            poll_time=request.wait_millis,
            born_time=self._client.clock.millis() + margin,
            init_mode=request.init_mode,
            exp_type=subscribed.expression_type,
            exp=subscribed.sub_string,
            order=request.is_ordered,
            bname=queue.broker_name,
        )
        seconds = request.wait_millis / 1000 + ANSWER_SECONDS
        answer = await self._client.asking.ask(
            place.address, RequestCode.POP_MESSAGE, header, timeout=seconds
        )
        if answer.code == ResponseCode.POLLING_FULL:
            return PopStatus.FULL, []
        if answer.code in _NOTHING:
            return PopStatus.NOT_FOUND, []
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerError(answer.code, answer.remark, place.address)
        messages = read_messages(answer.body, queue.broker_name)
        response = decode_header(PopMessageResponseHeader, answer)
        stamp(messages, queue.topic, queue.broker_name, response)
        return PopStatus.FOUND, messages

    async def acknowledge(self, message: ReceivedMessage, topic: str) -> None:
        """Acknowledge a message. Raises as `gateway.client.calls`, and `ValueError` if it was not popped."""
        receipt = given(message, topic, self._group)
        header = AckMessageRequestHeader(
            consumer_group=self._group,
            topic=receipt.topic,
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            bname=receipt.broker_name,
        )
        address = await self._client.master_of(MessageQueue(topic, receipt.broker_name, receipt.queue_id))
        await self._client.asking.expect(
            address, RequestCode.ACK_MESSAGE, header, timeout=ACKNOWLEDGE_SECONDS
        )

    async def hide(self, message: ReceivedMessage, topic: str, millis: int) -> None:
        """Change a message's invisible time to `millis` and update its receipt. Raises as `acknowledge`."""
        receipt = given(message, topic, self._group)
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=self._group,
            topic=receipt.topic,
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            invisible_time=millis,
            bname=receipt.broker_name,
        )
        address = await self._client.master_of(MessageQueue(topic, receipt.broker_name, receipt.queue_id))
        answer = await self._client.asking.expect(
            address, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header, timeout=ACKNOWLEDGE_SECONDS
        )
        restamp(message, receipt, decode_header(ChangeInvisibleTimeResponseHeader, answer))


class PopProcessQueue:
    """Queue that is popped while it is assigned. `waiting` counts messages that are not settled yet."""

    def __init__(self, now: int) -> None:
        self.waiting = 0
        self.dropped = False
        self.popped_at = now

    def info(self) -> PopProcessQueueInfo:
        """Return the state for administrators."""
        return PopProcessQueueInfo(self.waiting, self.dropped, self.popped_at)


class Consumption(Protocol):
    """Interface that passes messages to the listener."""

    slots: Slots

    async def call(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        """Pass messages to the listener and return its outcome; never fails."""
        ...


class PopConsumption:
    """POP consumption of one consumer."""

    def __init__(
        self, consumer: GroupConsumer, options: PushOptions, consumption: Consumption, times_max: int
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._consumption = consumption
        self._times_max = times_max
        self._popper = Popper(consumer.client, consumer.group)
        self._request = PopRequest(
            options.pop_batch_nums,
            options.pop_invisible_time,
            options.broker_suspend_max_time_millis,
            init_mode_of(options.consume_from_where),
        )
        self.held: dict[MessageQueue, PopProcessQueue] = {}

    def take_over(self, topic: str, wanted: Collection[MessageQueue]) -> bool:
        """Release and acquire queues of a topic. Returns True if anything changed."""
        now = self._consumer.client.steady.now()
        before = {queue: held for queue, held in self.held.items() if queue.topic == topic}
        self._drop(
            lambda queue, held: (
                queue in before and (queue not in wanted or now - held.popped_at > PULL_IDLE_MILLIS)
            )
        )
        for queue in sorted(queue for queue in wanted if queue not in self.held):
            self.held[queue] = PopProcessQueue(now)
            self._consumer.client.spawn(self._pop_repeatedly(queue, self.held[queue]))
            log.info("%s pops %s", self._consumer.group, queue)
        return before != {queue: held for queue, held in self.held.items() if queue.topic == topic}

    def keep(self, topics: Collection[str]) -> None:
        """Release the queues of all other topics."""
        self._drop(lambda queue, _: queue.topic not in topics)

    def infos(self) -> dict[MessageQueue, PopProcessQueueInfo]:
        """Return the state of all queues for administrators."""
        return {queue: held.info() for queue, held in self.held.items()}

    def _drop(self, is_to_go: Callable[[MessageQueue, PopProcessQueue], bool]) -> None:
        for queue, held in list(self.held.items()):
            if is_to_go(queue, held):
                held.dropped = True
                del self.held[queue]

    # Popping

    async def _pop_repeatedly(self, queue: MessageQueue, held: PopProcessQueue) -> None:
        rest = self._consumer.client.schedule.pause
        await rest(FIRST_SECONDS)
        while self._consumer.is_running and not held.dropped:
            held.popped_at = self._consumer.client.steady.now()
            if self._consumer.is_paused:
                millis = PAUSED_MILLIS
            elif held.waiting > self._options.pop_threshold_for_queue:
                millis = FLOW_CONTROL_MILLIS
            else:
                millis = await self._pop_safely(queue, held)
            if millis and not held.dropped:
                await rest(millis / 1000)

    async def _pop_safely(self, queue: MessageQueue, held: PopProcessQueue) -> int:
        try:
            return await self._pop(queue, held)
        except Exception:
            log.exception("a pop from %s failed", queue)
            return self._options.pull_time_delay_mills_when_exception

    async def _pop(self, queue: MessageQueue, held: PopProcessQueue) -> int:
        """Pop once and return how long to pause afterwards, in ms."""
        on_failure = self._options.pull_time_delay_mills_when_exception
        subscribed = self._consumer.subscriptions.get(queue.topic)
        if subscribed is None:
            return on_failure
        steady = self._consumer.client.steady
        began = steady.now()
        try:
            status, messages = await self._popper.pop(queue, subscribed, self._request)
        except ClientError as error:
            if not self._consumer.is_running:
                return 0  # a parked pop that was ended by our closing
            log.info("a pop from %s failed: %s", queue, error)
            self._consumer.report_failure(error)
            is_flow_control = isinstance(error, BrokerError) and error.code == ResponseCode.FLOW_CONTROL
            return BROKER_FLOW_CONTROL_MILLIS if is_flow_control else on_failure
        if status is not PopStatus.FOUND:
            return on_failure if status is PopStatus.FULL else 0
        now = steady.now()
        self._consumer.stats.pulled(queue.topic, now - began, len(messages), now)
        chosen = []
        for message in messages:
            is_wanted = not subscribed.tags_set or message.tags in subscribed.tags_set
            if is_wanted and message.reconsume_times <= self._times_max:
                chosen.append(message)
            else:
                self._acknowledge(message, queue.topic)
        held.waiting += len(chosen)
        size = self._options.consume_message_batch_max_size
        for start in range(0, len(chosen), size):
            self._consumer.client.spawn(self._consume(chosen[start : start + size], queue, held, now))
        return self._options.pull_interval

    # Consuming

    async def _consume(
        self, messages: list[ReceivedMessage], queue: MessageQueue, held: PopProcessQueue, popped: int
    ) -> None:
        """Pass messages to the listener; `popped` is their arrival in ms.

        It is local time, because the broker's clock may be wrong.
        """
        slots = self._consumption.slots
        await slots.enter()
        try:
            until = popped + given(messages[0], queue.topic, self._consumer.group).invisible_time
            if slots.is_closed:
                return
            if self._is_over(held, until):
                log.info("it is too late for %s; they come again", messages)
                return
            context = Context(queue)
            outcome = await self._consumption.call(messages, context)
            if self._is_over(held, until):
                log.warning("the listener took too long for %s; they are delivered again", messages)
            else:
                self._settle(messages, context, outcome)
        finally:
            held.waiting -= len(messages)
            slots.leave()

    def _is_over(self, held: PopProcessQueue, until: int) -> bool:
        """Return True if the messages will be redelivered in any case."""
        return held.dropped or self._consumer.client.steady.now() >= until

    def _settle(self, messages: Sequence[ReceivedMessage], context: Context, outcome: Consumed) -> None:
        if outcome is Consumed.LEAVE:
            return  # they are redelivered when their invisible time ends
        queue = context.queue
        done = 0 if outcome is Consumed.LATER else max(0, min(context.acked, len(messages)))
        for message in messages[:done]:
            self._acknowledge(message, queue.topic)
        for message in messages[done:]:
            now = self._consumer.client.steady.now()
            seconds = pause(message, context.delay_level, self._times_max, now)
            if seconds is None:
                log.warning("%r was refused too often, and is given up", message)
                self._acknowledge(message, queue.topic)
            else:
                self._consumer.client.spawn(self._popper.hide(message, queue.topic, seconds * 1000))

    def _acknowledge(self, message: ReceivedMessage, topic: str) -> None:
        self._consumer.client.spawn(self._popper.acknowledge(message, topic))
