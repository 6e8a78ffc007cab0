"""Queues of static topics: those that this broker leads, and the brokers of their mapping items.

The mapping items of a queue of a static topic are on several brokers (`engine.static_topics`). Clients send
requests to the broker that leads the queue. That broker converts number and offsets to those of a broker's
queue, and serves the request itself or forwards it to the broker of the item. RocketMQ:
`TopicQueueMappingManager`, `TopicQueueMappingContext`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.static_topics.items import MappingItem, item_after, item_at
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.engine.static_topics.mappings import Mappings

NOT_HERE = "does not exit in request process of current broker {broker}"  # RocketMQ's spelling
"""Refusal of a queue that another broker leads."""


class LogicalQueue:
    """A queue of a static topic that this broker leads: its number and mapping items."""

    __slots__ = ("broker_name", "items", "queue_id", "topic")

    def __init__(self, topic: str, broker_name: str, queue_id: int, items: list[MappingItem]) -> None:
        self.topic = topic
        self.broker_name = broker_name
        self.queue_id = queue_id
        self.items = items

    @property
    def leader(self) -> MappingItem:
        """The item that is written to."""
        return self.items[-1]

    @property
    def is_plain(self) -> bool:
        """True if the queue never moved, so that its offsets are those of the broker's queue."""
        return len(self.items) == 1 and self.leader.logic_offset == 0

    def is_here(self, item: MappingItem) -> bool:
        """Return True if an item is on this broker."""
        return item.broker_name == self.broker_name

    def at(self, offset: int) -> MappingItem:
        """Return the item that contains an offset; the first for an offset before all.

        Raises `OperationError` if the start of no item is known.
        """
        found = item_at(self.items, offset)
        if found is None:
            raise OperationError(Reason.SYSTEM_ERROR, f"it is not known where queue {self.queue_id} begins")
        return found

    def after(self, item: MappingItem) -> MappingItem | None:
        """Return the next item, once its start is known."""
        return item_after(self.items, item)


def led_queue(
    mappings: Mappings, topic: str, queue_id: int, refusal: str = NOT_HERE, *, chooses: bool = False
) -> LogicalQueue | None:
    """Return a queue that this broker leads; None if the topic is not static.

    Raises `OperationError` with the text of `refusal` if another broker leads it. With `chooses` a negative
    number selects any queue.
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
