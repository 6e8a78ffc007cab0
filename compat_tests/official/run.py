"""The official tests against one kind of server, in parallel lanes; failed tests are retried in another."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests.official.classes import GROUPS, LONG
from compat_tests.official.lane import Lane, prepare
from compat_tests.official.results import FAILED, WHOLE_CLASS, Outcomes, Results, better
from compat_tests.support.runtime import Runtime

TRIES = 3
"""Maximum tries of a method, which passes if one try passes: Apache's server needs them on a busy machine."""


@dataclass
class Work:
    """Classes to run in one JVM, each with its wanted methods (empty: all)."""

    classes: list[tuple[str, list[str]]]
    tries: int = 1
    lanes: set[int] = field(default_factory=set)
    """Lanes that have tried it: some tests need names that are not used yet."""


class OfficialRun:
    """A run; the caller waits for each class."""

    def __init__(
        self, kind: str, runtime: Runtime, folder: Path, lanes: int, names: Iterable[str] | None = None
    ) -> None:
        self.results = Results(kind, time.strftime("%Y-%m-%d", time.gmtime()), {})
        chosen = None if names is None else set(names)
        self._settled: dict[str, Future[Outcomes]] = {}
        self._work: list[Work] = []
        for package, classes in GROUPS.items():
            wanted = [f"{package}.{name}" for name in classes]
            wanted = [name for name in wanted if chosen is None or name in chosen]
            self._settled |= {name: Future() for name in wanted}
            for share in (
                [name for name in wanted if name in LONG],
                [name for name in wanted if name not in LONG],
            ):
                if share:
                    self._work.append(Work([(name, []) for name in share]))
        self._lanes = [Lane(kind, runtime, folder / f"lane-{number}") for number in range(lanes)]
        self._changed = threading.Condition()
        self._open = len(self._settled)
        self._is_closed = False
        self._threads = ThreadPoolExecutor(lanes, "official")

    def start(self) -> OfficialRun:
        """Start all lanes; return this run."""
        prepare()
        for number in range(len(self._lanes)):
            self._threads.submit(self._serve, number)
        return self

    def outcomes(self, name: str, timeout: float) -> Outcomes:
        """Wait for the last try of a class; return its outcomes."""
        return self._settled[name].result(timeout)

    def close(self) -> None:
        """End all lanes."""
        with self._changed:
            self._is_closed = True
            self._work.clear()
            self._changed.notify_all()
        for lane in self._lanes:
            lane.close()
        self._threads.shutdown()

    def _serve(self, number: int) -> None:
        lane = self._lanes[number]
        try:
            lane.start()
            while (work := self._next(number)) is not None:
                for name, wanted in work.classes:
                    if self._is_closed:
                        return
                    self._note(name, lane.run(name, wanted), work, number)
                lane.rest()
        except BaseException as failure:
            for waiting in self._settled.values():
                if not waiting.done():
                    waiting.set_exception(failure)
            raise
        finally:
            lane.close()

    def _next(self, number: int) -> Work | None:
        """Return the next work of this lane, or None. Wait while other lanes may still add work for it."""
        with self._changed:
            while self._open and not self._is_closed:
                for work in self._work:
                    if number not in work.lanes or len(work.lanes) == len(self._lanes):
                        self._work.remove(work)
                        return work
                self._changed.wait(1)
            return None

    def _note(self, name: str, outcomes: Outcomes, work: Work, number: int) -> None:
        with self._changed:
            kept = self.results.classes.setdefault(name, {})
            for method, outcome in outcomes.items():
                kept[method] = better(kept.get(method), outcome)
            failed = [method for method, outcome in kept.items() if outcome.result == FAILED]
            if self._is_closed:
                return  # the outcomes are those of a stopped JVM
            if failed and work.tries < TRIES:
                if WHOLE_CLASS in failed:
                    kept.pop(WHOLE_CLASS)
                    failed = []
                self._work.append(Work([(name, failed)], work.tries + 1, work.lanes | {number}))
            else:
                self._open -= 1
                self._settled[name].set_result(kept)
            self._changed.notify_all()
