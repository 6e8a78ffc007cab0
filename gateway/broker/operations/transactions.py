"""Ends of transactions, and the half messages they are about."""

from __future__ import annotations

from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_UNIQ_KEY, TRANS_HALF_TOPIC
from mqgateway.engine.store.key_query import INDEX_UNIQUE
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.consume.query import query_message
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.records import half_at
from mqgateway.gateway.broker.transactions import checks
from mqgateway.gateway.broker.transactions.ends import TransactionEnd, end_transaction
from mqgateway.gateway.runtime.outcomes import then

FOREVER = 2**62
COPIES_MAX = 64
"""Half messages of one key that are looked through: each check of the producer makes a copy."""


class HalfPlace(NamedTuple):
    """The offsets of a half message in its queue and in the log."""

    queue_offset: int
    physical_offset: int


class OpenTransaction(NamedTuple):
    """A half message whose transaction has not ended: its id, topic, producer group and born timestamp (ms).

    `age` is in ms; `checks` is how often producers were asked for its state.
    """

    message_id: str
    topic: str
    group: str
    born_timestamp: int
    age: int
    checks: int


class TransactionOperations:
    """Transactions of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def end(self, permit: Permit, end: TransactionEnd, may_use: MayUse | None) -> None:
        """Commit a half message, roll it back, or leave it open. Raises `OperationError`.

        `may_use` decides on the topic of the half message at the offsets, which may be another one than the
        principal was authorized for; None permits every topic.
        """
        self._gate.enter(permit, Use.END_TRANSACTION)
        end_transaction(self._broker, end, permit.now, may_use)
        self._gate.leave(None)

    def resume_check(self, permit: Permit, message_id: str, may_use: MayUse | None) -> None:
        """Check a transaction again whose half message was given up; `may_use` as of `end`.

        Raises `OperationError`.
        """
        self._gate.enter(permit, Use.ADMINISTER)
        checks.resume_check(self._broker, message_id, may_use)
        self._gate.leave(None)

    def open(self, most: int, now: int) -> list[OpenTransaction]:
        """Return the oldest open transactions, `most` at most; `now` is the wall time in ms."""
        return [
            OpenTransaction(
                half.stored.message_id,
                half.topic,
                half.group,
                half.stored.born_timestamp,
                half.age(now),
                half.check_times,
            )
            for half in self._broker.transactions.open_halves(most)
        ]

    def open_counts(self) -> dict[str, int]:
        """Return the number of open transactions by topic."""
        return {topic: count for topic, count in self._broker.transactions.counts.table.items() if count}

    def find_half(
        self, permit: Permit, topic: str, key: str
    ) -> HalfPlace | Deferred[HalfPlace | None] | None:
        """Return the newest half message of a topic with a unique key, by the index; None if there is
        none."""
        self._gate.enter(permit, Use.END_TRANSACTION)
        found = query_message(self._broker, TRANS_HALF_TOPIC, key, 0, FOREVER, COPIES_MAX, INDEX_UNIQUE)
        return then(found, lambda result: self._newest(result, topic, key))

    def _newest(self, found: QueryResult, topic: str, key: str) -> HalfPlace | None:
        newest: HalfPlace | None = None
        for record in found.records:
            stored = decode(record)
            half = half_at(self._broker, stored.physical_offset, None)
            if half is None or half.topic != topic or stored.properties.get(PROPERTY_UNIQ_KEY) != key:
                continue
            if newest is None or stored.queue_offset > newest.queue_offset:
                newest = HalfPlace(stored.queue_offset, stored.physical_offset)
        return newest
