"""Which half messages are done with, by their offsets in the half queue. Pure bookkeeping.

`Settled` knows how far everything is done without a gap (`progress`: what the group CID_RMQ_SYS_TRANS has
consumed of the half queue) and what beyond that is done too. Op messages say the latter on disk, so the first
op message that is still needed is the progress of the op queue. `Copies` knows which half message took the
place of which: the producer may still name an earlier one.
"""

from collections import deque
from collections.abc import Iterable

EARLIER_MAX = 3
"""How many earlier copies are remembered of each: the first, which is named most, and the last ones."""


class Settled:
    """Half offsets that are done with; everything before `progress` is."""

    def __init__(self, progress: int, op_progress: int) -> None:
        self.progress = progress
        self._beyond: dict[int, bool] = {}
        self._op_end = op_progress
        # Op messages not passed yet, each with the highest offset it lists.
        self._ops: deque[tuple[int, int]] = deque()

    def __contains__(self, offset: int) -> bool:
        return offset < self.progress or offset in self._beyond

    def __len__(self) -> int:
        """How many are done with beyond the progress."""
        return len(self._beyond)

    def add(self, offset: int, *, answered: bool = False) -> None:
        """Note that one is done with, `answered` by its producer."""
        if offset >= self.progress:
            self._beyond[offset] = answered or self._beyond.get(offset, False)

    def is_answered(self, offset: int) -> bool:
        """Whether one beyond the progress was settled by its producer, as far as is known."""
        return self._beyond.get(offset, False)

    def listed(self, op_offset: int, offsets: Iterable[int]) -> None:
        """Note an op message and what it lists."""
        self._ops.append((op_offset, max(offsets, default=-1)))
        self._op_end = op_offset + 1

    def advance(self) -> list[int]:
        """Move the progress over what is done; gives the offsets it has passed."""
        passed = []
        while self._beyond.pop(self.progress, None) is not None:
            passed.append(self.progress)
            self.progress += 1
        while self._ops and self._ops[0][1] < self.progress:
            self._ops.popleft()
        return passed

    def skip_to(self, offset: int) -> None:
        """Go on at an offset: what was before it is gone from the log."""
        self.progress = offset
        self._beyond = {at: how for at, how in self._beyond.items() if at >= offset}

    @property
    def op_progress(self) -> int:
        """The first op message that a start needs to read."""
        return self._ops[0][0] if self._ops else self._op_end


class Copies:
    """Which half message stands for which earlier ones; `most` bounds how many chains are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._newest: dict[int, int] = {}
        self._earlier: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def newest(self, offset: int) -> int:
        """The copy that counts; the offset itself where no later one is known."""
        return self._newest.get(offset, offset)

    def replace(self, old: int, new: int) -> None:
        """One took the place of another."""
        earlier = [*self._earlier.pop(old, ()), old]
        if len(self._earlier) >= self._most:
            for each in earlier:
                self._newest.pop(each, None)
            return
        if len(earlier) > EARLIER_MAX:
            self._newest.pop(earlier.pop(1), None)
        for each in earlier:
            self._newest[each] = new
        self._earlier[new] = earlier

    def forget(self, newest: int) -> None:
        """A chain is at its end."""
        for each in self._earlier.pop(newest, ()):
            self._newest.pop(each, None)
