"""One queue of checkpoints and acknowledgements: when unacknowledged messages are visible again.

Messages of the queue are read in order (`take`). A checkpoint is kept until it is due and everything that
could acknowledge it has been read. Then `ripe` returns it, in the order of the queue, and after `done` the
queue need not be read before it any more. Time is passed in. RocketMQ: `PopReviveService`.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.pop.records import ACK_INTERVAL, Ack, CheckPoint, PointKey

GRACE_MILLIS = 1000
"""Additional time for which a checkpoint waits for acknowledgements."""


class OpenPoint:
    """A checkpoint at a queue offset, and its acknowledged messages."""

    __slots__ = ("acknowledged", "offset", "point")

    def __init__(self, point: CheckPoint, offset: int, acknowledged: Iterable[int]) -> None:
        self.point = point
        self.offset = offset
        self.acknowledged = set(acknowledged)

    @property
    def missing(self) -> list[int]:
        """Queue offsets of the messages that were not acknowledged."""
        return [offset for offset in self.point.offsets if offset not in self.acknowledged]


class ReviveQueue:
    """Pending entries of the queue.

    `progress` is the last offset up to which all is done; `cursor` the next one to read. `precision` is a
    step of the timers in ms.
    """

    def __init__(self, progress: int, precision: int) -> None:
        self.progress = progress
        self.cursor = progress + 1
        self._grace = GRACE_MILLIS + max(ACK_INTERVAL, precision)
        self._open: dict[PointKey, OpenPoint] = {}
        # Acknowledgements that came before their checkpoints, with their queue offset and due time.
        self._early: dict[PointKey, tuple[int, int, set[int]]] = {}
        self._newest = 0

    def __len__(self) -> int:
        return len(self._open)

    def take(self, what: CheckPoint | Ack | None, due: int) -> None:
        """Process the message at the cursor, which was due at a time (ms); None for an invalid one."""
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
        """Return the next due checkpoint; None if there is none.

        `delivered_until` is the time (ms) up to which all timers were delivered, `is_whole` is True if the
        queue was read to its end since.
        """
        until = delivered_until if is_whole else min(delivered_until, self._newest)
        self._drop_early(until)
        first = next(iter(self._open.values()), None)
        if first is None or first.point.revive_time + self._grace >= until:
            return None
        return first

    def done(self, point: OpenPoint) -> None:
        """Remove a checkpoint that is done."""
        del self._open[point.point.key]
        self._move_on()

    def _drop_early(self, until: int) -> None:
        """Drop acknowledgements whose checkpoints are long overdue."""
        late = [key for key, (_, due, _) in self._early.items() if due + self._grace < until]
        for key in late:
            del self._early[key]
        if late:
            self._move_on()

    def _move_on(self) -> None:
        starts = [each.offset for each in self._open.values()][:1]
        starts += [offset for offset, _, _ in self._early.values()][:1]
        self.progress = min(starts, default=self.cursor) - 1
