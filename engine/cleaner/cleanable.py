"""The part of a queue that can be compacted, and whether that is worth it.

A queue has a compacted part and, behind it, a dirty one. Apache Kafka never compacts the segment that is
being written. Here the log has the records of all topics, so a queue has no segments. They are counted
instead, from the beginning of the dirty part on: one ends before the batch that would make it larger than
`segment.bytes`, or that is stored later than `segment.ms` after its first one. The last one is active.

The log's files are deleted after a time; records must be compacted before that. Once a dirty batch has half
of this age, the part has all batches with a quarter of it, those of the active segment and young ones too.

Times are those at which batches were stored, in ms. Kafka: `LogCleanerManager.cleanableOffsets`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.cleaner.limits import CompactionLimits

NONE: Final = -1


class DirtyPart:
    """A look at the dirty part of a queue, batch by batch.

    What can be compacted ends at the queue offset `end`, and has `size` bytes. `oldest` is the time of its
    first batch, -1 if there is none. It ends before the first batch that is not stable (`stable_end`), or is
    younger than the limit at the time `now`, and before the active segment. The log's files are kept for
    `log_millis`.
    """

    def __init__(
        self, begin: int, stable_end: int, limits: CompactionLimits, now: int, log_millis: int
    ) -> None:
        self.end = begin
        self.size = 0
        self.oldest = NONE
        self._stable_end = stable_end
        self._limits = limits
        self._now = now
        self._young_from = now - limits.min_lag
        self._urgent_before = now - log_millis // 2
        self._old_before = now - log_millis // 4
        self._passed_end, self._passed_size = begin, 0
        self._is_blocked = False
        self._segment_size = 0
        self._segment_began = 0

    @property
    def is_urgent(self) -> bool:
        """True if the log's files may be deleted soon."""
        return NONE < self.oldest < self._urgent_before

    def add(self, end_offset: int, size: int, stored: int) -> bool:
        """Take the next batch; return False if no further one matters."""
        limits = self._limits
        if self.oldest == NONE:
            self.oldest = stored
        is_full = self._segment_size + size > limits.segment_bytes
        if self._segment_size and (is_full or stored - self._segment_began > limits.segment_millis):
            self.end, self.size = self._passed_end, self._passed_size
            self._segment_size = 0
            if self._is_blocked:
                return False
        if not self._segment_size:
            self._segment_began = stored
        self._segment_size += size
        is_old = self.is_urgent and stored < self._old_before
        is_young = limits.min_lag > 0 and stored > self._young_from
        if end_offset > self._stable_end or (is_young and not is_old):
            self._is_blocked = True
        if not self._is_blocked:
            self._passed_end = end_offset
            self._passed_size += size
            if is_old:
                self.end, self.size = self._passed_end, self._passed_size
        return True

    def is_due(self, clean_size: int) -> bool:
        """Return True if the part is to be compacted, behind a compacted one of so many bytes."""
        if not self.size:
            return False
        if self.is_urgent or self.size / (clean_size + self.size) > self._limits.dirty_ratio:
            return True
        return self._now - self.oldest > self._limits.max_lag
