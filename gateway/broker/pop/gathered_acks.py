"""Acknowledgements of one turn: those of messages popped together are stored as one record.

Push consumers acknowledge each message by itself, many in one read. Storing each separately costs more than
everything else that a popped message needs: a record with a timer, its unit, its index entry, its slot in the
wheel, and all of it again when the timer is due. So within a turn acknowledgements are only noted. At its
end, before any answer is written, one acknowledgement is stored for each checkpoint, in RocketMQ's form for
batches. No acknowledgement is answered before it is stored. RocketMQ: `BatchAckMsg`, and
`PopBufferMergeService`, which keeps acknowledgements in memory for seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.pop import Ack, PointKey
from mqgateway.engine.store.message_store import PutResult
from mqgateway.gateway.runtime.outcomes import then

Store = Callable[[Sequence[Ack], int, int], "PutResult | Deferred[PutResult]"]
Place = tuple[PointKey, int, int]
"""A checkpoint, its revive queue, and when its messages are visible again (ms)."""


class _Point:
    """Acknowledged offsets of a checkpoint, and the requests that wait for their storage."""

    __slots__ = ("offsets", "waiting")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.waiting: list[Deferred[PutResult]] = []


class GatheredAcks:
    """Acknowledgements noted within a turn, in `points`.

    `store` stores acknowledgements of one checkpoint. `is_turn` returns True if `settle` will be called
    before answers are written.
    """

    def __init__(self, store: Store, is_turn: Callable[[], bool]) -> None:
        self._store = store
        self.points: dict[Place, _Point] = {}
        self.is_turn = is_turn

    def add(self, point: PointKey, offset: int, queue_id: int, revive_time: int) -> Deferred[PutResult]:
        """Note a consumed message; return a Deferred of the result of its storage."""
        place = point, queue_id, revive_time
        gathered = self.points.get(place)
        if gathered is None:
            gathered = self.points[place] = _Point()
        waiting: Deferred[PutResult] = Deferred()
        gathered.offsets.append(offset)
        gathered.waiting.append(waiting)
        return waiting

    def settle(self) -> None:
        """Store the noted acknowledgements, and resolve their Deferreds."""
        points, self.points = self.points, {}
        for (point, queue_id, revive_time), gathered in points.items():
            acks = Ack.of_all(point, gathered.offsets, is_batch=len(gathered.offsets) > 1)
            try:
                stored = self._store(acks, queue_id, revive_time)
            except Exception as error:  # any error: no request may wait for ever
                for waiting in gathered.waiting:
                    waiting.errback(error)
                continue
            answer = partial(_answer_all, gathered.waiting)
            then(stored, answer, answer)


def _answer_all(waiting: list[Deferred[PutResult]], result: PutResult | Failure) -> None:
    for one in waiting:
        one.callback(result)
