"""Offsets that were committed in transactions that are not complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mqgateway.gateway.kafka.coordinator.records import OffsetKey, Pending, PendingKey


class PendingOffsets:
    """Pending offsets of all groups by producer, as the log has them.

    None stands for one that may be in the log or not, because its record was refused. Its transaction cannot
    commit it, and deletes its record.
    """

    def __init__(self) -> None:
        self._producers: dict[int, dict[OffsetKey, Pending | None]] = {}
        self._places: dict[OffsetKey, set[int]] = {}
        self._groups: Counter[str] = Counter()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, key: PendingKey, pending: Pending | None) -> None:
        """Record a pending offset."""
        offsets = self._producers.setdefault(key.producer_id, {})
        if key.offset not in offsets:
            self._count += 1
            self._groups[key.offset.group] += 1
            self._places.setdefault(key.offset, set()).add(key.producer_id)
        offsets[key.offset] = pending

    def remove(self, key: PendingKey) -> None:
        """Remove a pending offset, if there is one."""
        offsets = self._producers.get(key.producer_id, {})
        if key.offset not in offsets:
            return
        del offsets[key.offset]
        self._count -= 1
        self._groups -= Counter((key.offset.group,))
        producers = self._places[key.offset]
        producers.discard(key.producer_id)
        if not producers:
            del self._places[key.offset]
        if not offsets:
            del self._producers[key.producer_id]

    def clear(self) -> None:
        """Remove all pending offsets."""
        self._producers.clear()
        self._places.clear()
        self._groups.clear()
        self._count = 0

    def producers(self) -> tuple[int, ...]:
        """Return the producers that have pending offsets."""
        return tuple(self._producers)

    def of(self, producer_id: int) -> Mapping[OffsetKey, Pending | None]:
        """Return the pending offsets of a producer; to be looked at only."""
        return self._producers.get(producer_id, {})

    def at(self, key: OffsetKey) -> list[PendingKey]:
        """Return the pending offsets of a partition, those of all producers."""
        return [PendingKey(producer_id, key) for producer_id in self._places.get(key, ())]

    def has_group(self, group: str) -> bool:
        """Return True if a group has pending offsets."""
        return group in self._groups

    def keys(self, group: str) -> list[OffsetKey]:
        """Return the places of a group's pending offsets."""
        return [key for key in self._places if key.group == group] if group in self._groups else []
