"""Committed offsets by group, topic and partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey

Partitions = dict[int, Committed]


class GroupOffsets:
    """Offsets of all groups, as the log has them."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, Partitions]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: OffsetKey) -> Committed | None:
        """Return an offset, None if there is none."""
        return self._groups.get(key.group, {}).get(key.topic, {}).get(key.partition)

    def put(self, key: OffsetKey, committed: Committed) -> None:
        """Record an offset."""
        partitions = self._groups.setdefault(key.group, {}).setdefault(key.topic, {})
        self._count += key.partition not in partitions
        partitions[key.partition] = committed

    def remove(self, key: OffsetKey) -> None:
        """Remove an offset, if there is one."""
        topics = self._groups.get(key.group, {})
        partitions = topics.get(key.topic, {})
        if partitions.pop(key.partition, None) is None:
            return
        self._count -= 1
        if not partitions:
            del topics[key.topic]
        if not topics:
            del self._groups[key.group]

    def clear(self) -> None:
        """Remove all offsets."""
        self._groups.clear()
        self._count = 0

    def of(self, group: str) -> Mapping[str, Mapping[int, Committed]]:
        """Return the offsets of a group by topic; to be looked at only."""
        return self._groups.get(group, {})

    def keys(self, group: str) -> Iterator[OffsetKey]:
        """Yield the places of a group's offsets, as they are now."""
        for topic, partitions in tuple(self.of(group).items()):
            for partition in tuple(partitions):
                yield OffsetKey(group, topic, partition)
