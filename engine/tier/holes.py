"""Holes in the queues of a tier, and the offsets from which queues can be restored.

A queue of the log has no holes, so one is restored from the end of its last hole on. A hole is a segment that
is gone or damaged, a range whose index is damaged, or a part of the log that was lost before it was saved.
Readers of a broker with the tier get what is before a hole from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.engine.tier.directory import QueueHistory, SavedRange, TierDirectory
from mqgateway.engine.tier.format.index import SavedQueue
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.loading import load_head
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.removal import segments_in


class Holes:
    """The holes of a tier, as far as they are known. `reasons` are for people."""

    def __init__(self, store: ObjectStore, names: TierNames) -> None:
        self._store = store
        self._names = names
        self._lost: set[tuple[str, int, int]] = set()
        self._begins: dict[tuple[str, int], int] = {}
        self.reasons: list[str] = []

    def lose(self, queue: SavedQueue, number: int, reason: str) -> None:
        """Note a block that cannot be read. It counts in the next `find`."""
        self._lost.add(_place_of(queue, number))
        if reason not in self.reasons:
            self.reasons.append(reason)

    def find(self, ranges: Sequence[SavedRange], directory: TierDirectory) -> None:
        """Find the offsets from which queues can be restored, in these ranges in the order of the log.

        Raises `ObjectStoreError`, and `CorruptFile` for the head of a range.
        """
        there = {name for name, _ in segments_in(self._store, self._names)}
        ends: dict[tuple[str, int], int] = {}
        self._begins.clear()
        for saved in ranges:
            if not saved.header.records:
                continue
            key, expired = saved.key, directory.expired_in(saved.key)
            head = load_head(self._store, saved).head
            names = [
                SegmentName(key.epoch, key.begin, each.days, each.number, saved.header.writer)
                for each in head.segments
            ]
            for queue in head.queues:
                history = directory.history(queue.topic, queue.queue_id)
                for number, block in enumerate(queue.blocks):
                    if block.segment in expired or not is_readable(history, queue, number, key.begin):
                        continue
                    name = names[block.segment]
                    if name not in there:
                        self.lose(queue, number, f"the object {self._names.segment(name)} does not exist")
                    self._note(queue, number, ends)

    def _note(self, queue: SavedQueue, number: int, ends: dict[tuple[str, int], int]) -> None:
        """Note where a block begins, and what is missing before it; `ends` has the offsets seen so far."""
        place = queue.topic, queue.queue_id
        begin, end = queue.blocks[number].first_offset, queue.block_end(number)
        if _place_of(queue, number) in self._lost:
            self._begins[place] = end
        elif begin != ends.get(place, begin):
            self._begins[place] = begin
        ends[place] = end

    def is_before(self, queue: SavedQueue, number: int) -> bool:
        """Return True if a block is in a hole, or has one after it."""
        return queue.block_end(number) <= self._begins.get((queue.topic, queue.queue_id), 0)


def _place_of(queue: SavedQueue, number: int) -> tuple[str, int, int]:
    return queue.topic, queue.queue_id, queue.blocks[number].first_offset


def is_readable(history: QueueHistory | None, queue: SavedQueue, number: int, begin: int) -> bool:
    """Return True if readers have a block of the range that begins at `begin`: nothing after it has expired,
    and its topic was not made again since."""
    if history is None:
        return False
    first = history[0]
    return begin > first.begin or (begin == first.begin and queue.block_end(number) > first.first_offset)
