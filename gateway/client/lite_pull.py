"""Lite pull consumer: prefetches messages that the program polls.

Queues are either shared with the group (`subscribe`) or chosen by the program (`assign`), not both. Polled
messages are committed every 5 s, or by `commit`. A queue can be paused, and read from another offset
(`seek`). RocketMQ: `DefaultLitePullConsumer`, `DefaultLitePullConsumerImpl`, `AssignedMessageQueue`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Unpack

from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.allocation import Strategy
from mqgateway.gateway.client.asking import as_deferred
from mqgateway.gateway.client.assigned import Assigned, InHand, PulledBatch
from mqgateway.gateway.client.begin_times import checked_time
from mqgateway.gateway.client.client import Client, Environment
from mqgateway.gateway.client.consumer import GroupConsumer, QueuesChanged
from mqgateway.gateway.client.errors import BadArgument, BrokerError, ClientError, NoRoute
from mqgateway.gateway.client.iterating import Hand
from mqgateway.gateway.client.message import PullStatus, ReceivedMessage
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.offsets import NONE
from mqgateway.gateway.client.options import LitePullOptions, made
from mqgateway.gateway.client.process_queue import MEBIBYTE, ProcessQueue
from mqgateway.gateway.client.routes import queues_to_read
from mqgateway.gateway.client.settings import LitePullSettings
from mqgateway.gateway.client.subscriptions import Sql, Topics, subscription
from mqgateway.gateway.client.waiters import Waiters
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, MessageQueue, SubscriptionData
from mqgateway.gateway.codec.codes import ResponseCode

log = logging.getLogger(__name__)

FLOW_CONTROL_SECONDS = 0.05
BROKER_FLOW_CONTROL_SECONDS = 0.02
PAUSED_SECONDS = 1.0
NO_OFFSET_SECONDS = 3.0
QUEUE = "MessageQueue"


class LitePullConsumer(GroupConsumer):
    """Consumer that prefetches messages and is polled."""

    settings: LitePullOptions
    consume_type = "CONSUME_ACTIVELY"

    def __init__(
        self,
        group: str,
        environment: Environment,
        *,
        client: Client | None = None,
        strategy: Strategy | None = None,
        on_queues_changed: QueuesChanged | None = None,
        **settings: Unpack[LitePullSettings],
    ) -> None:
        options = made(LitePullOptions, settings, ("strategy", "on_queues_changed"))
        checked_time(options.consume_timestamp)
        if options.consumer_timeout_millis_when_suspend < options.broker_suspend_max_time_millis:
            raise BadArgument("consumer_timeout_millis_when_suspend is less than brokers may wait")
        super().__init__(
            group,
            options,
            environment,
            client=client,
            strategy=strategy,
            on_queues_changed=on_queues_changed,
        )
        self._assigned: dict[MessageQueue, Assigned] = {}
        self._filters: dict[str, SubscriptionData] = {}
        self._is_chosen: bool | None = None  # None: neither assigned nor subscribed yet
        self._ready: deque[PulledBatch] = deque()
        self._in_hand = InHand()
        self.is_ending = False
        self._waiters = Waiters(self.client.schedule)
        self._next_commit = 0

    # Lifecycle

    @as_deferred
    async def start(self) -> None:
        """Start prefetching. Raises `BadArgument`, `Unreachable`, `BrokerError`."""
        await self._join()
        for assigned in self._assigned.values():
            self.client.spawn(self._keep_pulling(assigned))

    @as_deferred
    async def close(self) -> None:
        """Stop and leave the group; with `auto_commit`, commit the polled messages first.

        Of the messages that a loop iterates over, only those it has handled are committed.
        """
        if not self.is_running:
            return
        self._settle()
        if self.settings.auto_commit:
            self._note_consumed(self._assigned)
        await self._part()
        self._waiters.wake_all()

    @as_deferred
    async def subscribe(self, topic: Topics, wanted: str | Sql = "*") -> None:
        """Share the queues of one or more topics with the group. Raises `BadArgument` after `assign`."""
        if self._is_chosen:
            self._choose(False)
        await self._subscribe_now(topic, wanted)
        self._choose(False)

    def unsubscribe(self, topic: Topics) -> None:
        """Remove the subscription to one or more topics."""
        self._unsubscribe(topic)
        full = self._full_names(topic)
        for queue in [queue for queue in self._assigned if queue.topic in full]:
            self._drop(queue)

    def assign(self, queues: Iterable[MessageQueue], wanted: str | Sql = "*") -> None:
        """Read exactly these queues. Raises `BadArgument` after `subscribe`, or for an empty list."""
        chosen = {
            self._full(queue) for queue in arguments.each_of_type("queues", queues, MessageQueue, QUEUE)
        }
        if not chosen:
            raise BadArgument("queues=[]: pass at least one queue to read")
        self._choose(True)
        for queue in set(self._assigned) - chosen:
            self._drop(queue)
        now = self.client.steady.now()
        for queue in sorted(chosen):
            self._filters.setdefault(queue.topic, subscription(queue.topic, wanted, now))
            if queue not in self._assigned:
                self._add(queue, ProcessQueue(now))

    # Reading

    @as_deferred
    async def poll(self, timeout: float | None = None) -> list[ReceivedMessage]:
        """Return the next messages, all of one queue; an empty list if none arrive within `timeout` seconds.

        Raises `BadArgument` if the consumer has neither subscriptions nor assigned queues.
        """
        batch = await self._next(timeout)
        if batch is None:
            return []
        self._note_handled(batch, batch.messages)
        return batch.messages

    @as_deferred
    async def take(self) -> Hand | None:
        """Return the next messages for a loop over the consumer; None when it is closed or ending.

        The messages that the loop got before count as handled.
        """
        while not (self.is_closed or self.is_ending):
            batch = await self._next(None)
            if batch is not None and self.is_running:
                return self._in_hand.begin(batch)
        return None

    def end_iteration(self) -> None:
        """End a loop over the consumer after its current message."""
        self.is_ending = True
        self._in_hand.hand.is_ended = True
        self._waiters.wake_all()

    def handled(self) -> None:
        """Mark all messages that a loop got as handled, because it ended cleanly."""
        self._in_hand.hand.settle()

    async def _next(self, timeout: float | None) -> PulledBatch | None:
        self._check_running()
        limit = self.settings.poll_timeout_millis / 1000
        if timeout is not None:
            limit = arguments.seconds("timeout", timeout)
        if self._is_chosen is None:
            raise BadArgument(
                f"the consumer {self.group} reads nothing: subscribe to a topic, or assign queues"
            )
        self.handled()
        self._settle()
        rest = self._in_hand.rest()
        if self.settings.auto_commit:
            self._commit_now_and_then()
        if rest is not None:
            return rest
        deadline, began = self.client.schedule.seconds() + limit, self.client.clock.millis()
        while self.is_running:
            while self._ready:
                batch = self._ready.popleft()
                if batch.is_current():
                    self.restore_topics(batch.messages)
                    if self.spans is not None:
                        self.spans.received(batch.messages, began)
                    return batch
            left = deadline - self.client.schedule.seconds()
            if left <= 0 or self.is_ending:
                break
            await self._waiters.wait(left)
        return None

    def _note_handled(self, batch: PulledBatch, messages: Sequence[ReceivedMessage]) -> None:
        now = self.client.steady.now()
        batch.assigned.consumed = batch.assigned.process.remove(messages, now)
        self.stats.consumed(batch.assigned.queue.topic, 0, len(messages), 0, now)

    def _settle(self) -> None:
        """Update the consumed offset with the messages that a loop has handled."""
        done = self._in_hand.newly_done()
        if done:
            self._note_handled(self._in_hand.batch, done)

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Stop pulling from these queues until `resume`; messages already pulled can still be polled."""
        for assigned in self._those(queues):
            assigned.is_paused = True

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Continue pulling from these queues."""
        for assigned in self._those(queues):
            assigned.is_paused = False

    def assignment(self) -> list[MessageQueue]:
        """Return the queues that are read, sorted."""
        return sorted(self._shown(queue) for queue in self._assigned)

    @as_deferred
    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue a queue from an offset.

        Raises `BadArgument` if it is not read here or has no such offset.
        """
        assigned = self._assigned_one(queue)
        arguments.whole("offset", offset)
        low = await self.client.calls.min_offset(assigned.queue)
        high = await self.client.calls.max_offset(assigned.queue)
        if not low <= offset <= high:
            raise BadArgument(f"offset={offset}: {queue} has offsets from {low} to {high}")
        assigned.round += 1
        assigned.process.clear()
        assigned.pull_offset = assigned.consumed = offset
        if self.is_running:
            self.client.spawn(self._keep_pulling(assigned))

    @as_deferred
    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue a queue from its oldest message."""
        await self.seek(queue, await self.client.calls.min_offset(self._assigned_one(queue).queue))

    @as_deferred
    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue a queue from its end, with new messages only."""
        await self.seek(queue, await self.client.calls.max_offset(self._assigned_one(queue).queue))

    # Offsets

    @as_deferred
    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Commit the polled messages, or the given offsets, and wait for the brokers' answers."""
        self._check_running()
        if offsets is None:
            self._note_consumed(self._assigned)
            queues: Collection[MessageQueue] = list(self._assigned)
        else:
            arguments.mapping("offsets", offsets, "offsets by queue, as {queue: 7}")
            full = {self._full(queue): arguments.whole("offset", offsets[queue]) for queue in offsets}
            for queue, offset in full.items():
                self.offsets.update(queue, offset)
            queues = list(full)
        await self._commit(queues, wait=True)

    @as_deferred
    async def committed(self, queue: MessageQueue) -> int:
        """Return the offset of a queue committed here, or by the group before; -1 if there is none."""
        self._check_running()
        known = self.offsets.get(self._full(queue))
        return known if known > NONE else await self.stored_offset(self._full(queue))

    @as_deferred
    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the readable queues of a topic, sorted. Raises `NoRoute`, `Unreachable`."""
        self._check_running()
        full = with_namespace(self.settings.namespace, arguments.text("topic", topic))
        await self.client.update_route(full)
        route = self.client.routes.route(full)
        if route is None:
            raise NoRoute(topic)
        return sorted(self._shown(queue) for queue in queues_to_read(full, route))

    @as_deferred
    async def search_offset(self, queue: MessageQueue, timestamp: int | datetime) -> int:
        """Return the offset of the first message stored at a time or later.

        `timestamp` is in ms since the epoch, or an aware datetime.
        """
        self._check_running()
        millis = arguments.search_millis("timestamp", timestamp)
        return await self.client.calls.search_offset(self._full(queue), millis)

    async def commit_offsets(self, *, wait: bool = False) -> None:
        """Store the committed offsets at brokers or in the file; with `wait`, wait for the answers."""
        await self._commit(list(self._assigned), wait=wait)

    def _commit_now_and_then(self) -> None:
        now = self.client.steady.now()
        if now >= self._next_commit:
            self._next_commit = now + self.settings.auto_commit_interval_millis
            self._note_consumed(self._assigned)

    def _note_consumed(self, queues: Iterable[MessageQueue]) -> None:
        for queue in queues:
            assigned = self._assigned[queue]
            if assigned.consumed > NONE and not assigned.process.dropped:
                self.offsets.update(queue, assigned.consumed)

    # Queues

    def _begin(self, queue: MessageQueue, process: ProcessQueue, offset: int) -> None:
        self._add(queue, process).pull_offset = offset

    async def _give_up(self, queue: MessageQueue) -> bool:
        self._settle()
        if queue in self._assigned and self.settings.auto_commit:
            # The queue is dropped, so none of its messages can be polled any more.
            consumed = self._assigned[queue].consumed
            if consumed > NONE:
                self.offsets.update(queue, consumed)
        self._drop(queue)
        return await super()._give_up(queue)

    def _add(self, queue: MessageQueue, process: ProcessQueue) -> Assigned:
        assigned = self._assigned[queue] = Assigned(queue, process)
        if self.is_running:
            self.client.spawn(self._keep_pulling(assigned))
        return assigned

    def _drop(self, queue: MessageQueue) -> None:
        assigned = self._assigned.pop(queue, None)
        if assigned is not None:
            assigned.process.dropped = True

    async def _keep_pulling(self, assigned: Assigned) -> None:
        number = assigned.round
        while self.is_running and not assigned.process.dropped and assigned.round == number:
            assigned.process.pulled_at = self.client.steady.now()
            rest = self._rest(assigned)
            if not rest:
                rest = await self._pull(assigned)
            if rest:
                await self.client.schedule.pause(rest)

    def _rest(self, assigned: Assigned) -> float:
        """Return how long to pause before the next pull, in seconds."""
        options, process = self.settings, assigned.process
        if assigned.is_paused:
            return PAUSED_SECONDS
        is_full = (
            len(self._ready) * options.pull_batch_size > options.pull_threshold_for_all
            or process.count > options.pull_threshold_for_queue
            or process.size // MEBIBYTE > options.pull_threshold_size_for_queue
            or process.span > options.consume_max_span
        )
        return FLOW_CONTROL_SECONDS if is_full else 0.0

    async def _pull(self, assigned: Assigned) -> float:
        """Pull once and return how long to pause afterwards, in seconds."""
        options, queue, number = self.settings, assigned.queue, assigned.round
        wanted = (self._filters if self._is_chosen else self.subscriptions).get(queue.topic)
        if wanted is None:
            return PAUSED_SECONDS
        if assigned.pull_offset == NONE:
            try:
                offset = await self.where_to_begin(queue)
            except ClientError as error:
                if self.is_running:
                    log.warning("the start offset of %s is unknown: %s", queue, error)
                return NO_OFFSET_SECONDS
            if assigned.round != number:
                return 0.0
            assigned.pull_offset = offset
        try:
            result = await self.puller.pull(
                queue,
                wanted,
                assigned.pull_offset,
                count=options.pull_batch_size,
                suspend_millis=options.broker_suspend_max_time_millis,
                timeout=options.consumer_timeout_millis_when_suspend / 1000,
                sends_expression=True,
                is_lite=True,
            )
        except ClientError as error:
            if not self.is_running:
                return 0.0  # a parked pull that was ended by our closing
            log.info("a pull from %s failed: %s", queue, error)
            if isinstance(error, BrokerError) and error.code == ResponseCode.FLOW_CONTROL:
                return BROKER_FLOW_CONTROL_SECONDS
            return options.pull_time_delay_mills_when_exception / 1000
        if assigned.round != number or assigned.process.dropped:
            return 0.0
        if result.status is PullStatus.OFFSET_ILLEGAL:
            log.warning(
                "%s has no offset %d; it continues at %d", queue, assigned.pull_offset, result.next_offset
            )
        assigned.pull_offset = result.next_offset
        if result.messages:
            assigned.process.put(result.messages)
            self._ready.append(PulledBatch(assigned, number, result.messages))
            self._waiters.wake_one()
        return 0.0

    # Group membership and checks

    def topics(self) -> list[str]:
        """Return the topics that are read."""
        return sorted({*self.subscriptions, *self._filters})

    async def consume_directly(
        self, message: ReceivedMessage, broker_name: str
    ) -> ConsumeMessageDirectlyResult:
        """Return an empty result, because this consumer has no listener."""
        return ConsumeMessageDirectlyResult(consume_result="CR_RETURN_NULL", remark="it has no listener")

    def _choose(self, is_chosen: bool) -> None:
        if self._is_chosen is (not is_chosen):
            raise BadArgument("queues are either shared with the group (subscribe) or chosen (assign)")
        self._is_chosen = is_chosen

    def _those(self, queues: Iterable[MessageQueue]) -> list[Assigned]:
        given = arguments.each_of_type("queues", queues, MessageQueue, QUEUE)
        return [self._assigned[full] for queue in given if (full := self._full(queue)) in self._assigned]

    def _assigned_one(self, queue: MessageQueue) -> Assigned:
        self._check_running()
        assigned = self._assigned.get(self._full(queue))
        if assigned is None:
            raise BadArgument(f"{queue} is not read here; it may be another member's")
        return assigned

    def _full(self, queue: MessageQueue) -> MessageQueue:
        arguments.of_type("queue", queue, MessageQueue, f"a {QUEUE}")
        topic = with_namespace(self.settings.namespace, queue.topic)
        return MessageQueue(topic, queue.broker_name, queue.queue_id)

    def _shown(self, queue: MessageQueue) -> MessageQueue:
        topic = without_namespace(self.settings.namespace, queue.topic)
        return MessageQueue(topic, queue.broker_name, queue.queue_id)
