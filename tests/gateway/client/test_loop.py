"""The thread that clients run in. It is a real one; no test here waits for more than a switch of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from twisted.internet.defer import Deferred, execute, fail, succeed

from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.loop import CHUNKS, TOGETHER, Loop


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    loop = Loop()
    loop.start()
    yield loop
    loop.stop()


def test_calls_are_made_in_the_loops_thread_and_waited_for(loop: Loop) -> None:
    assert loop.do(threading.current_thread) is loop._thread
    assert loop.call(lambda number: succeed(number + 1), 41) == 42


def test_failures_come_back(loop: Loop) -> None:
    with pytest.raises(ZeroDivisionError):
        loop.do(lambda: 1 // 0)
    with pytest.raises(ClientError, match="as asked"):
        loop.call(lambda: fail(ClientError("as asked")))


def test_futures_are_not_waited_for(loop: Loop) -> None:
    later: Deferred[int] = Deferred()
    future = loop.submit(lambda: later)
    assert not future.done()
    loop.do(later.callback, 7)
    assert future.result(5) == 7


def test_a_future_may_be_cancelled(loop: Loop) -> None:
    for outcome in (7, ClientError("nobody listens")):
        later: Deferred[object] = Deferred()
        future = loop.submit(lambda later=later: later)  # type: ignore[misc]
        loop.do(int)
        assert future.cancel()
        finish = later.errback if isinstance(outcome, Exception) else later.callback
        loop.do(finish, outcome)
        assert future.cancelled()


def test_a_blocking_call_from_the_loop_itself_is_refused(loop: Loop) -> None:
    with pytest.raises(RuntimeError, match="never end"):
        loop.do(lambda: loop.do(int))


def test_blocking_work_runs_in_threads_of_a_pool(loop: Loop) -> None:
    pool = loop.pool(2, "test")
    here = pool.wrap(threading.current_thread)
    thread = loop.call(here)
    assert thread is not loop._thread and thread.daemon
    with pytest.raises(ZeroDivisionError):
        loop.call(pool.wrap(lambda: 1 // 0))
    pool.stop()
    pool.stop()


def test_loop_is_woken_once_for_calls_passed_together() -> None:
    woken: list[Callable[[], None]] = []

    class Reactor:
        def callFromThread(self, work: Callable[[], None]) -> None:
            woken.append(work)

    loop = Loop()
    loop.reactor = Reactor()  # type: ignore[assignment]
    done: list[int] = []
    loop.post(lambda: done.append(1))
    loop.post(lambda: loop.post(lambda: done.append(3)))
    loop.post(lambda: done.append(2))
    assert len(woken) == 1
    woken[0]()
    assert done == [1, 2] and len(woken) == 2
    woken[1]()
    assert done == [1, 2, 3]


@pytest.mark.parametrize(("count", "together"), [(3, 1), (17, 4), (CHUNKS * TOGETHER + 1, TOGETHER)])
def test_work_of_a_read_runs_at_its_end_in_slices_without_waking(
    loop: Loop, count: int, together: int
) -> None:
    order: list[str] = []
    ended = threading.Event()

    def read() -> None:
        assert loop.turn.begin()
        for number in range(count):
            loop.post(partial(sent, number))
        assert not loop._is_woken and not order
        loop.turn.end()
        ended.set()

    def sent(number: int) -> None:
        order.append(str(number))
        assert loop.turn.add(speaker)

    class Speaker:
        def flush(self) -> None:
            order.append("write")

    speaker = Speaker()
    loop.do(int)
    done = loop.submit(lambda: execute(lambda: loop.reactor.callLater(0, read)))  # type: ignore[attr-defined]
    done.result(5)
    assert ended.wait(5)
    wanted: list[str] = []
    for begin in range(0, count, together):
        chunk = range(begin, min(begin + together, count))
        wanted += [*map(str, chunk), *["write"] * len(chunk)]
    assert order == wanted


def test_failure_in_the_loop_delays_no_other_call(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    loop.post(lambda: 1 // 0)
    assert loop.do(lambda: 7) == 7
    assert "ZeroDivisionError" in caplog.text


def test_a_pool_has_so_many_threads_and_no_work_is_lost_when_it_ends(loop: Loop) -> None:
    pool = loop.pool(2, "test")
    release = threading.Event()
    begun: list[threading.Thread] = []

    def work(number: int) -> int:
        begun.append(threading.current_thread())
        release.wait(5)
        return number

    outcomes = [loop.submit(pool.wrap(work), number) for number in range(5)]
    loop.do(int)
    release.set()
    pool.stop()
    assert [outcome.result(5) for outcome in outcomes] == list(range(5))
    assert len(set(begun)) == 2
    late = loop.submit(pool.wrap(work), 6)
    loop.do(int)
    assert not late.done() and len(begun) == 5


def test_a_pool_may_be_ended_by_its_own_work(loop: Loop) -> None:
    pool = loop.pool(1, "test")
    assert loop.call(pool.wrap(pool.stop)) is None


def test_one_loop_is_shared_and_a_child_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "_shared", None)
    first = Loop.shared()
    assert Loop.shared() is first and first._thread.daemon
    first._pid += 1  # as it looks after a fork
    second = Loop.shared()
    assert second is not first
    for each in (first, second):
        each.stop()
