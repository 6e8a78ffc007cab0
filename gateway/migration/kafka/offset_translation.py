"""Offsets of a partition of the source as those of the target.

Offsets of Kafka have gaps where records were compacted, aborted or markers of transactions. The target has
none, so a committed offset is translated by a table of spans without gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence


class OffsetTranslation:
    """Spans of (offset at the source, offset at the target, number of records), in order.

    `target_start` is the target's end when the copy began: the place of all offsets before the first span.
    """

    def __init__(self, target_start: int, spans: Iterable[Sequence[int]] = ()) -> None:
        self.target_start = target_start
        self._spans = [list(span) for span in spans]
        self._sources = [span[0] for span in self._spans]

    @property
    def spans(self) -> list[list[int]]:
        """The spans."""
        return self._spans

    @property
    def target_end(self) -> int:
        """The offset at the target of the next record."""
        if not self._spans:
            return self.target_start
        _, target, count = self._spans[-1]
        return target + count

    @property
    def source_end(self) -> int:
        """The offset at the source after the last copied record; 0 without one."""
        if not self._spans:
            return 0
        source, _, count = self._spans[-1]
        return source + count

    def add(self, source: int, count: int) -> None:
        """Note that `count` records from an offset of the source on were copied."""
        target = self.target_end
        if self._spans:
            last = self._spans[-1]
            if last[0] + last[2] == source:
                last[2] += count
                return
        self._spans.append([source, target, count])
        self._sources.append(source)

    def target(self, source: int) -> int:
        """Return the offset of the first copied record that is at the source's offset or after it."""
        index = bisect_right(self._sources, source) - 1
        if index < 0:
            return self.target_start
        begin, target, count = self._spans[index]
        return target + min(source - begin, count)

    def source(self, target: int) -> int:
        """Return the offset at the source of the record that is at the target's offset."""
        index = bisect_right(self._spans, target, key=lambda span: span[1]) - 1
        if index < 0:
            return 0
        begin, mapped, count = self._spans[index]
        return begin + min(target - mapped, count)
