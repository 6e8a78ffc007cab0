"""Acknowledgements of one turn: those of messages that were popped together are stored as one.

Push consumers acknowledge each message by itself, many in one read. To store each costs more than all else
that is done for a popped message: a record with a timer, its unit, its index entry, its place in the wheel,
all of it once more when its time has come. So within a turn they are only noted; at its end, before any
answer is written, there is one acknowledgement for each check point, spelled as the standard spells many at
once. Nothing is answered before it is stored. Standard: `BatchAckMsg`, and `PopBufferMergeService`, which
keeps acknowledgements in memory for seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.pop import Ack, PointKey
from mqgateway.engine.store.message_store import PutResult

Store = Callable[[Sequence[Ack], int, int], "PutResult | Deferred[PutResult]"]
Place = tuple[PointKey, int, int]
"""A check point, its revive queue, and when its messages are visible again (ms)."""


class _Point:
    """What was acknowledged of a check point, and who waits for that."""

    __slots__ = ("offsets", "waiting")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.waiting: list[Deferred[PutResult]] = []


class GatheredAcks:
    """`store` stores acknowledgements of one check point; `is_turn` says whether `settle` will be called
    before answers are written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._points: dict[Place, _Point] = {}
        self.is_turn: Callable[[], bool] = lambda: False

    def add(self, point: PointKey, offset: int, queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Note a message that was consumed; fires with what became of it."""
        place = point, queue_id, revive_time
        gathered = self._points.get(place)
        if gathered is None:
            gathered = self._points[place] = _Point()
        waiting: Deferred[PutResult] = Deferred()
        gathered.offsets.append(offset)
        gathered.waiting.append(waiting)
        return waiting

    def settle(self) -> None:
        """Store what was noted, and tell who waits."""
        if not self._points:
            return
        points, self._points = self._points, {}
        for (point, queue_id, revive_time), gathered in points.items():
            acks = Ack.of_all(point, gathered.offsets, is_batch=len(gathered.offsets) > 1)
            try:
                stored = self._store(acks, queue_id, revive_time)
            except Exception as error:  # whatever it is: nobody may wait for ever
                for waiting in gathered.waiting:
                    waiting.errback(error)
                continue
            if isinstance(stored, Deferred):
                stored.addBoth(partial(_tell, gathered.waiting))
            else:
                _tell(gathered.waiting, stored)


def _tell(waiting: list[Deferred[PutResult]], result: PutResult | Failure) -> None:
    for one in waiting:
        one.callback(result)
