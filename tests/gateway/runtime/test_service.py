"""Services end what they began in one order, whether they are stopped, fail to start or cannot be made."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.runtime.service import Runtime, Service
from tests.support.gateway.remoting.pair import Net


class Loop(Net):
    """A reactor in memory; what threads call waits for `hear`."""

    def __init__(self) -> None:
        super().__init__()
        self.from_threads: queue.Queue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.Queue()

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any) -> None:
        self.from_threads.put((callable, args))

    def hear(self) -> None:
        callable, args = self.from_threads.get(timeout=10)
        callable(*args)


class Sample(Service):
    """A service with two ends of each kind, whose start does what the test gives it."""

    def __init__(
        self,
        notes: list[str],
        begin: Callable[[], object] = lambda: None,
        worker: Worker | None = None,
        ends: dict[str, Callable[[], object]] | None = None,
        is_broken: bool = False,
    ) -> None:
        super().__init__(Runtime(Loop(), ManualClock(), CrashDisk(), worker))
        self._notes = notes
        self._work = begin
        self._special = ends or {}
        with self._closed_on_failure():
            for name in ("lock", "file"):
                self._on_close(self._end_of(name))
            if is_broken:
                raise ValueError("broken")
        for name in ("port", "member"):
            self._on_stop(self._end_of(name))

    def _begin(self) -> object:
        self._notes.append("begin")
        self._schedule.every(1, 1, lambda: None)
        return self._work()

    def _end_of(self, name: str) -> Callable[[], object]:
        def end() -> object:
            self._notes.append(name)
            return self._special.get(name, lambda: None)()

        return end

    @property
    def loop(self) -> Loop:
        assert isinstance(self._runtime.reactor, Loop)
        return self._runtime.reactor

    @property
    def timers(self) -> int:
        return len(self.loop.getDelayedCalls())


def outcome(of: Deferred[None]) -> list[Any]:
    found: list[Any] = []
    of.addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found


def failing(error: Exception) -> Callable[[], object]:
    def fail() -> object:
        raise error

    return fail


def test_stop_runs_the_ends_from_the_last_to_the_first() -> None:
    notes: list[str] = []
    service = Sample(notes)
    assert outcome(service.start()) == [None]
    assert (service.timers, service.is_ending) == (1, False)
    assert outcome(service.stop()) == [None]
    assert notes == ["begin", "member", "port", "file", "lock"]
    assert (service.timers, service.is_ending) == (0, True)


def test_timers_and_threads_end_before_files_are_closed() -> None:
    threads = threading.active_count()
    counts: list[tuple[int, int]] = []

    def note() -> None:
        counts.append((service.timers, threading.active_count() - threads))

    service = Sample([], ends={"port": note, "file": note})
    service.start()
    service._worker.run(lambda: None, lambda _: None)
    stopped = outcome(service.stop())
    for _ in range(3):
        assert stopped == []
        service.loop.hear()
    assert stopped == [None]
    assert counts == [(1, 1), (0, 0)]


def test_files_are_closed_when_nothing_of_the_worker_is_left_to_do() -> None:
    """A result may lead to further work, as for a table that changed while it was written."""
    notes: list[str] = []
    service = Sample(notes)
    service.start()

    def work(name: str) -> None:
        service._worker.run(lambda: None, lambda _: notes.append(name))

    service._worker.run(lambda: None, lambda _: work("again"))
    stopped = outcome(service.stop())
    while not stopped:
        service.loop.hear()
    assert notes == ["begin", "member", "port", "again", "file", "lock"]


def test_a_worker_that_was_given_is_not_ended() -> None:
    worker = InlineWorker()
    service = Sample([], worker=worker)
    service.start()
    service.stop()
    assert service._worker is worker


def test_an_end_is_waited_for() -> None:
    left: Deferred[None] = Deferred()
    notes: list[str] = []
    service = Sample(notes, ends={"member": lambda: left})
    service.start()
    first, second = outcome(service.stop()), outcome(service.stop())
    assert (notes, first) == (["begin", "member"], [])
    left.callback(None)
    assert notes == ["begin", "member", "port", "file", "lock"]
    assert (first, second) == ([None], [None])
    assert outcome(service.stop()) == [None]
    assert len(notes) == 5


def test_an_end_that_fails_keeps_no_other_from_running(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[str] = []
    first, second = OSError("no farewell"), OSError("no space")
    service = Sample(notes, ends={"member": failing(first), "file": failing(second)})
    service.start()
    assert outcome(service.stop()) == [first]
    assert notes == ["begin", "member", "port", "file", "lock"]
    assert "no space" in caplog.text
    assert outcome(service.stop()) == [None]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_start_that_fails_ends_what_it_began_and_names_the_cause(is_late: bool) -> None:
    notes: list[str] = []
    cause, begun = OSError("port is taken"), Deferred[None]()
    service = Sample(notes, (lambda: begun) if is_late else failing(cause))
    started = outcome(service.start())
    if is_late:
        assert (started, notes) == ([], ["begin"])
        begun.errback(cause)
    assert started == [cause]
    assert notes == ["begin", "member", "port", "file", "lock"]
    assert service.timers == 0
    assert outcome(service.stop()) == [None]
    assert len(notes) == 5


def test_a_start_that_fails_names_its_cause_even_if_an_end_fails(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[str] = []
    cause = OSError("port is taken")
    service = Sample(notes, failing(cause), ends={"member": failing(OSError("no farewell"))})
    with caplog.at_level(logging.ERROR):
        assert outcome(service.start()) == [cause]
    assert "no farewell" in caplog.text
    assert notes[-1] == "lock"


def test_a_stop_meanwhile_ends_what_has_begun() -> None:
    notes: list[str] = []
    begun: Deferred[None] = Deferred()
    service = Sample(notes, lambda: begun)
    started, stopped = outcome(service.start()), outcome(service.stop())
    assert (started, stopped) == ([], [None])
    cause = RuntimeError("its processes have ended")
    begun.errback(cause)
    assert started == [cause]
    assert notes == ["begin", "member", "port", "file", "lock"]


def test_a_constructor_that_fails_closes_what_it_opened() -> None:
    notes: list[str] = []
    with pytest.raises(ValueError, match="broken"):
        Sample(notes, is_broken=True)
    assert notes == ["file", "lock"]


def test_a_service_that_never_started_stops() -> None:
    notes: list[str] = []
    assert outcome(Sample(notes).stop()) == [None]
    assert notes == ["member", "port", "file", "lock"]
