"""Offsets: what groups committed, the ends of queues, and offsets of times."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.broker.outcomes import then
from mqgateway.gateway.broker.static_topics.operations import OF_ANY_TOPIC


class Offsets:
    """Offsets of queues that are a broker's own or are mapped (static topics)."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def commit(
        self, permit: Permit, group: str, topic: str, queue_id: int, offset: int
    ) -> Deferred[None] | None:
        """Record how far a group has consumed. Raises `OperationError`."""
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        done = OF_ANY_TOPIC.update_offset(self._broker, group, topic, queue_id, offset)
        return self._gate.leave(then(done, lambda _: None))

    def committed(self, permit: Permit, group: str, topic: str, queue_id: int) -> int | Deferred[int]:
        """Return the offset that a group committed. Raises `OperationError`: `QUERY_NOT_FOUND` for none."""
        self._gate.enter(permit, Use.QUERY)
        return OF_ANY_TOPIC.query_offset(self._broker, group, topic, queue_id, set_zero_if_not_found=False)

    def earliest(self, permit: Permit, topic: str, queue_id: int) -> int | Deferred[int]:
        """Return the offset of a queue's oldest message. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return OF_ANY_TOPIC.min_offset(self._broker, topic, queue_id)

    def end(self, permit: Permit, topic: str, queue_id: int) -> int | Deferred[int]:
        """Return the offset that a queue's next message gets. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return OF_ANY_TOPIC.max_offset(self._broker, topic, queue_id)

    def at_time(self, permit: Permit, topic: str, queue_id: int, timestamp: int) -> int | Deferred[int]:
        """Return the offset of the first message stored at a time (ms) or later. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return OF_ANY_TOPIC.search_offset(self._broker, topic, queue_id, timestamp)
