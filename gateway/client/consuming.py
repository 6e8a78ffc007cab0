"""Concurrent consumption: batches in parallel, failed messages sent back, consumed offsets updated.

RocketMQ: `ConsumeMessageConcurrentlyService`, `ProcessQueue.cleanExpiredMsg`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqgateway.engine.message import PROPERTY_CONSUME_START_TIMESTAMP
from mqgateway.gateway.client.consumer import GroupConsumer
from mqgateway.gateway.client.listening import Consumed, Context, Listener, listened
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.options import PushOptions
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.returning import Returns
from mqgateway.gateway.codec.bodies import ConsumeMessageDirectlyResult, MessageQueue
from mqgateway.gateway.runtime.slots import Slots

log = logging.getLogger(__name__)

AGAIN_SECONDS = 5.0
"""Delay before a message that could not be sent back is retried locally."""
OVERDUE_DELAY_LEVEL = 3
OVERDUE_MAX = 16
"""Maximum number of overdue messages of a queue that are sent back per run."""


class Concurrent:
    """Consumption of the messages of all queues in any order."""

    is_ordered = False

    def __init__(
        self, consumer: GroupConsumer, options: PushOptions, listener: Listener, returns: Returns
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._listener = listener
        self._returns = returns
        self.slots = Slots(max(options.consume_thread_min, options.consume_thread_max))

    def start(self) -> None:
        """Schedule the periodic check for overdue messages."""
        seconds = self._options.consume_timeout * 60.0
        self._consumer.client.schedule.every(seconds, seconds, self._look_for_overdue)

    def submit(
        self,
        messages: Sequence[ReceivedMessage],
        process: ProcessQueue,
        queue: MessageQueue,
        begins: bool = True,
    ) -> None:
        """Consume pulled messages; `begins` is used by ordered consumption only."""
        size = self._options.consume_message_batch_max_size
        for start in range(0, len(messages), size):
            self._consumer.client.spawn(self._consume(messages[start : start + size], process, queue))

    async def directly(self, message: ReceivedMessage, broker_name: str) -> ConsumeMessageDirectlyResult:
        """Pass one message to the listener for an administrator and return the outcome."""
        return await directly(self._consumer, self._listener, message, broker_name, is_ordered=False)

    async def _consume(
        self, messages: Sequence[ReceivedMessage], process: ProcessQueue, queue: MessageQueue
    ) -> None:
        await self.slots.enter()
        try:
            if process.dropped or self.slots.is_closed:
                return
            context = Context(queue)
            outcome = await self.call(messages, context)
            if process.dropped:
                log.info("%s is not ours any more; %d messages may come again", queue, len(messages))
            else:
                await self._settle(messages, process, context, outcome)
        finally:
            self.slots.leave()

    async def call(self, messages: Sequence[ReceivedMessage], context: Context) -> Consumed:
        """Pass messages to the listener and return its outcome; an exception counts as LATER."""
        consumer, steady = self._consumer, self._consumer.client.steady
        consumer.restore_topics(messages)
        began = steady.now()
        start = {PROPERTY_CONSUME_START_TIMESTAMP: str(began)}
        for message in messages:
            message.add(start)
        outcome = await heard(consumer, self._options, self._listener, messages, context)
        now = steady.now()
        if outcome is not Consumed.LEAVE:
            done = min(context.acked, len(messages)) if outcome is not Consumed.LATER else 0
            consumer.stats.consumed(context.queue.topic, now - began, done, len(messages) - done, now)
        return outcome

    async def _settle(
        self,
        messages: Sequence[ReceivedMessage],
        process: ProcessQueue,
        context: Context,
        outcome: Consumed,
    ) -> None:
        """Send failed messages back and update the consumed offset of the queue."""
        if outcome is Consumed.LEAVE:
            return
        done = 0 if outcome is Consumed.LATER else max(0, min(context.acked, len(messages)))
        settled = list(messages[:done])
        again: list[ReceivedMessage] = []
        for message in messages[done:]:
            if self._consumer.is_broadcasting:
                log.warning("%r failed, and is lost: broadcasts do not come again", message)
                settled.append(message)
            elif not process.has(message):
                settled.append(message)  # it was overdue and has been sent back meanwhile
            elif await self._returns.give_back(message, context.delay_level):
                settled.append(message)
            else:
                message.reconsume_times += 1
                again.append(message)
        if again:
            schedule = self._consumer.client.schedule
            schedule.later(AGAIN_SECONDS, self.submit, again, process, context.queue)
        offset = process.remove(settled, self._consumer.client.steady.now())
        if offset >= 0 and not process.dropped:
            self._consumer.offsets.update(context.queue, offset, increase_only=True)

    def _look_for_overdue(self) -> None:
        if not self._consumer.is_broadcasting:
            for process in list(self._consumer.held.values()):
                self._consumer.client.spawn(self._give_overdue_back(process))

    async def _give_overdue_back(self, process: ProcessQueue) -> None:
        """Send back messages that a listener has held too long, because they block the committed offset."""
        limit = self._options.consume_timeout * 60_000
        for _ in range(OVERDUE_MAX):
            message = process.first()
            began = message and message.properties.get(PROPERTY_CONSUME_START_TIMESTAMP)
            now = self._consumer.client.steady.now()
            if message is None or not began or now - int(began) <= limit:
                return
            log.warning("%r has been consumed for more than %d min", message, self._options.consume_timeout)
            if not await self._returns.give_back(message, OVERDUE_DELAY_LEVEL):
                return
            if process.first() is message:
                process.remove([message], self._consumer.client.steady.now())


async def heard(
    consumer: GroupConsumer,
    options: PushOptions,
    listener: Listener,
    messages: Sequence[ReceivedMessage],
    context: Context,
) -> Consumed:
    """Call a listener, with traces and spans if enabled. An exception counts as LATER."""
    tracer, spans, steady = consumer.tracer, consumer.spans, consumer.client.steady
    traced = tracer.before(messages) if tracer is not None else None
    began = steady.now()
    outcome: Consumed | None = None
    try:
        if spans is None:
            outcome = await listened(listener, messages, context)
        else:
            outcome = await spans.processed(messages, lambda: listened(listener, messages, context))
    except Exception:
        log.exception("the listener of %s failed with %s", consumer.group, messages)
    if tracer is not None and traced is not None:
        tracer.after(traced, outcome, steady.now() - began >= options.consume_timeout * 60_000)
    return Consumed.LATER if outcome is None else outcome


async def directly(
    consumer: GroupConsumer,
    listener: Listener,
    message: ReceivedMessage,
    broker_name: str,
    *,
    is_ordered: bool,
) -> ConsumeMessageDirectlyResult:
    """Call a listener for one message, outside of any order, and return the outcome for an administrator."""
    names = {
        Consumed.SUCCESS: "CR_SUCCESS",
        Consumed.LATER: "CR_LATER",
        Consumed.COMMIT: "CR_COMMIT",
        Consumed.ROLLBACK: "CR_ROLLBACK",
        Consumed.LEAVE: "CR_LATER",
    }
    steady = consumer.client.steady
    context = Context(MessageQueue(message.topic, broker_name, message.queue.queue_id))
    consumer.restore_topics([message])
    result = ConsumeMessageDirectlyResult(order=is_ordered)
    began = steady.now()
    try:
        result.consume_result = names[await listened(listener, [message], context)]
    except Exception as error:
        log.exception("the listener of %s failed with %r", consumer.group, message)
        result.consume_result = "CR_THROW_EXCEPTION"
        result.remark = f"{type(error).__name__}, {error}"
    result.auto_commit = context.auto_commit
    result.spent_time_mills = steady.now() - began
    return result
