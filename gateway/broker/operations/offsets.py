"""Offsets: what groups committed, the ends of queues, and offsets of times.

What a method without a permit returns is in the tables or queues of this broker itself: mappings of static
topics do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.tables.offsets import UNKNOWN
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume import offsets, positions
from mqgateway.gateway.broker.consume.operations import OF_THIS_BROKER, QueueOperations
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.static_topics.operations import OF_ANY_TOPIC


class QueueRange(NamedTuple):
    """The offsets of a queue's oldest message and of the one that it gets next."""

    begin: int
    end: int

    @property
    def message_count(self) -> int:
        """The number of messages in the queue."""
        return self.end - self.begin


class QueueProgress(NamedTuple):
    """The progress of a group in a queue; offsets are -1 if there is none.

    `position` is the offset that the group committed, or where its connected members began to read. `offset`
    is where it resumes: at its commit, or at a reset that it has not taken yet (`is_reset_pending`). `pulled`
    is None if it is unknown how far the group has read. `in_flight` counts messages that are popped and not
    acknowledged.
    """

    queue_id: int
    range: QueueRange
    position: int
    offset: int
    pulled: int | None
    in_flight: int
    is_reset_pending: bool

    @property
    def lag(self) -> int:
        """The number of messages after the position."""
        return max(0, self.range.end - max(0, self.position))


