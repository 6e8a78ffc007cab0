"""Messages by key and by position, the units of consume queues, and delayed messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.message import SCHEDULE_TOPIC, StoredMessage
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.key_query import INDEX_KEY
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.consume import query
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.codec.bodies.consuming import QueryConsumeQueueResponseBody

FOREVER = 2**62
TIMERS_LANE: Final = "timers"
SLOTS_A_STEP: Final = 256
"""Slots of the timer wheel that are read in one step."""


class DelayLevel(NamedTuple):
    """A delay level: its number, its delay in ms, and the number of messages that wait."""

    level: int
    delay: int
    messages: int


class PendingTimers(NamedTuple):
    """The number of pending timers, None without a timer wheel, and of their messages by topic."""

    pending: int | None
    topics: Mapping[str, int]


class Queries:
    """Queries of one broker's log."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        self._broker = broker
        self._gate = gate
        self._runner = runner

    def by_key(
        self,
        permit: Permit,
        topic: str,
        key: str,
        most: int | None,
        *,
        begin: int = 0,
        end: int = FOREVER,
        index_type: str = INDEX_KEY,
    ) -> QueryResult | Deferred[QueryResult]:
        """Return the newest records of a topic with a key, or with a unique key, by the index.

        They were stored in [begin, end] ms. Without `most` there are `defaultQueryMaxNum` at most.
        """
        self._gate.enter(permit, Use.QUERY)
        return query.query_message(self._broker, topic, key, begin, end, most, index_type)

    def by_position(self, permit: Permit, log_offset: int, may_use: MayUse | None) -> bytes | Deferred[bytes]:
        """Return the record at an offset of the log.

        `may_use` decides on the record's own topic; None permits every topic. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY)
        return query.view_message(self._broker, log_offset, may_use)

    def messages(
        self, permit: Permit, topic: str, queue_id: int, begin: int, end: int
    ) -> list[StoredMessage] | Deferred[list[StoredMessage]]:
        """Return the messages of a queue of this broker with offsets in [begin, end).

        The principal was authorized for the topic. A worker reads what is not in memory.
        """
        self._gate.enter(permit, Use.QUERY)
        store = self._broker.store

        def attempt(rounds: int) -> list[StoredMessage]:
            return store.messages(topic, queue_id, begin, end, may_wait=not rounds)

        return reading(self._broker, attempt)

    def messages_in_memory(
        self, permit: Permit, topic: str, queue_id: int, begin: int, end: int
    ) -> list[StoredMessage] | None:
        """Return the messages of a queue as `messages` does, None if some are not in memory."""
        self._gate.enter(permit, Use.QUERY)
        try:
            return self._broker.store.messages(topic, queue_id, begin, end, may_wait=False)
        except (ColdRead, NothingYet):
            return None

    def consume_queue(
        self, permit: Permit, topic: str, queue_id: int, index: int, count: int, group: str | None = None
    ) -> QueryConsumeQueueResponseBody | Deferred[QueryConsumeQueueResponseBody | None] | None:
        """Return units of a consume queue from an index on, None if it has none there.

        The subscription of a group comes with them. Raises `OperationError`, and fails with it.
        """
        self._gate.enter(permit, Use.QUERY)
        return query.query_consume_queue(self._broker, topic, queue_id, index, count, group)

    def delay_levels(self) -> list[DelayLevel]:
        """Return the delay levels with the messages that wait in each."""
        delays, store = self._broker.delays, self._broker.store
        done, levels = delays.offsets, delays.levels
        return [
            DelayLevel(
                level,
                levels.delay(level),
                max(0, store.max_offset(SCHEDULE_TOPIC, level - 1) - done.get(level, 0)),
            )
            for level in range(1, levels.max_level + 1)
        ]

    def timers(self) -> PendingTimers:
        """Return the pending timers; there is no timer wheel without `timerWheelEnable`."""
        timers = self._broker.timers
        return PendingTimers(timers.pending if timers.is_enabled else None, timers.metrics.counts())

    def due(self, begin: int, width: int, count: int) -> Deferred[list[int]]:
        """Return the number of timers that are due in each of `count` intervals, the first from `begin` on.

        Both are steady times in ms. Without a timer wheel the list is empty.
        """
        return self._runner.run(TIMERS_LANE, self._due(begin, width, count))

    def _due(self, begin: int, width: int, count: int) -> Steps[list[int] | Deferred[list[int]]]:
        timers, found = self._broker.timers, list[int]()
        wheel = timers.wheel
        if not timers.is_enabled or wheel.file is None:
            return found
        for number in range(count):
            at, end = wheel.floor(begin + number * width), wheel.floor(begin + (number + 1) * width)
            total = 0
            while at < end and wheel.file is not None:
                part = min(end, at + SLOTS_A_STEP * wheel.precision)
                total += sum(slot.total for slot in wheel.used(at, part))
                at = part
                yield
            found.append(total)
        return found
