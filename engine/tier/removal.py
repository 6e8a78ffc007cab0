"""Deletes from a tier what has expired, and orphans: segments of ranges that do not count.

    1. a segment that has expired gets a mark (`survey`): readers see the least offsets of its queues move
    2. `EXPIRED_GRACE_MILLIS` after that it is deleted: no reader has an older list of ranges by then
    3. the index of the oldest range is deleted once all its segments are, and then the next one
    4. the marks of a range are deleted once its index is
    5. an epoch is deleted once nothing of it is left, and no earlier one has it as its limit (`ranges`)

The newest index stays: the next writer begins at its end. A process that is killed at any request leaves what
the next look continues with. Only the writer whose epoch is the last marks and deletes. A mark is never
taken back, so a deletion that a later epoch overtakes is right all the same.

A range that does not count, or has no index, never will count once a later epoch has begun. Its objects are
orphans. They are deleted `ORPHAN_GRACE_MILLIS` after the begin of that epoch, index first. Objects of the
last epoch are those of a writer that may be running: they are never orphans.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.tier.directory import read_head
from mqgateway.engine.tier.format.names import ExpiredName, SegmentName, TierNames
from mqgateway.engine.tier.object_store import ObjectExists, ObjectStore
from mqgateway.engine.tier.ranges import RangeKey, epochs_without_use
from mqgateway.engine.tier.survey import Survey, survey, tables_in

EXPIRED_GRACE_MILLIS: Final = 3_600_000
"""Time from the mark of an expired segment to its deletion. Readers list the ranges every minute."""
ORPHAN_GRACE_MILLIS: Final = 24 * 3_600_000
"""Time from the epoch after that of an orphan to its deletion."""

CHANGES_A_CHECK: Final = 64
MARK: Final = b"expired"
"""Content of marks; their names say all."""


class TierDeletions(NamedTuple):
    """Objects and bytes that were deleted: segments that had expired, orphans of all kinds, and indexes."""

    segments: int = 0
    segment_bytes: int = 0
    orphans: int = 0
    orphan_bytes: int = 0
    indexes: int = 0
    index_bytes: int = 0


class Orphan(NamedTuple):
    """An object of a range that does not count; `since` is when the next epoch began, in ms."""

    name: str
    size: int
    since: int


def segments_in(store: ObjectStore, names: TierNames) -> list[tuple[SegmentName, int]]:
    """Return all segments of a tier, with their sizes in bytes. Raises `ObjectStoreError`."""
    found = ((names.segment_of(name), size) for name, size in store.list_from(names.data, ""))
    return [(segment, size) for segment, size in found if segment is not None]


def orphans_of(
    found: Survey, names: TierNames, segments: Iterable[tuple[SegmentName, int]]
) -> Iterator[Orphan]:
    """Yield the orphans of a tier, indexes first, whatever their age."""
    counting = set(found.ranges)
    begun = sorted((epoch.epoch, epoch.created) for epoch in found.epochs.values())

    def orphan(key: RangeKey, name: str, size: int) -> Iterator[Orphan]:
        since = next((created for number, created in begun if number > key.epoch), None)
        if key not in counting and since is not None:
            yield Orphan(name, size, since)

    for key, size in found.all_ranges.items():
        yield from orphan(key, names.range(*key), size)
    for segment, size in segments:
        yield from orphan(RangeKey(segment.epoch, segment.begin), names.segment(segment), size)


class TierRemoval:
    """Marks and deletes objects of one tier. `check_fence` raises if this process may not do so; it is called
    before the first change, and again after `CHANGES_A_CHECK`."""

    def __init__(self, store: ObjectStore, names: TierNames, check_fence: Callable[[], None]) -> None:
        self._store = store
        self._names = names
        self._check_fence = check_fence
        self._changes = 0

    def mark(self, key: RangeKey, numbers: Iterable[int], now: int) -> None:
        """Note that segments of a range have expired at a time in ms. Raises `ObjectStoreUnavailable`."""
        for number in sorted(numbers):
            self._note_change()
            with contextlib.suppress(ObjectExists):  # the answer was lost, and the request repeated
                self._store.create(self._names.expired(ExpiredName(*key, number, now)), MARK)

    def delete(self, found: Survey, now: int) -> TierDeletions:
        """Delete expired segments, orphans, and indexes without segments, if their time in ms has come.

        Raises `CorruptFile`, `ObjectStoreError`.
        """
        names, counting = self._names, set(found.ranges)
        segments = segments_in(self._store, names)
        orphans = self.delete_orphans(orphans_of(found, names, segments), now)
        left = set[RangeKey]()
        expired = expired_bytes = 0
        for segment, size in segments:
            key = RangeKey(segment.epoch, segment.begin)
            time = found.expired_in(key).get(segment.number)
            if key in counting and time is not None and time + EXPIRED_GRACE_MILLIS <= now:
                self._delete(names.segment(segment))
                expired += 1
                expired_bytes += size
            else:
                left.add(key)
        indexes = self._delete_indexes(found, left)
        # What was deleted just now still counts as there: its epoch goes next time.
        used = {key.epoch for key in (*found.all_ranges, *found.expired)}
        used.update(segment.epoch for segment, _ in segments)
        used.update(epoch for epoch, _ in tables_in(self._store, names))
        starts = {number: epoch.start for number, epoch in found.epochs.items()}
        for number in epochs_without_use(starts, used):
            self._delete(names.epoch(number))
        return TierDeletions(expired, expired_bytes, *orphans, *indexes)

    def delete_orphans(self, orphans: Iterable[Orphan], now: int) -> tuple[int, int]:
        """Delete the orphans whose time in ms has come; return their number and bytes."""
        count = total = 0
        for orphan in orphans:
            if orphan.since + ORPHAN_GRACE_MILLIS <= now:
                self._delete(orphan.name)
                count += 1
                total += orphan.size
        return count, total

    def _delete_indexes(self, found: Survey, left: Container[RangeKey]) -> tuple[int, int]:
        """Delete the oldest indexes whose segments have expired, all of them, and are not `left`. Marks of
        ranges without index are deleted too."""
        count = total = 0
        without_index = found.expired.keys() - found.all_ranges.keys()
        for key in found.ranges[:-1]:
            name, size = self._names.range(*key), found.all_ranges[key]
            if key in left:
                break
            _, head = read_head(self._store, name, size)
            if any(entry.number not in found.expired_in(key) for entry in head.segments):
                break  # a segment is missing: the range is damaged, as a check reports
            self._delete(name)
            count += 1
            total += size
            without_index.add(key)
        for key in sorted(without_index):
            for mark, _ in list(self._store.list_from(self._names.marks(*key), "")):
                self._delete(mark)
        return count, total

    def _delete(self, name: str) -> None:
        self._note_change()
        self._store.delete(name)

    def _note_change(self) -> None:
        if self._changes % CHANGES_A_CHECK == 0:
            self._check_fence()
        self._changes += 1


def delete_old_orphans(store: ObjectStore, names: TierNames, now: int) -> tuple[int, int]:
    """Delete the orphans whose time in ms has come; return their number and bytes. Needs no epoch, as what is
    an orphan stays one. Raises `CorruptFile`, `ObjectStoreError`."""
    found, segments = survey(store, names), segments_in(store, names)
    return TierRemoval(store, names, lambda: None).delete_orphans(orphans_of(found, names, segments), now)
