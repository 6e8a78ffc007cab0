"""Requests in flight: each waiter is notified exactly once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.command import RESPONSE_FLAG, RemotingCommand
from mqgateway.gateway.remoting.exchange import (
    OPAQUE_LIMIT,
    Exchange,
    PeerGone,
    RequestTimedOut,
    TooManyInFlight,
)


def reply(opaque: int) -> RemotingCommand:
    return RemotingCommand(0, opaque=opaque, flag=RESPONSE_FLAG)


def test_reply_reaches_its_waiter() -> None:
    exchange = Exchange(10, 10)
    first: list[object] = []
    second: list[object] = []
    one = exchange.open(0.0, 3.0, first.append)
    two = exchange.open(0.0, 3.0, second.append)
    answer = reply(two)
    assert exchange.settle(answer)
    assert (first, second) == ([], [answer])
    assert one != two
    assert exchange.waiting == 1


def test_unsolicited_reply_is_not_settled() -> None:
    exchange = Exchange(10, 10)
    assert not exchange.settle(reply(7))
    opaque = exchange.open(0.0, 3.0, lambda outcome: None)
    assert exchange.settle(reply(opaque))
    assert not exchange.settle(reply(opaque))


def test_waiter_expires_at_deadline() -> None:
    exchange = Exchange(10, 10)
    notified: list[object] = []
    exchange.open(100.0, 3.0, notified.append)
    exchange.open(100.0, 5.0, notified.append)
    assert exchange.next_deadline == 103.0
    exchange.expire(102.999)
    assert notified == []
    exchange.expire(103.0)
    assert [type(outcome) for outcome in notified] == [RequestTimedOut]
    assert "3 s" in str(notified[0])
    assert exchange.next_deadline == 105.0
    exchange.expire(105.0)
    assert len(notified) == 2
    assert exchange.next_deadline is None


def test_fail_all_fails_current_and_later_requests() -> None:
    exchange = Exchange(10, 10)
    notified: list[object] = []
    for _ in range(3):
        exchange.open(0.0, 3.0, notified.append)
    reason = PeerGone("gone")
    exchange.fail_all(reason)
    assert notified == [reason] * 3
    with pytest.raises(PeerGone):
        exchange.open(0.0, 3.0, notified.append)


def test_requests_in_flight_are_limited() -> None:
    exchange = Exchange(2, 10)
    opaque = exchange.open(0.0, 3.0, lambda outcome: None)
    exchange.open(0.0, 3.0, lambda outcome: None)
    with pytest.raises(TooManyInFlight):
        exchange.open(0.0, 3.0, lambda outcome: None)
    exchange.settle(reply(opaque))
    exchange.open(0.0, 3.0, lambda outcome: None)


def test_forgotten_request_is_not_notified() -> None:
    exchange = Exchange(2, 10)
    notified: list[object] = []
    opaque = exchange.open(0.0, 3.0, notified.append)
    exchange.forget(opaque)
    assert not exchange.settle(reply(opaque))
    exchange.expire(10.0)
    exchange.fail_all(PeerGone("gone"))
    assert notified == []


def test_opaque_wraps_and_skips_requests_in_flight() -> None:
    exchange = Exchange(10, 10)
    assert exchange.open(0.0, 3.0, lambda outcome: None) == 0
    exchange._next_opaque = OPAQUE_LIMIT - 1
    assert exchange.next_opaque() == OPAQUE_LIMIT - 1
    assert exchange.next_opaque() == 1


def test_opaque_wraps_if_largest_is_in_flight() -> None:
    exchange = Exchange(10, 10)
    exchange._next_opaque = OPAQUE_LIMIT - 1
    assert exchange.open(0.0, 3.0, lambda outcome: None) == OPAQUE_LIMIT - 1
    exchange._next_opaque = OPAQUE_LIMIT - 1
    assert exchange.next_opaque() == 0


def test_held_requests_count_until_released() -> None:
    exchange = Exchange(10, 2)
    exchange.hold()
    assert not exchange.is_full
    exchange.hold()
    assert exchange.is_full
    exchange.release()
    assert not exchange.is_full


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("open"), st.floats(0.1, 10.0)),
            st.tuples(st.just("settle"), st.integers(0, 30)),
            st.tuples(st.just("forget"), st.integers(0, 30)),
            st.tuples(st.just("pass"), st.floats(0.0, 5.0)),
        ),
        max_size=40,
    )
)
def test_each_waiter_is_notified_exactly_once(steps: list[tuple[str, float]]) -> None:
    """Every request is notified once, except those forgotten; at the end none waits."""
    exchange = Exchange(1000, 10)
    notified: dict[int, int] = {}
    forgotten: set[int] = set()
    now = 0.0
    for step, value in steps:
        if step == "open":
            number = len(notified)
            notified[number] = 0

            def done(outcome: object, number: int = number) -> None:
                notified[number] += 1

            assert exchange.open(now, value, done) == number
        elif step == "settle":
            exchange.settle(reply(int(value)))
        elif step == "forget":
            if notified.get(int(value)) == 0:
                forgotten.add(int(value))
            exchange.forget(int(value))
        else:
            now += value
            exchange.expire(now)
            deadline = exchange.next_deadline
            assert deadline is None or deadline > now
    exchange.fail_all(PeerGone("gone"))
    assert exchange.waiting == 0
    assert notified == {number: 0 if number in forgotten else 1 for number in notified}