class OffsetOperations:
    """Offsets of queues that are a broker's own or are mapped (static topics).

    Without `is_mapped` a queue is one of this broker, whatever its topic is mapped to.
    """

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def commit(
        self, permit: Permit, group: str, topic: str, queue_id: int, offset: int, *, is_mapped: bool = True
    ) -> bool | Deferred[bool]:
        """Record how far a group has consumed. Raises `OperationError`.

        Return False, with nothing recorded, while a reset of the offset waits for the group's next pull.
        """
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        done = _of(is_mapped).update_offset(self._broker, group, topic, queue_id, offset)
        return self._gate.leave(done)

    def check_names(self, permit: Permit, group: str, topic: str) -> None:
        """Raise `OperationError` if a group or a topic does not exist."""
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        offsets.check_names(self._broker, group, topic)

    def committed(
        self,
        permit: Permit,
        group: str,
        topic: str,
        queue_id: int,
        *,
        is_zero_usual: bool = False,
        is_mapped: bool = True,
    ) -> int | Deferred[int]:
        """Return the offset that a group committed. Raises `OperationError`: `QUERY_NOT_FOUND` for none.

        With `is_zero_usual` a group that never committed is at 0 if the queue still has its first message
        and that is recent.
        """
        self._gate.enter(permit, Use.QUERY)
        return _of(is_mapped).query_offset(
            self._broker, group, topic, queue_id, set_zero_if_not_found=is_zero_usual
        )

    def recorded(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the offset of a group in this broker's table, None for none. It needs no permit: a front end
        asks for what its own clients committed."""
        offset = self._broker.tables.offsets.query(group, topic, queue_id)
        return None if offset < 0 else offset

    def keys(self, group: str) -> list[tuple[str, int]]:
        """Return the topics and queues in which a group has an offset in this broker's table, and the numbers
        of other groups' partitions with one (`partition_layout.ELSEWHERE`)."""
        table = self._broker.tables.offsets
        return [(topic, key) for topic in table.topics_of(group) for key in table.keys_of(group, topic)]

    def groups(self) -> dict[str, list[str]]:
        """Return the groups that have offsets in this broker's table, with their topics."""
        return self._broker.tables.offsets.group_topics()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return topic and group of every position of a group in a topic, as they are now."""
        return positions.pairs(self._broker)

    def topics_of(self, group: str) -> set[str]:
        """Return the topics in which a group has a position."""
        return positions.topics_of(self._broker, group)

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups that have an offset in a topic in this broker's table."""
        return self._broker.tables.offsets.groups_of(topic)

    def range(self, topic: str, queue_id: int) -> QueueRange:
        """Return the offsets between which a queue has messages that consumers may read; both are 0 for an
        unknown queue."""
        store = self._broker.store
        return QueueRange(store.min_offset(topic, queue_id), store.readable_end(topic, queue_id))

    def store_time(self, topic: str, queue_id: int, offset: int) -> int:
        """Return when a message was stored (ms), -1 for none at this offset."""
        return self._broker.store.store_time(topic, queue_id, offset)

    def lag(self, group: str, topic: str) -> int:
        """Return the number of messages of a topic that a group has not consumed.

        They are counted from what the group committed, whether a member is connected or not; in a queue
        without a commit, from where a connected member began to read. Popped messages that are not
        acknowledged count.
        """
        broker = self._broker
        ends, found = broker.store.max_offsets(topic), positions.positions(broker, group, topic)
        lag = sum([max(0, ends.get(queue_id, 0) - offset) for queue_id, offset in found.items()])
        in_flight = broker.pop.log.in_flight
        if len(in_flight):
            config = broker.tables.groups.get(group)
            if config is not None and not config.consume_message_orderly:
                lag += sum(in_flight.count((topic, group, queue_id)) for queue_id in found)
        return lag

    def committed_sum(self, group: str, topic: str) -> int:
        """Return the sum of the offsets that a group has committed in a topic: it grows while it consumes."""
        return sum(self._broker.tables.offsets.queues_of(group, topic).values())

    def progress(self, group: str, topic: str, queue_ids: Iterable[int] | None = None) -> list[QueueProgress]:
        """Return the progress of a group in queues of a topic, by default those where it has a position."""
        table, in_flight = self._broker.tables.offsets, self._broker.pop.log.in_flight
        found, pulled = positions.positions(self._broker, group, topic), table.pulled_of(group, topic)
        return [
            QueueProgress(
                queue_id,
                self.range(topic, queue_id),
                found.get(queue_id, UNKNOWN),
                table.query(group, topic, queue_id),
                pulled.get(queue_id),
                in_flight.count((topic, group, queue_id)),
                table.has_reset(group, topic, queue_id),
            )
            for queue_id in (sorted(found) if queue_ids is None else queue_ids)
        ]

    def record(self, permit: Permit, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Record the offset of a group that does not pull: it replaces a reset by an administrator that the
        group's next pull would have taken. Raises `OperationError`."""
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        self._broker.tables.offsets.take_reset(group, topic, queue_id)
        offsets.update_offset(self._broker, group, topic, queue_id, offset)

    def forget(self, permit: Permit, group: str, topic: str, queue_id: int) -> None:
        """Remove the offset of a group in a queue."""
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        self._broker.tables.offsets.remove_queue(group, topic, queue_id)

    def earliest(
        self, permit: Permit, topic: str, queue_id: int, *, is_mapped: bool = True
    ) -> int | Deferred[int]:
        """Return the offset of a queue's oldest message. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return _of(is_mapped).min_offset(self._broker, topic, queue_id)

    def earliest_store_time(
        self, permit: Permit, topic: str, queue_id: int, *, is_mapped: bool = True
    ) -> int | Deferred[int]:
        """Return when a queue's oldest message was stored (ms), -1 for none. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return _of(is_mapped).earliest_store_time(self._broker, topic, queue_id)

    def end(
        self, permit: Permit, topic: str, queue_id: int, *, is_mapped: bool = True
    ) -> int | Deferred[int]:
        """Return the offset that a queue's next message gets. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return _of(is_mapped).max_offset(self._broker, topic, queue_id)

    def at_time(
        self,
        permit: Permit,
        topic: str,
        queue_id: int,
        timestamp: int,
        *,
        is_upper: bool = False,
        is_mapped: bool = True,
    ) -> int | Deferred[int]:
        """Return the offset of the first message stored at a time (ms) or later. Raises `OperationError`.

        With `is_upper` it is the last one stored then or before.
        """
        self._gate.enter(permit, Use.QUERY)
        return _of(is_mapped).search_offset(self._broker, topic, queue_id, timestamp, is_upper=is_upper)

    def clone(
        self, permit: Permit, source: str, target: str, topic: str | None, *, is_offline: bool = False
    ) -> None:
        """Copy the offsets of one group to another, of one topic or of all.

        Unless `is_offline`, topics that a connected source group no longer subscribes to are left out.
        """
        self._gate.enter(permit, Use.COMMIT_OFFSET)
        offsets.clone_offset(self._broker, source, target, topic, is_offline=is_offline)

    def all(self, permit: Permit) -> dict[str, Any]:
        """Return the content of consumerOffset.json."""
        self._gate.enter(permit, Use.QUERY)
        return offsets.all_offsets(self._broker)


def _of(is_mapped: bool) -> QueueOperations:
    return OF_ANY_TOPIC if is_mapped else OF_THIS_BROKER
