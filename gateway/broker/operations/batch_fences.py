"""Fences of queues whose partitions move to other broker groups (`engine/producers/fences`).

A queue whose last batch is a fence takes no batches, until the layout of its topic says that the move is
cancelled. So it is fenced after a restart too, and at the next master of the group, whatever these know of
the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, gatherResults

from mqgateway.engine.message import Message
from mqgateway.engine.producers.fences import NOT_FENCED, fence_batch, fence_of
from mqgateway.engine.store.results import PutResult, PutStatus
from mqgateway.engine.store.whole_batches import Span
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import MoveState, PartitionPlace, parse_layout
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.batch_queues import PUT_OK, BatchQueues, failure
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use

QUEUES_KEPT: Final = 10_000
"""Queues without a fence that are not examined again."""


class BatchFences(BatchQueues):
    """Fences of the queues of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        super().__init__(broker, gate)
        self._open: set[tuple[str, int]] = set()
        self._written: dict[tuple[str, int], tuple[int, int]] = {}  # moves, and ends of fences in the log
        gate.on_role_change(self._forget)

    def _forget(self) -> None:
        """Examine all queues again: another master may have written a fence."""
        self._open.clear()
        self._written.clear()

    def fence(self, permit: Permit, topic: str, queue_id: int, move: int) -> Deferred[int]:
        """Fence a queue for a move of its partition, by the number of the move in the topic's layout.

        Return the end of the queue once all replicas in sync have it and it is on disk. A fence that the
        queue has is not written again. Raises `OperationError`, or fails with it.
        """
        self._gate.enter(permit, Use.SEND)
        config, own = self._found(topic, queue_id), self._own_queue(topic, queue_id)
        if self.fence_at(topic, own) == move:
            return self._settled(topic, own)
        self._check_not_fenced(config, own)
        self._logs_needed(config)
        result = self._put_control(config, own, fence_batch(move, permit.now), permit.now)
        self._open.discard((topic, own))
        self._written[topic, own] = move, result.end_offset
        return self._settled(topic, own)

    def _settled(self, topic: str, queue_id: int) -> Deferred[int]:
        """Return the end of a queue once all replicas in sync have it and it is on disk."""
        store, durability = self._broker.store, self._broker.produce.durability
        end = store.max_physical_offset
        written = PutResult(PUT_OK, physical_offset=end, end_offset=end)
        flushed: Deferred[PutStatus] = Deferred()
        copied = durability.wait(written, max(1, durability.replicas.in_sync()))
        store.when_flushed(end, flushed.callback)
        both = self._gate.leave(gatherResults([copied, flushed], consumeErrors=True))
        return both.addErrback(_first_error).addCallback(self._settled_end, topic, queue_id)

    def _settled_end(self, statuses: list[PutStatus], topic: str, queue_id: int) -> int:
        """Return the end of a queue whose log has these states. Raises `OperationError`."""
        for status in statuses:
            if status is not PUT_OK:
                raise failure(status, "")
        return self._broker.store.max_offset(topic, queue_id)

    def fence_at(self, topic: str, queue_id: int) -> int:
        """Return the number of the move whose fence is the last batch of a queue, -1 for none."""
        key, store = (topic, queue_id), self._broker.store
        if key in self._open:
            return NOT_FENCED
        if key in self._written:
            move, position = self._written[key]
            if position > store.confirm_offset or store.is_behind:
                return move  # readers do not have it yet
            del self._written[key]
        end = store.max_offset(topic, queue_id)
        spans: Sequence[Span] = ()
        if end > store.min_offset(topic, queue_id):
            spans = store.batches.get(topic, queue_id, end - 1, 1, uncommitted=True).spans
        move = fence_of(spans[-1]) if spans else NOT_FENCED
        if move == NOT_FENCED:
            self._note_open(key)
        return move

    def _note_open(self, key: tuple[str, int]) -> None:
        if len(self._open) >= QUEUES_KEPT:
            self._open.clear()
        self._open.add(key)

    def _check_not_fenced(self, config: TopicConfig, queue_id: int) -> None:
        """Check that a queue takes batches. Raises `OperationError`."""
        text = config.attributes.get(KAFKA_PARTITIONS)
        if text is None or self._broker.peers is None:
            return
        topic = config.topic_name
        number = self.fence_at(topic, queue_id)
        if number == NOT_FENCED:
            return
        layout = parse_layout(text)
        moves = () if layout is None else layout.moves
        own = self._broker.options.broker_name
        place = moves[number].target if number < len(moves) else None
        is_target = place is not None and place.group == own and place.queue_id == queue_id
        ended = MoveState.DONE if is_target else MoveState.CANCELLED
        if place is None or moves[number].state is not ended:
            text = f"queue {queue_id} of topic {topic} takes no batches: its partition moves to another group"
            raise OperationError(Reason.NOT_LEADER_FOR_QUEUE, text)
        self._note_open((topic, queue_id))  # the next batch follows the fence

    def _put_control(self, config: TopicConfig, queue_id: int, batch: bytes, now: int) -> PutResult:
        """Append a control batch of one record, made at `now`, ms, to a queue. Raises `OperationError`."""
        broker = self._broker
        host = broker.store_host
        message = Message(config.topic_name, queue_id, b"", {}, now, host, host)
        result = broker.store.batches.put(message, batch, 1, self._epoch(config, queue_id))
        if result.status is not PUT_OK:
            raise failure(result.status, result.remark)
        return result

    def _epoch(self, config: TopicConfig, queue_id: int) -> int:
        """Return the leader epoch of batches that a queue gets now; see `PartitionLayout.epoch_base`."""
        epoch = self._broker.leader_epoch
        text = config.attributes.get(KAFKA_PARTITIONS)
        layout = None if text is None else parse_layout(text)
        if layout is None or not layout.epochs:
            return epoch
        return epoch + layout.epochs.get(PartitionPlace(self._broker.options.broker_name, queue_id), 0)


def _first_error(failed: Any) -> list[PutStatus]:
    raise failed.value.subFailure.value
