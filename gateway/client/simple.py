"""A consumer that receives messages and acknowledges each: the broker hides what was received for a while.

`receive` asks the brokers of all topics in turn. A message that is not acknowledged within its invisible
duration comes again, to any member; `nack` brings it back sooner or later. One that came again too often goes
to the dead letters. Members hold no queues, so a slow one delays no other. Standard: `SimpleConsumer` of the
clients for gRPC; here with the remoting protocol's POP, which brokers of 5.0 and later know.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import Any, Unpack

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import PROPERTY_POP_CK
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.errors import BadArgument, ClientError, NoRoute
from mqgateway.gateway.client.iterating import Hand
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.options import ConsumeFrom, MessageModel, SimpleOptions, made
from mqgateway.gateway.client.pop_consumption import Popper, PopRequest, PopStatus, init_mode_of
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.receipts import DELAY_SECONDS
from mqgateway.gateway.client.settings import SimpleSettings
from mqgateway.gateway.client.subscriptions import Sql, Topics
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, MessageQueue

log = logging.getLogger(__name__)

Duration = float | timedelta
"""Seconds, or a timedelta."""

ANY_QUEUE = -1
MESSAGES_MAX = 32
"""Messages of one receive, which is what brokers give at once."""
INVISIBLE_SECONDS_MIN, INVISIBLE_SECONDS_MAX = 1, 12 * 3600
TURN_MILLIS = 1_000
"""Time that one broker is waited at while there are others."""
REST_SECONDS = 1.0
"""Rest after an answer without messages that came before its time."""
RECONSUME_TIMES = 16


class SimpleConsumer(GroupConsumer):
    """A member of a group that receives and acknowledges. `is_ordered`: each queue in order."""

    settings: SimpleOptions
    consume_type = "CONSUME_ACTIVELY"

    def __init__(
        self,
        group: str,
        environment: Environment,
        *,
        is_ordered: bool = False,
        client: Client | None = None,
        **settings: Unpack[SimpleSettings],
    ) -> None:
        options = made(SimpleOptions, settings, ("is_ordered",))
        if options.message_model is MessageModel.BROADCASTING:
            raise BadArgument("message_model=BROADCASTING: brokers share popped messages; use PushConsumer")
        if options.consume_from_where is ConsumeFrom.TIMESTAMP:
            raise BadArgument(
                "consume_from_where=CONSUME_FROM_TIMESTAMP: a new group receives from the first message on, "
                "or new messages only; reset its offsets to a time instead (Admin.reset_offsets)"
            )
        self._is_ordered = arguments.of_type("is_ordered", is_ordered, bool, "True or False")
        super().__init__(group, options, environment, client=client)
        times = options.max_reconsume_times
        self._times_max = RECONSUME_TIMES if times == -1 else times
        self._popper = Popper(self.client, self.group)
        self._turn = 0
        self._hand: Hand | None = None
        self._waits: set[Deferred[Any]] = set()
        self.is_ending = False

    # Its life

    @as_deferred
    async def start(self) -> None:
        """Join the group. Raises `BadArgument`, `NotRunning`, `Unreachable`, `BrokerError`."""
        await self._join()

    @as_deferred
    async def close(self) -> None:
        """Leave the group. What was received and not acknowledged comes again after its invisible duration;
        what a loop over the consumer has not reached yet comes again now."""
        if not self.is_running:
            return
        hand, self._hand = self._hand, None
        if hand is not None:
            for message in hand.messages[hand.given :]:
                await self._give_back(message)
        await self._part()
        self._end_waits()

    @as_deferred
    async def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Receive messages of a topic, or of several: all, by tags (`"a || b"`), or by an expression."""
        await self._subscribe_now(topic, wanted)

    def unsubscribe(self, topic: Topics) -> None:
        """Receive no more of a topic, or of several."""
        self._unsubscribe(topic)

    # Receiving

    @as_deferred
    async def receive(
        self,
        max_messages: int = MESSAGES_MAX,
        *,
        invisible_duration: Duration | None = None,
        timeout: Duration | None = None,
    ) -> list[ReceivedMessage]:
        """Return the next messages, hidden from others for `invisible_duration` (60 s unless set); none when
        there are none within `timeout` (20 s unless set), both in seconds.

        Raises `BadArgument`, `NotRunning`, `NoRoute`, `Unreachable`, `BrokerError`.
        """
        self._check_running()
        arguments.whole("max_messages", max_messages, 1, MESSAGES_MAX)
        hidden = self.settings.pop_invisible_time
        if invisible_duration is not None:
            hidden = _invisible_millis("invisible_duration", invisible_duration)
        limit = self.settings.broker_suspend_max_time_millis / 1000
        if timeout is not None:
            limit = arguments.seconds("timeout", timeout)
        if not self.subscriptions:
            raise BadArgument(f"the consumer {self.group} has no subscription: subscribe to a topic first")
        return await self._receive(max_messages, hidden, limit)

    @as_deferred
    async def take(self) -> Hand | None:
        """Return the messages that a loop over the consumer goes through next; None when it is closed or
        ending.

        A broker that cannot be asked is asked again.
        """
        if not self.is_closed:
            self._check_running()
        hand = self._hand
        while self.is_running and not self.is_ending and (hand is None or hand.is_empty):
            try:
                messages = await self._receive_until_ended()
            except BadArgument:
                raise
            except ClientError as error:
                log.log(self.client.failure_level, "the consumer %s receives nothing: %s", self.group, error)
                if self.is_running:
                    await self._pause(self.settings.pull_time_delay_mills_when_exception / 1000)
                continue
            until = self.client.steady.now() + self.settings.pop_invisible_time
            hand = self._hand = Hand(messages, partial(self._is_before, until))
        return hand if self.is_running and not self.is_ending else None

    def _is_before(self, until: int) -> bool:
        return self.client.steady.now() < until

    async def _receive_until_ended(self) -> list[ReceivedMessage]:
        """Return the next messages; none at once when the loop is to end. Messages that arrive after that are
        returned to the broker. Raises as `receive`."""
        outcome: Deferred[list[ReceivedMessage] | None] = Deferred()

        def done(result: list[ReceivedMessage] | Failure) -> None:
            if not outcome.called:
                outcome.callback(result)
            elif not isinstance(result, Failure):
                self._return_late(result)

        self._waits.add(outcome)
        self.receive().addBoth(done)
        try:
            return await outcome or []
        finally:
            self._waits.discard(outcome)

    def _return_late(self, messages: list[ReceivedMessage]) -> None:
        if self.is_running:
            for message in messages:
                self.client.spawn(self._give_back(message))

    def end_iteration(self) -> None:
        """End a loop over the consumer after its current message, or at once if it waits for one."""
        self.is_ending = True
        if self._hand is not None:
            self._hand.is_ended = True
        self._end_waits()

    def _end_waits(self) -> None:
        for wait in list(self._waits):
            if not wait.called:
                wait.callback(None)

    def handled(self) -> None:
        """Do nothing: a loop that was left has acknowledged what it has handled."""

    async def _receive(self, count: int, hidden: int, limit: float) -> list[ReceivedMessage]:
        schedule, began = self.client.schedule, self.client.clock.millis()
        deadline = schedule.seconds() + limit
        while True:
            left = deadline - schedule.seconds()
            asked_at = schedule.seconds()
            messages = await self._received(count, hidden, max(0, int(left * 1000)))
            if messages:
                self.restore_topics(messages)
                if self.spans is not None:
                    self.spans.received(messages, began)
                return messages
            left = deadline - schedule.seconds()
            if left <= 0 or not self.is_running or self.is_ending:
                return []
            if schedule.seconds() - asked_at < min(left, TURN_MILLIS / 1000) / 2:
                await self._pause(min(left, REST_SECONDS))
                if not self.is_running or self.is_ending:
                    return []

    async def _pause(self, seconds: float) -> None:
        """Wait until the time is over, the loop is to end or the consumer is closed, as timers of a closed
        client never fire."""
        over: Deferred[None] = Deferred()
        timer = self.client.schedule.later(seconds, over.callback, None)
        self._waits.add(over)
        try:
            await over
        finally:
            timer.cancel()
            self._waits.discard(over)

    async def _received(self, count: int, hidden: int, wait_millis: int) -> list[ReceivedMessage]:
        """Ask every broker of every topic once, then wait at one of them; each time at the next."""
        sources = await self._sources()
        self._turn += 1
        at = self._turn % len(sources)
        sources = sources[at:] + sources[:at]
        if len(sources) > 1 or not wait_millis:
            messages = await self._swept(sources, count, hidden)
            if messages or not wait_millis:
                return messages
            wait_millis = min(wait_millis, TURN_MILLIS)
        wait_millis = min(wait_millis, self.settings.broker_suspend_max_time_millis)
        try:
            return await self._popped(sources[0], count, hidden, wait_millis)
        except ClientError:
            if len(sources) > 1 or not self.is_running:
                return []  # the next sweep finds out; or the wait was ended by our leaving
            raise

    async def _swept(self, sources: list[MessageQueue], count: int, hidden: int) -> list[ReceivedMessage]:
        """Return the result of the first source that has one. Raises only if all of them fail."""
        errors: list[ClientError] = []
        for source in sources:
            try:
                messages = await self._popped(source, count, hidden, 0)
            except ClientError as error:
                log.info("a pop from %s failed: %s", source, error)
                errors.append(error)
                continue
            if messages:
                return messages
        if len(errors) == len(sources) and self.is_running:
            raise errors[-1]
        return []

    async def _sources(self) -> list[MessageQueue]:
        """Return every broker of every topic, as a queue that stands for all of its queues. Raises
        `NoRoute`."""
        for topic in list(self.subscriptions):
            if not self.readable.get(topic):
                await self.client.update_route(topic)
        found = {
            MessageQueue(topic, queue.broker_name, ANY_QUEUE)
            for topic in self.subscriptions
            for queue in self.readable.get(topic, ())
        }
        if not found:
            topic = next(iter(self.subscriptions), "")
            raise NoRoute(without_namespace(self.settings.namespace, topic))
        return sorted(found)

    async def _popped(
        self, source: MessageQueue, count: int, hidden: int, wait_millis: int
    ) -> list[ReceivedMessage]:
        subscribed = self.subscriptions.get(source.topic)
        if subscribed is None:
            return []
        request = PopRequest(
            count, hidden, wait_millis, init_mode_of(self.settings.consume_from_where), self._is_ordered
        )
        began = self.client.steady.now()
        status, messages = await self._popper.pop(source, subscribed, request)
        if status is not PopStatus.FOUND:
            return []
        now = self.client.steady.now()
        self.stats.pulled(source.topic, now - began, len(messages), now)
        chosen = []
        for message in messages:
            if subscribed.tags_set and message.tags not in subscribed.tags_set:
                self.client.spawn(self._popper.acknowledge(message, source.topic))
            elif message.reconsume_times > self._times_max:
                self.client.spawn(self._dead_letter(message, source.topic))
            else:
                chosen.append(message)
        return chosen

    # Acknowledging

    @as_deferred
    async def ack(self, message: ReceivedMessage) -> None:
        """Acknowledge a message; done once the broker has answered.

        Raises `BadArgument` for a message that was not received here, `Unreachable`, `BrokerError`.
        """
        topic = self._topic_of(message)
        await self._popper.acknowledge(message, topic)
        self.stats.consumed(topic, 0, 1, 0, self.client.steady.now())

    @as_deferred
    async def nack(self, message: ReceivedMessage, delay: Duration | None = None) -> None:
        """The message comes again, after `delay` seconds; unless set after 10 s, 30 s, 1 min and so on up to
        2 h. After the 16th time (`max_reconsume_times`) it goes to the dead letters. Raises as `ack`."""
        topic = self._topic_of(message)
        if delay is None:
            delay = DELAY_SECONDS[min(message.reconsume_times, len(DELAY_SECONDS) - 1)]
        millis = round(arguments.seconds("delay", delay) * 1000)
        self.stats.consumed(topic, 0, 0, 1, self.client.steady.now())
        if message.reconsume_times >= self._times_max:
            await self._dead_letter(message, topic)
        else:
            await self._popper.hide(message, topic, millis)

    @as_deferred
    async def change_invisible_duration(self, message: ReceivedMessage, duration: Duration) -> None:
        """Hide a message for so many seconds from now on: for work that takes longer. Raises as `ack`."""
        topic = self._topic_of(message)
        await self._popper.hide(message, topic, _invisible_millis("duration", duration))

    async def _dead_letter(self, message: ReceivedMessage, topic: str) -> None:
        log.warning("%r came again too often, and goes to the dead letters", message)
        await self.client.calls.send_back(self.group, message, -1, 0, self.settings.unit_mode)
        await self._popper.acknowledge(message, topic)

    async def _give_back(self, message: ReceivedMessage) -> None:
        """Make a message visible again now, because the program did not see it."""
        try:
            await self._popper.hide(message, self._topic_of(message), 0)
        except ClientError as error:
            log.info("%r was not returned, and is delivered again later: %s", message, error)

    def _topic_of(self, message: ReceivedMessage) -> str:
        self._check_running()
        arguments.of_type("message", message, ReceivedMessage, "a message that was received")
        if PROPERTY_POP_CK not in message.properties:
            raise BadArgument(f"message={message!r}: was not received by a SimpleConsumer")
        return with_namespace(self.settings.namespace, message.topic)

    # What the client wants of a member

    async def rebalance(self) -> bool:
        """Do nothing, as it has no queues of its own."""
        return True

    async def commit_offsets(self, *, wait: bool = False) -> None:
        """Brokers keep what is acknowledged."""

    def _begin(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        raise AssertionError("a simple consumer is given no queues")

    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        """It has no listener."""
        return ConsumeMessageDirectlyResult(consume_result="CR_RETURN_NULL", remark="it has no listener")


def _invisible_millis(name: str, value: Duration) -> int:
    given = arguments.seconds(name, value)
    if not INVISIBLE_SECONDS_MIN <= given <= INVISIBLE_SECONDS_MAX:
        arguments.refuse(
            name, value, f"must be from {INVISIBLE_SECONDS_MIN} s to {INVISIBLE_SECONDS_MAX} s (12 h)"
        )
    return round(given * 1000)
