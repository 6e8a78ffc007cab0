"""A member of a share group. Standard: `ShareGroupMember`."""

from __future__ import annotations

from collections.abc import Set

from mqgateway.gateway.kafka.coordinator.member import RequestSender
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition


class ShareMember:
    """A member. `topics` are the names it subscribes to; `assigned` are the partitions that it fetches."""

    __slots__ = ("assigned", "client", "epoch", "id", "previous_epoch", "rack_id", "topics")

    def __init__(
        self,
        member_id: str,
        client: RequestSender,
        *,
        rack_id: str | None = None,
        topics: tuple[str, ...] = (),
    ) -> None:
        self.id = member_id
        self.client = client
        self.rack_id = rack_id
        self.topics = topics
        self.epoch = 0
        self.previous_epoch = 0
        self.assigned: Set[TopicPartition] = frozenset()

    @property
    def size(self) -> int:
        """Characters of what it says of itself."""
        return sum(len(text) for text in (self.id, self.rack_id or "", *self.topics))

    @property
    def metadata(self) -> tuple[object, ...]:
        """All that it says of itself."""
        return self.client, self.rack_id, self.topics

    def changed(
        self, client: RequestSender, rack_id: str | None, topics: tuple[str, ...] | None
    ) -> ShareMember:
        """Return the member with what a heartbeat says of it; None stays as it is."""
        member = ShareMember(
            self.id,
            client,
            rack_id=self.rack_id if rack_id is None else rack_id,
            topics=self.topics if topics is None else topics,
        )
        member.move(self.epoch, self.previous_epoch, self.assigned)
        return member

    def move(self, epoch: int, previous_epoch: int, assigned: Set[TopicPartition]) -> None:
        """Change epochs and partitions."""
        self.epoch, self.previous_epoch, self.assigned = epoch, previous_epoch, assigned
