"""One queue of check points and acknowledgements: when what was not acknowledged is visible again.

Messages of the queue are taken in order (`take`). A check point is kept until its time has come and
everything that could acknowledge it has been read; then `ripe` gives it, in the order of the queue, and after
`done` the queue need not be read before it any more. Time is passed in. Standard: `PopReviveService`.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.pop.records import ACK_INTERVAL, Ack, CheckPoint, PointKey

GRACE_MILLIS = 1000
"""How much longer than needed a check point waits for acknowledgements."""


class OpenPoint:
    """A check point of the queue at an offset, and what was acknowledged of it."""

    __slots__ = ("acknowledged", "offset", "point")

    def __init__(self, point: CheckPoint, offset: int, acknowledged: Iterable[int]) -> None:
        self.point = point
        self.offset = offset
        self.acknowledged = set(acknowledged)

    @property
    def missing(self) -> list[int]:
        """Queue offsets of the messages that nobody acknowledged."""
        return [offset for offset in self.point.offsets if offset not in self.acknowledged]


class ReviveQueue:
    """What was read of the queue and is not done with.

    `progress` is the offset up to which, itself included, all is done with; `cursor` the next one to read.
    `precision` are the milliseconds of a step of the timers.
    """

    def __init__(self, progress: int, precision: int) -> None:
        self.progress = progress
        self.cursor = progress + 1
        self._grace = GRACE_MILLIS + max(ACK_INTERVAL, precision)
        self._open: dict[PointKey, OpenPoint] = {}
        # Acknowledgements that came before their check points, with where they lie and when they were due.
        self._early: dict[PointKey, tuple[int, int, set[int]]] = {}
        self._newest = 0

    def __len__(self) -> int:
        return len(self._open)

    def take(self, what: CheckPoint | Ack | None, due: int) -> None:
        """Read the message at the cursor, which was due at a time (ms); None for one that means nothing."""
        offset = self.cursor
        self.cursor += 1
        self._newest = max(self._newest, due)
        if isinstance(what, CheckPoint):
            early = self._early.pop(what.key, None)
            self._open[what.key] = OpenPoint(what, offset, early[2] if early else ())
        elif what is not None:
            found = self._open.get(what.key)
            if found is not None:
                found.acknowledged.update(what.offsets)
            else:
                self._early.setdefault(what.key, (offset, due, set()))[2].update(what.offsets)
        self._move_on()

    def ripe(self, delivered_until: int, is_whole: bool) -> OpenPoint | None:
        """The next check point whose time has come; None as long as there is none.

        `delivered_until` is up to when (ms) all timers were delivered, `is_whole` whether the queue was read
        to its end since.
        """
        until = delivered_until if is_whole else min(delivered_until, self._newest)
        self._drop_early(until)
        first = next(iter(self._open.values()), None)
        if first is None or first.point.revive_time + self._grace >= until:
            return None
        return first

    def done(self, point: OpenPoint) -> None:
        """Nothing is left to do with a check point."""
        del self._open[point.point.key]
        self._move_on()

    def _drop_early(self, until: int) -> None:
        """Give up acknowledgements whose check points should have come long ago."""
        late = [key for key, (_, due, _) in self._early.items() if due + self._grace < until]
        for key in late:
            del self._early[key]
        if late:
            self._move_on()

    def _move_on(self) -> None:
        starts = [each.offset for each in self._open.values()][:1]
        starts += [offset for offset, _, _ in self._early.values()][:1]
        self.progress = min(starts, default=self.cursor) - 1
