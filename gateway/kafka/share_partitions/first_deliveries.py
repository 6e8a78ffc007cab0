"""Records that were acquired together the first time, by which later deliveries are limited. Pure.

Standard: `InFlightBatch`, `SharePartition`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange
from mqgateway.gateway.kafka.share_partitions.settings import is_last_attempt, throttled_from


class FirstDeliveries:
    """The batches that records in flight were acquired in: one begins where the one before it ends."""

    __slots__ = ("_firsts",)

    def __init__(self, firsts: Iterable[int] = ()) -> None:
        self._firsts = list(firsts)

    def begin(self, offset: int) -> None:
        """Begin a batch at an offset behind all others."""
        self._firsts.append(offset)

    def by_batch(self, available: Iterable[OffsetRange], end: int) -> Iterator[tuple[int, list[OffsetRange]]]:
        """Yield the size and the available records of each batch that has some.

        `available` are ranges in their order, `end` is the offset behind all batches.
        """
        index, parts = -1, list[OffsetRange]()
        for one in available:
            first = one.first
            while first <= one.last:
                begun = bisect_right(self._firsts, first) - 1
                if begun != index and parts:
                    yield self._end(index, end) - self._firsts[index], parts
                    parts = []
                index, after = begun, self._end(begun, end)
                parts.append(one._replace(first=first, last=min(one.last, after - 1)))
                first = after
        if parts:
            yield self._end(index, end) - self._firsts[index], parts

    def _end(self, index: int, end: int) -> int:
        """Return the offset behind a batch."""
        return self._firsts[index + 1] if index + 1 < len(self._firsts) else end

    def keep(self, start: int, end: int) -> None:
        """Forget the batches without offsets from `start` to before `end`."""
        del self._firsts[bisect_left(self._firsts, end) :]
        del self._firsts[: max(0, bisect_right(self._firsts, start) - 1)]


def delivered_together(available: Iterable[OffsetRange], size: int, limit: int) -> list[OffsetRange]:
    """Return the first of the available records of a batch that are delivered together.

    The first one that was delivered often decides: with each delivery the batch, which had `size` records,
    is halved once more. A last attempt is delivered alone. `limit` is `share.delivery.count.limit`.
    """
    together: list[OffsetRange] = []
    left: int | None = None
    for one in available:
        if is_last_attempt(one.deliveries, limit):
            return together or [one._replace(last=one.first)]
        halvings = one.deliveries - throttled_from(limit) + 1
        if left is None and halvings > 0:
            left = max(1, size >> halvings) - sum(earlier.size for earlier in together)
        if left is not None:
            if left <= 0:
                break
            one = one._replace(last=min(one.last, one.first + left - 1))
            left -= one.size
        together.append(one)
    return together
