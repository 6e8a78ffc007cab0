"""Settled half messages, by their offsets in the half queue. Pure bookkeeping.

`Settled` has the progress, up to which everything is settled (as consumed by CID_RMQ_SYS_TRANS), and settled
offsets beyond it. Op messages record the latter on disk, so the first op message that is still needed is the
progress of the op queue. `Recent` is a bounded set of the last ends.
"""

from collections import deque
from collections.abc import Iterable


class Settled:
    """Settled half offsets, including all before `progress`."""

    def __init__(self, progress: int, op_progress: int) -> None:
        self.progress = progress
        self._beyond: set[int] = set()
        self._op_end = op_progress
        # Op messages still needed, each with the highest offset it lists.
        self._ops: deque[tuple[int, int]] = deque()

    def __contains__(self, offset: int) -> bool:
        return offset < self.progress or offset in self._beyond

    def __len__(self) -> int:
        """Return the number of settled offsets beyond the progress."""
        return len(self._beyond)

    def add(self, offset: int) -> None:
        """Note a settled offset."""
        if offset >= self.progress:
            self._beyond.add(offset)

    def listed(self, op_offset: int, offsets: Iterable[int]) -> None:
        """Note an op message and its offsets."""
        self._ops.append((op_offset, max(offsets, default=-1)))
        self._op_end = op_offset + 1

    def advance(self) -> None:
        """Advance the progress over settled offsets."""
        while self.progress in self._beyond:
            self._beyond.remove(self.progress)
            self.progress += 1
        while self._ops and self._ops[0][1] < self.progress:
            self._ops.popleft()

    def begin_ops(self, op_progress: int) -> set[int]:
        """Drop all op messages; return the offsets that the first new one, at `op_progress`, must list."""
        self._ops.clear()
        self._op_end = op_progress
        return set(self._beyond)

    def skip_to(self, offset: int) -> None:
        """Advance to an offset, as everything before it is gone from the log."""
        self.progress = offset
        self._beyond = {at for at in self._beyond if at >= offset}

    @property
    def op_progress(self) -> int:
        """The first op message that a start needs to read."""
        return self._ops[0][0] if self._ops else self._op_end


class Recent:
    """The last `most` numbers that were added."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: dict[int, None] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int) -> None:
        """Add a number, and evict the oldest if the set is full."""
        self._numbers[number] = None
        if len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]
