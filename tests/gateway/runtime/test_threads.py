"""The thread worker keeps the contract of `engine.worker.Worker` on real threads."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mqgateway.gateway.runtime.threads import ThreadWorker


class Loop:
    """A reactor's thread, run by the test: calls from other threads wait in a queue."""

    def __init__(self) -> None:
        self.calls: queue.Queue[tuple[Callable[..., Any], tuple[Any, ...]]] = queue.Queue()

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any) -> None:
        self.calls.put((callable, args))

    def perform(self) -> None:
        """Wait for one call and make it."""
        callable, args = self.calls.get(timeout=10)
        callable(*args)


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def worker(loop: Loop) -> Iterator[ThreadWorker]:
    worker = ThreadWorker(loop)
    yield worker
    worker.stop()


def test_work_runs_on_a_thread_and_its_result_arrives_on_the_loop(loop: Loop, worker: ThreadWorker) -> None:
    here = threading.get_ident()
    notified: list[object] = []
    worker.run(threading.get_ident, lambda there: notified.extend((there, threading.get_ident())))
    loop.perform()
    assert notified[1] == here
    assert notified[0] != here


def test_an_exception_is_an_outcome(loop: Loop, worker: ThreadWorker) -> None:
    error = OSError(5, "disk")

    def fail() -> None:
        raise error

    notified: list[object] = []
    worker.run(fail, notified.append)
    loop.perform()
    assert notified == [error]


def test_work_is_done_in_the_order_given(loop: Loop, worker: ThreadWorker) -> None:
    notified: list[object] = []
    for number in range(50):
        worker.run(lambda number=number: number, notified.append)  # type: ignore[misc]
    for _ in range(50):
        loop.perform()
    assert notified == list(range(50))


def test_stop_finishes_pending_work(loop: Loop) -> None:
    worker = ThreadWorker(loop)
    notified: list[object] = []
    for number in range(5):
        worker.run(lambda number=number: number, notified.append)  # type: ignore[misc]
    worker.stop()
    for _ in range(5):
        loop.perform()
    assert notified == list(range(5))


def test_work_after_the_stop_is_not_run(loop: Loop) -> None:
    worker = ThreadWorker(loop)
    worker.run(lambda: 1, print)
    worker.stop()
    worker.run(lambda: 2, print)
    worker.stop()
    assert loop.calls.qsize() == 1


def test_as_many_work_at_once_as_there_are_threads(loop: Loop) -> None:
    worker = ThreadWorker(loop, threads=3)
    together = threading.Barrier(3)
    notified: list[object] = []
    for _ in range(3):
        worker.run(lambda: together.wait(10) >= 0, notified.append)
    for _ in range(3):
        loop.perform()
    worker.stop()
    assert notified == [True] * 3


def test_settles_after_all_work_and_work_that_follows_it(loop: Loop, worker: ThreadWorker) -> None:
    notes: list[str] = []
    settled = worker.settle()
    assert settled.called, "it has no work"
    worker.run(lambda: None, lambda _: worker.run(lambda: None, lambda _: notes.append("again")))
    worker.settle().addCallback(lambda _: notes.append("settled"))
    while "settled" not in notes:
        loop.perform()
    assert notes == ["again", "settled"]
