"""Queues of static topics: which of them are led here, and where their pieces lie.

A queue of a static topic lies in pieces on several brokers (`engine.static_topics`). Clients ask the broker
that leads it; that broker turns number and offsets into those of a broker's queue, and serves the request
itself or lets the broker do so that has the piece.
Standard: `TopicQueueMappingManager`, `TopicQueueMappingContext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.static_topics.pieces import Piece, piece_after, piece_at
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.engine.static_topics.mappings import Mappings

NOT_HERE = "does not exit in request process of current broker {broker}"  # as the standard spells it
"""What is said of a queue that another broker leads."""


class LogicalQueue:
    """A queue of a static topic that this broker leads: its number, and its pieces."""

    __slots__ = ("broker_name", "pieces", "queue_id", "topic")

    def __init__(self, topic: str, broker_name: str, queue_id: int, pieces: list[Piece]) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id
        self.pieces = pieces

    @property
    def leader(self) -> Piece:
        """The piece that is written to."""
        return self.pieces[-1]

    @property
    def is_plain(self) -> bool:
        """Whether the queue never moved, so that its offsets are those of the broker's queue."""
        return len(self.pieces) == 1 and self.leader.logic_offset == 0

    def is_here(self, piece: Piece) -> bool:
        """Whether a piece lies on this broker."""
        return piece.broker_name == self.broker_name

    def at(self, offset: int) -> Piece:
        """The piece an offset lies in; the first for one before all. Raises `OperationError` if none is."""
        found = piece_at(self.pieces, offset)
        if found is None:
            raise OperationError(Reason.SYSTEM_ERROR, f"it is not known where queue {self.queue_id} begins")
        return found

    def after(self, piece: Piece) -> Piece | None:
        """The next piece, once it is known where that begins."""
        return piece_after(self.pieces, piece)


def led_queue(
    mappings: Mappings, topic: str, queue_id: int, refusal: str = NOT_HERE, *, chooses: bool = False
) -> LogicalQueue | None:
    """A queue of a topic; None when the topic is not static. Raises `OperationError` if others lead it.

    `refusal` is what is said then; with `chooses` a negative number means any queue.
    """
    mapping = mappings.table.get(topic)
    if mapping is None:
        return None
    if queue_id < 0 and chooses:
        queue_id = next(filter(mapping.leads, mapping.queues), queue_id)
    if not mapping.leads(queue_id):
        why = refusal.format(broker=mapping.broker_name)
        raise OperationError(Reason.NOT_LEADER_FOR_QUEUE, f"{topic}-{queue_id} {why}")
    return LogicalQueue(mapping.topic, mapping.broker_name, queue_id, mapping.queues[queue_id])
