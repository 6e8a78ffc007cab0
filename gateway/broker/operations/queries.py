"""Messages by key and by position."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.consume import query
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use

FOREVER = 2**62


class Queries:
    """Queries of one broker's log."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def by_key(self, permit: Permit, topic: str, key: str, most: int) -> QueryResult | Deferred[QueryResult]:
        """Return the newest records of a topic with a key, or with a unique key, by the index."""
        self._gate.enter(permit, Use.QUERY)
        return query.query_message(self._broker, topic, key, 0, FOREVER, most)

    def by_position(self, permit: Permit, log_offset: int, may_use: MayUse | None) -> bytes | Deferred[bytes]:
        """Return the record at an offset of the log.

        `may_use` decides on the record's own topic; None permits every topic. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY)
        return query.view_message(self._broker, log_offset, may_use)
