"""Fetches that wait at share partitions."""

from __future__ import annotations

from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.share_partitions.waiters import ShareWaiter, ShareWaiters

ONE, TWO = (ShareKey("g", b"t" * 16, number) for number in (1, 2))


def always(key: ShareKey) -> bool:
    """Every change is news."""
    return True


def test_a_waiter_is_woken_once_by_a_change_or_by_time() -> None:
    waiters = ShareWaiters()
    woken: list[tuple[str, bool]] = []
    for name, keys, deadline in (("a", (ONE, TWO), 100), ("b", (TWO,), 50), ("c", (), 70)):
        waiter = ShareWaiter(keys, always, lambda is_late, name=name: woken.append((name, is_late)))
        waiters.hold(waiter, deadline)
    waiters.wake(ONE)
    waiters.wake(ONE)
    assert (woken, len(waiters)) == ([("a", False)], 2)
    waiters.run(49)
    waiters.run(70)
    assert woken[1:] == [("b", True), ("c", True)]
    waiters.wake(TWO)
    waiters.run(1000)
    assert (len(woken), len(waiters)) == (3, 0)


def test_closing_wakes_all_waiters_and_later_ones_at_once() -> None:
    waiters = ShareWaiters()
    woken: list[tuple[str, bool]] = []
    for name, keys in (("a", (ONE, TWO)), ("b", ())):
        waiters.hold(ShareWaiter(keys, always, lambda is_late, name=name: woken.append((name, is_late))), 100)
    waiters.close()
    assert (woken, len(waiters)) == ([("a", True), ("b", True)], 0)
    waiters.hold(ShareWaiter((ONE,), always, lambda is_late: woken.append(("c", is_late))), 100)
    assert (woken[2:], len(waiters)) == ([("c", True)], 0)


def test_a_forgotten_waiter_is_not_woken() -> None:
    waiters = ShareWaiters()
    woken: list[bool] = []
    waiter = ShareWaiter((ONE,), always, woken.append)
    waiters.hold(waiter, 10)
    waiters.forget(waiter)
    waiters.forget(waiter)
    waiters.wake(ONE)
    waiters.run(10)
    assert woken == []


def test_a_waiter_that_another_forgets_meanwhile_is_not_woken() -> None:
    waiters = ShareWaiters()
    woken: list[str] = []
    second = ShareWaiter((ONE,), always, lambda _: woken.append("second"))

    def first(is_late: bool) -> None:
        woken.append("first")
        waiters.forget(second)

    waiters.hold(ShareWaiter((ONE,), always, first), 10)
    waiters.hold(second, 10)
    waiters.wake(ONE)
    assert woken == ["first"]


def test_a_waiter_is_not_woken_by_changes_that_it_does_not_wait_for() -> None:
    waiters = ShareWaiters()
    woken: list[bool] = []
    waiters.hold(ShareWaiter((ONE, TWO), TWO.__eq__, woken.append), 10)
    waiters.wake(ONE)
    assert woken == []
    waiters.wake(TWO)
    assert woken == [False]
