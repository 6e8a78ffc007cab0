"""Requests that take long, done in steps: a slice with each turn of the loop, so that nobody else waits.

Requests of one code are one lane, as are operations of one name: they are done one after another, in the
order they came; lanes take turns. A step takes a fraction of a millisecond (`engine.steps`), a slice
`SLICE_STEPS` of them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import Steps
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Clockwork, Timer

log = logging.getLogger(__name__)

T = TypeVar("T")
Lane = int | str

SLICE_STEPS = 16
"""Steps that are done before others have their turn."""

Answer = Any
"""What the steps return: a request's answer, encoded, a Deferred of it, or None."""


class Work:
    """One request on its way. `done` is called with the answer, unless it is dropped before."""

    __slots__ = ("done", "lane", "steps")

    def __init__(self, lane: Lane, steps: Steps[Answer], done: Callable[[Answer], None]) -> None:
        self.lane = lane
        self.steps = steps
        self.done = done


class LongWork:
    """All long requests of one server."""

    def __init__(self, reactor: Clockwork, turn: Turn | None = None) -> None:
        self._reactor = reactor
        self._shared = Turn() if turn is None else turn
        self._lanes: dict[Lane, deque[Work]] = {}  # the first lane has its turn next
        self._call: Timer | None = None

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def add(self, lane: Lane, steps: Steps[Answer], done: Callable[[Answer], None]) -> Work:
        """Do the steps when it is their turn, and call `done` with what they return."""
        work = Work(lane, steps, done)
        self._lanes.setdefault(lane, deque()).append(work)
        self._go_on()
        return work

    def run(self, lane: str, steps: Steps[T | Deferred[T]]) -> Deferred[T]:
        """Run a cooperative task and return its outcome; fails with the exception that the task raises."""
        outcome: Deferred[T] = Deferred()

        def caught() -> Steps[T | Deferred[T] | Exception]:
            try:
                return (yield from steps)
            except Exception as error:
                return error

        def done(result: T | Deferred[T] | Exception) -> None:
            if isinstance(result, Deferred):
                result.chainDeferred(outcome)
            elif isinstance(result, Exception):
                outcome.errback(result)
            else:
                outcome.callback(result)

        self.add(lane, caught(), done)
        return outcome

    def drop(self, work: Work) -> None:
        """Forget a request whose asker is gone; what is the first of its lane is done all the same."""
        lane = self._lanes.get(work.lane)
        if lane and work in lane and lane[0] is not work:
            lane.remove(work)
            work.steps.close()

    def _go_on(self) -> None:
        if self._call is None and self._lanes:
            self._call = self._reactor.callLater(0, self._turn)

    def _turn(self) -> None:
        """A slice is a turn like those of reads: what was put in it is dispatched, then answers go out."""
        self._call = None
        ours = self._shared.begin()
        try:
            self._next()
        finally:
            if ours:
                self._shared.end()

    def _next(self) -> None:
        number = next(iter(self._lanes))
        lane = self._lanes.pop(number)
        work = lane[0]
        finished, answer = _slice(work.steps)
        if finished:
            lane.popleft()
        if lane:
            self._lanes[number] = lane  # behind the others
        self._go_on()
        if finished:
            work.done(answer)


def _slice(steps: Steps[Answer]) -> tuple[bool, Answer]:
    """Go on for a slice: whether that was the end, and what came of it."""
    try:
        for _ in range(SLICE_STEPS):
            next(steps)
    except StopIteration as end:
        return True, end.value
    except Exception:
        log.exception("a long-running request failed")
        return True, None
    return False, None
