"""Push consumer: prefetches messages and passes them to a listener.

A queue is pulled again as soon as an answer arrives; the broker parks a pull until messages arrive. Pulling
pauses while too much is buffered: messages, bytes, or the offset span from the first message to the last.
RocketMQ: `DefaultMQPushConsumerImpl`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Unpack

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.pop.names import retry_topic
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.begin_times import checked_time
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.consumer import Failed, GroupConsumer, QueuesChanged
from mqgateway.gateway.client.consuming import Concurrent
from mqgateway.gateway.client.errors import BadArgument, BrokerError, ClientError
from mqgateway.gateway.client.listening import Listener
from mqgateway.gateway.client.locks import unlock
from mqgateway.gateway.client.message import PullResult, PullStatus, ReceivedMessage
from mqgateway.gateway.client.options import PushOptions, made
from mqgateway.gateway.client.ordered import OrderedConsumption
from mqgateway.gateway.client.pop_consumption import PopConsumption
from mqgateway.gateway.client.process_queue import (
    BROKER_FLOW_CONTROL_MILLIS,
    FIRST_SECONDS,
    FLOW_CONTROL_MILLIS,
    MEBIBYTE,
    PAUSED_MILLIS,
    ProcessQueue,
)
from mqgateway.gateway.client.producer import traced
from mqgateway.gateway.client.returning import Returns
from mqgateway.gateway.client.settings import PushSettings
from mqgateway.gateway.client.subscriptions import Sql, Topics
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, ConsumerRunningInfo, MessageQueue
from mqgateway.gateway.codec.codes import ResponseCode

log = logging.getLogger(__name__)

UNLOCK_DELAY_MILLIS = 20_000
"""Time after which an ordered queue is released although its listener is still running."""
RECONSUME_TIMES = 16
POP = "POP"


class Line:
    """Queue being pulled. `is_sure`: the offset of an ordered queue was fetched since it was locked."""

    def __init__(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        self.queue = queue
        self.process = process
        self.offset = offset
        self.is_sure = False


class PushConsumer(GroupConsumer):
    """Consumer that calls a listener with messages. With `is_ordered`, each queue is consumed in order."""

    settings: PushOptions
    hands_back = True

    def __init__(
        self,
        group: str,
        environment: Environment,
        listener: Listener,
        *,
        is_ordered: bool = False,
        client: Client | None = None,
        strategy: Strategy | None = None,
        on_queues_changed: QueuesChanged | None = None,
        on_failure: Failed | None = None,
        **settings: Unpack[PushSettings],
    ) -> None:
        options = made(PushOptions, settings, ("is_ordered", "strategy", "on_queues_changed", "on_failure"))
        checked_time(options.consume_timestamp)
        _fit_threads(options, settings)
        if not callable(listener):
            arguments.refuse("listener", listener, "pass a function of messages and context")
        arguments.of_type("is_ordered", is_ordered, bool, "True or False")
        super().__init__(
            group,
            options,
            environment,
            client=client,
            strategy=strategy,
            on_queues_changed=on_queues_changed,
            on_failure=on_failure,
        )
        if options.enable_trace:
            self.tracer = traced(self.client, options, environment, group)
        times = options.max_reconsume_times
        times_max = RECONSUME_TIMES if times == -1 else times
        self._returns = Returns(self, environment, times_max)
        make: Callable[..., Concurrent | OrderedConsumption] = (
            OrderedConsumption if is_ordered else Concurrent
        )
        self.listeners_max = options.consume_thread_max
        """Maximum number of concurrent listener calls."""
        self._consumption = make(self, options, listener, self._returns)
        self._pops: PopConsumption | None = None
        if isinstance(self._consumption, Concurrent) and not (
            options.client_rebalance or self.is_broadcasting
        ):
            self._pops = PopConsumption(self, options, self._consumption, times_max)

    # Lifecycle

    @as_deferred
    async def start(self) -> None:
        """Start consuming. Raises `BadArgument`, also without subscriptions, `Unreachable`, `BrokerError`."""
        if not (self.subscriptions or self.is_closed):
            raise BadArgument(f"the consumer {self.group} has no subscription: subscribe to a topic first")
        await self._join()
        await self._returns.start()
        if self.tracer is not None:
            await self.tracer.start()
        self._consumption.start()

    @as_deferred
    async def close(self) -> None:
        """Stop calling the listener, commit the consumed offsets and leave the group.

        Running listener calls get the configured time to end.
        """
        if not self.is_running:
            return
        self.is_paused = True
        self._consumption.slots.is_closed = True  # batches not started yet go to the next owner
        patience = self.settings.await_termination_millis_when_shutdown / 1000
        if patience:
            idle = self._consumption.slots.idle()
            idle.addTimeout(patience, self.client.environment.reactor)  # type: ignore[arg-type]
            await idle.addErrback(lambda _: None)
        await self._returns.close()
        if self.tracer is not None:
            await self.tracer.close()
        await self._part()

    @as_deferred
    async def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Subscribe to topics: to all messages, to tags (`"a || b"`), or with an SQL92 expression."""
        await self._subscribe_now(topic, wanted)

    def unsubscribe(self, topic: Topics) -> None:
        """Remove the subscription to one or more topics."""
        self._unsubscribe(topic)

    def suspend(self) -> None:
        """Stop pulling until `resume`; messages already pulled are consumed."""
        self.is_paused = True

    def resume(self) -> None:
        """Continue pulling."""
        self.is_paused = False
        self.client.rebalance_soon()

    @property
    def _wants_locks(self) -> bool:
        return self._consumption.is_ordered

    # Queues

    async def rebalance(self) -> bool:
        """See `GroupConsumer.rebalance`."""
        balanced = await super().rebalance()
        if self._pops is not None:
            self._pops.keep(self.subscriptions)
        return balanced

    async def _rebalance_topic(self, topic: str) -> bool:
        if self._pops is None:
            return await super()._rebalance_topic(topic)
        model = self.settings.message_model.value
        assignments = await self.client.calls.assignments(topic, self.group, self._strategy.name, model)
        if assignments is None:
            return False
        popped = {one.message_queue for one in assignments if one.mode == POP}
        pulled = {one.message_queue for one in assignments} - popped
        if not topic.startswith(RETRY_PREFIX) and bool(popped) != bool(pulled):
            self._want_popped(retry_topic(topic, self.group, is_v2=False), bool(pulled))
        changed = await self._take_over(topic, pulled)
        if self._pops.take_over(topic, popped) or changed:
            await self._division_changed(topic, self.readable.get(topic, set()), pulled | popped)
        return pulled | popped == {queue for queue in {*self.held, *self._pops.held} if queue.topic == topic}

    def _want_popped(self, topic: str, is_wanted: bool) -> None:
        """Subscribe a group that now pulls to the retry topic of its unacknowledged pops."""
        if not is_wanted:
            self.subscriptions.pop(topic, None)
        elif topic not in self.subscriptions:
            self._subscribe(topic, "*")

    def _begin(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        self.client.spawn(self._keep_pulling(Line(queue, process, offset)))

    async def _give_up(self, queue: MessageQueue) -> bool:
        process = self.held.get(queue)
        if process is None or not self._wants_locks or self.is_broadcasting:
            return await super()._give_up(queue)
        now = self.client.steady.now()
        if process.is_busy and now <= process.locked_at + UNLOCK_DELAY_MILLIS:
            process.try_unlock_times += 1
            await self._commit([queue])
            return False
        await super()._give_up(queue)
        process.is_locked = False
        unlock(self.client, self.group, [queue])
        return True

    async def _keep_pulling(self, line: Line) -> None:
        pause = self.client.schedule.pause
        await pause(FIRST_SECONDS)
        while self.is_running and not line.process.dropped:
            line.process.pulled_at = self.client.steady.now()
            rest = self._rest(line)
            if rest is None:
                rest = await self._pull_safely(line)
            if rest and not line.process.dropped:
                await pause(rest / 1000)

    def _rest(self, line: Line) -> int | None:
        """Return how long to pause before the next pull, in ms; None if pulling is allowed. No I/O."""
        process, options = line.process, self.settings
        if self.is_paused:
            return PAUSED_MILLIS
        if process.count > self._share(options.pull_threshold_for_topic, options.pull_threshold_for_queue):
            return FLOW_CONTROL_MILLIS
        size_max = self._share(options.pull_threshold_size_for_topic, options.pull_threshold_size_for_queue)
        if process.size // MEBIBYTE > size_max:
            return FLOW_CONTROL_MILLIS
        if self._wants_locks:
            is_ours = process.is_locked or self.is_broadcasting
            return None if is_ours else options.pull_time_delay_mills_when_exception
        if process.span > options.consume_concurrently_max_span:
            return FLOW_CONTROL_MILLIS
        return None

    def _share(self, for_topic: int, for_queue: int) -> int:
        """Return the limit of one queue: its share of the topic's limit, if that is configured."""
        return for_queue if for_topic == -1 else max(1, for_topic // max(1, len(self.held)))

    async def _pull_safely(self, line: Line) -> int:
        try:
            return await self._pull(line)
        except Exception:
            log.exception("a pull from %s failed", line.queue)
            return self.settings.pull_time_delay_mills_when_exception

    async def _pull(self, line: Line) -> int:
        """Pull once and return how long to pause afterwards, in ms."""
        options = self.settings
        subscribed = self.subscriptions.get(line.queue.topic)
        if subscribed is None:
            return options.pull_time_delay_mills_when_exception
        began = self.client.steady.now()
        sends = options.post_subscription_when_pull and subscribed.expression_type == "TAG"
        try:
            if self._wants_locks and not line.is_sure:
                line.offset = await self.where_to_begin(line.queue)
                line.is_sure = True
            result = await self.puller.pull(
                line.queue,
                subscribed,
                line.offset,
                count=options.pull_batch_size,
                bytes_max=options.pull_batch_size_in_bytes,
                suspend_millis=options.broker_suspend_max_time_millis,
                timeout=options.consumer_timeout_millis_when_suspend / 1000,
                commit=-1 if self.is_broadcasting else self.offsets.get(line.queue),
                sends_expression=sends,
            )
        except ClientError as error:
            if not self.is_running:
                return 0  # a parked pull that was ended by our closing
            log.info("a pull from %s failed: %s", line.queue, error)
            self.report_failure(error)
            is_flow_control = isinstance(error, BrokerError) and error.code == ResponseCode.FLOW_CONTROL
            return (
                BROKER_FLOW_CONTROL_MILLIS
                if is_flow_control
                else options.pull_time_delay_mills_when_exception
            )
        if line.process.dropped or not self.is_running:
            return 0
        return await self._take_in(line, result, began)

    async def _take_in(self, line: Line, result: PullResult, began: int) -> int:
        line.offset = result.next_offset
        if result.status is PullStatus.OFFSET_ILLEGAL:
            await self._begin_elsewhere(line)
            return 0
        if not result.messages:
            if not line.process.count:
                self.offsets.update(line.queue, line.offset, increase_only=True)
            return 0
        now = self.client.steady.now()
        self.stats.pulled(line.queue.topic, now - began, len(result.messages), now)
        begins = line.process.put(result.messages)
        self._consumption.submit(result.messages, line.process, line.queue, begins)
        return self.settings.pull_interval

    async def _begin_elsewhere(self, line: Line) -> None:
        """Commit and restart at the offset that the broker named, because the requested one does not
        exist."""
        log.warning("%s does not have the requested offset; it continues at %d", line.queue, line.offset)
        line.process.dropped = True
        self.offsets.freeze(line.queue, line.offset)
        await self._commit([line.queue])
        if self.held.get(line.queue) is line.process:
            del self.held[line.queue]
        self.offsets.remove(line.queue)
        self.client.rebalance_soon()

    # Administration

    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        """Consume one message now, on an administrator's request."""
        return await self._consumption.directly(message, broker_name)

    async def running_info(self) -> ConsumerRunningInfo:
        """Return settings, subscriptions, queues and rates."""
        info = await super().running_info()
        if self._pops is not None:
            info.mq_pop_table = self._pops.infos()
        info.properties["PROP_THREADPOOL_CORE_SIZE"] = str(self.settings.consume_thread_min)
        return info


def _fit_threads(options: PushOptions, given: Mapping[str, object]) -> None:
    """Adapt the thread bound that was not given to the one that was.

    Raises `BadArgument` if both were given and min exceeds max.
    """
    low, high = options.consume_thread_min, options.consume_thread_max
    if low <= high:
        return
    if "consume_thread_min" not in given:
        options.consume_thread_min = high
    elif "consume_thread_max" not in given:
        options.consume_thread_max = low
    else:
        raise BadArgument(f"consume_thread_min={low}: is more than consume_thread_max={high}")
