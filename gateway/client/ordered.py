"""Ordered consumption: one batch of a queue at a time, under the broker's lock on the queue.

After a failure the queue is suspended and the same messages are redelivered. Messages that fail too often are
dead-lettered. Without a limit, which is the default, they are retried for ever. Locks are renewed every 20 s
and expire after 30 s. RocketMQ: `ConsumeMessageOrderlyService`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.consuming import directly, heard
from mqgateway.gateway.client.listening import Consumed, Context, Listener
from mqgateway.gateway.client.locks import lock
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.options import PushOptions
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.returning import Returns
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, MessageQueue
from mqgateway.gateway.runtime.slots import Slots

log = logging.getLogger(__name__)

LOCK_FIRST_SECONDS = 1.0
LOCK_SECONDS = 20.0
LONGEST_TURN_MILLIS = 60_000
"""Maximum time for which a queue is consumed before other queues get a turn."""
NOT_LOCKED_SECONDS = 0.1
LOCK_LOST_SECONDS = 0.01
LOCK_FAILED_SECONDS = 3.0
NEXT_TURN_SECONDS = 0.01
REST_MILLIS_MIN, REST_MILLIS_MAX = 10, 30_000
WITHOUT_END = 2**31 - 1


class OrderedConsumption:
    """Consumption of the messages of each queue in order."""

    is_ordered = True

    def __init__(
        self, consumer: GroupConsumer, options: PushOptions, listener: Listener, returns: Returns
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._listener = listener
        self._returns = returns
        self._needs_lock = not consumer.is_broadcasting
        times = options.max_reconsume_times
        self._max_times = WITHOUT_END if times == -1 else times
        self.slots = Slots(max(options.consume_thread_min, options.consume_thread_max))

    def start(self) -> None:
        """Schedule the renewal of locks."""
        if self._needs_lock:
            self._consumer.client.schedule.every(LOCK_FIRST_SECONDS, LOCK_SECONDS, self._renew_locks)

    def submit(
        self,
        messages: Sequence[ReceivedMessage],
        process: ProcessQueue,
        queue: MessageQueue,
        begins: bool = True,
    ) -> None:
        """Handle pulled messages; `begins` starts consumption of a queue that is not being consumed."""
        if begins:
            self._consumer.client.spawn(self._consume(process, queue))

    async def directly(self, message: ReceivedMessage, broker_name: str) -> ConsumeMessageDirectlyResult:
        """Pass one message to the listener for an administrator and return the outcome."""
        return await directly(self._consumer, self._listener, message, broker_name, is_ordered=True)

    async def _consume(self, process: ProcessQueue, queue: MessageQueue) -> None:
        await self.slots.enter()
        try:
            again = None if self.slots.is_closed else await self._turn(process, queue)
        finally:
            self.slots.leave()
        if again is not None:
            self._consumer.client.schedule.later(again, self.submit, (), process, queue)

    async def _turn(self, process: ProcessQueue, queue: MessageQueue) -> float | None:
        """Consume until the queue is empty, a batch fails, or the turn is over.

        Returns the delay in seconds before consumption continues, None if it ends.
        """
        steady = self._consumer.client.steady
        began = steady.now()
        wait = NOT_LOCKED_SECONDS
        while not process.dropped and self._consumer.is_running:
            now = steady.now()
            if self._needs_lock and not process.has_lock(now):
                self._consumer.client.schedule.later(wait, self._lock_soon, process, queue)
                return None
            wait = LOCK_LOST_SECONDS
            if now - began > LONGEST_TURN_MILLIS:
                return NEXT_TURN_SECONDS
            messages = process.take(self._options.consume_message_batch_max_size, now)
            if not messages:
                return None
            context = Context(queue)
            outcome = await self._listened(messages, process, context)
            if process.dropped:
                return None
            is_over = outcome is Consumed.LEAVE
            rest = await self._settle(messages, process, context, outcome)
            if rest is not None or is_over:
                return rest
        return None

    async def _listened(
        self, messages: Sequence[ReceivedMessage], process: ProcessQueue, context: Context
    ) -> Consumed:
        consumer, steady = self._consumer, self._consumer.client.steady
        consumer.restore_topics(messages)
        began = steady.now()
        process.is_busy = True
        try:
            outcome = await heard(consumer, self._options, self._listener, messages, context)
        finally:
            process.is_busy = False
        now = steady.now()
        if outcome is not Consumed.LEAVE:
            is_bad = outcome in (Consumed.LATER, Consumed.ROLLBACK)
            done, failed = (0, len(messages)) if is_bad else (len(messages), 0)
            consumer.stats.consumed(context.queue.topic, now - began, done, failed, now)
        return outcome

    async def _settle(
        self,
        messages: Sequence[ReceivedMessage],
        process: ProcessQueue,
        context: Context,
        outcome: Consumed,
    ) -> float | None:
        """Commit the batch or put it back. Returns the suspension of the queue in seconds, None for none."""
        offset = -1
        rest: float | None = None
        if outcome is Consumed.LEAVE:
            process.put_back(messages)
        elif outcome is Consumed.LATER and await self._is_redelivered(messages):
            process.put_back(messages)
            rest = self._rest(context)
        elif context.auto_commit or outcome is Consumed.COMMIT:
            offset = process.commit()
        elif outcome is Consumed.ROLLBACK:
            process.put_back()
            rest = self._rest(context)
        if offset >= 0 and not process.dropped:
            self._consumer.offsets.update(context.queue, offset)
        return rest

    async def _is_redelivered(self, messages: Sequence[ReceivedMessage]) -> bool:
        """Count a failed delivery and dead-letter exhausted messages.

        Returns True if any message must be retried.
        """
        again = False
        for message in messages:
            is_last = message.reconsume_times >= self._max_times
            if not is_last or not await self._returns.resend(message, self._max_times):
                again = True
                message.reconsume_times += 1
        return again

    def _rest(self, context: Context) -> float:
        millis = context.suspend_millis
        if millis == -1:
            millis = self._options.suspend_current_queue_time_millis
        return min(max(millis, REST_MILLIS_MIN), REST_MILLIS_MAX) / 1000

    # Locks

    def _lock_soon(self, process: ProcessQueue, queue: MessageQueue) -> None:
        self._consumer.client.spawn(self._lock_and_resume(process, queue))

    async def _lock_and_resume(self, process: ProcessQueue, queue: MessageQueue) -> None:
        if process.dropped or not self._consumer.is_running:
            return
        await self._lock([queue])
        seconds = NEXT_TURN_SECONDS if process.is_locked else LOCK_FAILED_SECONDS
        self._consumer.client.schedule.later(seconds, self.submit, (), process, queue)

    def _renew_locks(self) -> None:
        if self._consumer.is_running:
            queues = [queue for queue, process in self._consumer.held.items() if not process.dropped]
            self._consumer.client.spawn(self._lock(queues))

    async def _lock(self, queues: Sequence[MessageQueue]) -> None:
        locked = await lock(self._consumer.client, self._consumer.group, queues)
        now = self._consumer.client.steady.now()
        for queue in queues:
            process = self._consumer.held.get(queue)
            if process is None:
                continue
            if queue in locked:
                process.lock(now)
            else:
                process.is_locked = False
