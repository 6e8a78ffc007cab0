"""Cooperative tasks for long requests: one slice per turn of the event loop.

So other requests do not wait. Requests of one code form a lane, as do operations of one name. A lane is
processed in order of arrival; lanes take turns. A step takes a fraction of a millisecond (`engine.steps`), a
slice has `SLICE_STEPS` of them.
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
from mqgateway.gateway.runtime.outcomes import resolve

log = logging.getLogger(__name__)

T = TypeVar("T")
Lane = int | str

SLICE_STEPS = 16
"""Steps that are run before other lanes get a turn."""

Answer = Any
"""Result of the steps: a request's encoded answer, a Deferred of it, or None."""


class Work:
    """Request in progress. `done` is called with the answer, unless the work is dropped before."""

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
        self._lanes: dict[Lane, deque[Work]] = {}  # the first lane is next
        self._call: Timer | None = None

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def add(self, lane: Lane, steps: Steps[Answer], done: Callable[[Answer], None]) -> Work:
        """Queue steps in a lane and call `done` with their result."""
        work = Work(lane, steps, done)
        self._lanes.setdefault(lane, deque()).append(work)
        self._continue()
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
            if isinstance(result, Exception):
                outcome.errback(result)
            else:
                resolve(outcome, result)

        self.add(lane, caught(), done)
        return outcome

    def drop(self, work: Work) -> None:
        """Drop the work of a disconnected peer; the first of a lane is completed all the same."""
        lane = self._lanes.get(work.lane)
        if lane and work in lane and lane[0] is not work:
            lane.remove(work)
            work.steps.close()

    def _continue(self) -> None:
        if self._call is None and self._lanes:
            self._call = self._reactor.callLater(0, self._turn)

    def _turn(self) -> None:
        """Run a slice within a turn, as reads are: what was put is dispatched, then answers are written."""
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
            self._lanes[number] = lane  # at the end
        self._continue()
        if finished:
            work.done(answer)


def _slice(steps: Steps[Answer]) -> tuple[bool, Answer]:
    """Run a slice and return whether it finished the work, and the result."""
    try:
        for _ in range(SLICE_STEPS):
            next(steps)
    except StopIteration as end:
        return True, end.value
    except Exception:
        log.exception("a long-running request failed")
        return True, None
    return False, None
