"""Which half messages are done with, by their offsets in the half queue. Pure bookkeeping.

`Settled` knows how far everything is done without a gap (`progress`: what the group CID_RMQ_SYS_TRANS has
consumed of the half queue) and what beyond that is done too. Op messages say the latter on disk, so the first
op message that is still needed is the progress of the op queue. `Recent` remembers what was answered last.
"""

from collections import deque
from collections.abc import Iterable


class Settled:
    """Half offsets that are done with; everything before `progress` is."""

    def __init__(self, progress: int, op_progress: int) -> None:
        self.progress = progress
        self._beyond: set[int] = set()
        self._op_end = op_progress
        # Op messages not passed yet, each with the highest offset it lists.
        self._ops: deque[tuple[int, int]] = deque()

    def __contains__(self, offset: int) -> bool:
        return offset < self.progress or offset in self._beyond

    def __len__(self) -> int:
        """How many are done with beyond the progress."""
        return len(self._beyond)

    def add(self, offset: int) -> None:
        """Note that one is done with."""
        if offset >= self.progress:
            self._beyond.add(offset)

    def listed(self, op_offset: int, offsets: Iterable[int]) -> None:
        """Note an op message and what it lists."""
        self._ops.append((op_offset, max(offsets, default=-1)))
        self._op_end = op_offset + 1

    def advance(self) -> None:
        """Move the progress over what is done."""
        while self.progress in self._beyond:
            self._beyond.remove(self.progress)
            self.progress += 1
        while self._ops and self._ops[0][1] < self.progress:
            self._ops.popleft()

    def begin_ops(self, op_progress: int) -> set[int]:
        """All op messages are gone; gives what the first of the new ones, at `op_progress`, must list."""
        self._ops.clear()
        self._op_end = op_progress
        return set(self._beyond)

    def skip_to(self, offset: int) -> None:
        """Go on at an offset: what was before it is gone from the log."""
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
        """Remember one, and forget the oldest for it where there is no room."""
        self._numbers[number] = None
        if len(self._numbers) > self._most:
            del self._numbers[next(iter(self._numbers))]
