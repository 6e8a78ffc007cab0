"""The table of offsets that clients of all protocols share, as the coordinator needs it, and one in memory.

While the broker runs, this table says how far a group is: members of another protocol and administrators
change it too. What the log has follows it (`Commits.follow`). At start the log is right, because the table's
file may be older.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mqgateway.gateway.kafka.coordinator.records import OffsetKey


class SharedOffsets(Protocol):
    """Offsets by place. Names are Kafka's."""

    def get(self, key: OffsetKey) -> int | None:
        """Return an offset, None if there is none."""
        ...

    def put(self, key: OffsetKey, offset: int) -> None:
        """Record an offset. Raises `NotWritten`."""
        ...

    def remove(self, group: str, topic: str, partitions: Iterable[int]) -> None:
        """Remove offsets."""
        ...

    def keys(self, group: str) -> list[OffsetKey]:
        """Return the places of a group's offsets, of topics that are shown."""
        ...

    def groups(self) -> set[str]:
        """Return the groups that have offsets of topics that are shown, or members of another protocol."""
        ...

    def has_group(self, group: str) -> bool:
        """Return True if a group is one of `groups`."""
        ...

    def topic_id(self, topic: str) -> bytes | None:
        """Return the id of a topic, None for an unknown one."""
        ...

    def has_members(self, group: str) -> bool:
        """Return True if a group has live members of another protocol."""
        ...


class SharedInMemory:
    """A table in memory. `topics` are ids by name, `members` the groups with members of another protocol."""

    def __init__(self, topics: dict[str, bytes]) -> None:
        self.topics = topics
        self.members: set[str] = set()
        self.offsets: dict[OffsetKey, int] = {}

    def get(self, key: OffsetKey) -> int | None:
        """See `SharedOffsets`."""
        return self.offsets.get(key)

    def put(self, key: OffsetKey, offset: int) -> None:
        """See `SharedOffsets`."""
        self.offsets[key] = offset

    def remove(self, group: str, topic: str, partitions: Iterable[int]) -> None:
        """See `SharedOffsets`."""
        for partition in partitions:
            self.offsets.pop(OffsetKey(group, topic, partition), None)

    def keys(self, group: str) -> list[OffsetKey]:
        """See `SharedOffsets`."""
        return [key for key in self.offsets if key.group == group and key.topic in self.topics]

    def groups(self) -> set[str]:
        """See `SharedOffsets`."""
        return self.members | {key.group for key in self.offsets if key.topic in self.topics}

    def has_group(self, group: str) -> bool:
        """See `SharedOffsets`."""
        return group in self.groups()

    def topic_id(self, topic: str) -> bytes | None:
        """See `SharedOffsets`."""
        return self.topics.get(topic)

    def has_members(self, group: str) -> bool:
        """See `SharedOffsets`."""
        return group in self.members
