"""Live brokers: by the newest connection and the monotonic clock."""

from __future__ import annotations

import pytest

from mqgateway.engine.controller import liveness
from mqgateway.engine.controller.liveness import Liveness, ReplicaHeartbeat, TooManyBrokers
from tests.support.engine.controller.sets import key

OLD, NEW = "old connection", "new connection"


def heard(*heartbeats: tuple[int, object, int], most: int = 10) -> Liveness:
    """Return the state after heartbeats of brokers on connections at times."""
    made = Liveness()
    for number, peer, now in heartbeats:
        made.hear(key(number), ReplicaHeartbeat(), peer, now, most)
    return made


def test_a_broker_is_there_for_as_long_as_it_said() -> None:
    made = heard((1, OLD, 100))
    made.hear(key(2), ReplicaHeartbeat(timeout=50), OLD, 100, 10)
    assert made.is_alive(key(1), 10_100) and not made.is_alive(key(1), 10_101)
    assert made.is_alive(key(2), 150) and not made.is_alive(key(2), 151)
    assert not made.is_alive(key(3), 0)


def test_the_end_of_its_connection_takes_a_broker_away() -> None:
    made = heard((1, OLD, 0), (2, NEW, 0))
    assert made.lost(OLD) == [key(1)]
    assert list(made) == [key(2)]
    assert made.lost(OLD) == []


def test_late_end_of_an_old_connection_removes_no_replica() -> None:
    """In RocketMQ this elects another master while the old one does its work."""
    made = heard((1, OLD, 0), (1, NEW, 1))
    assert made.lost(OLD) == []
    assert made.is_alive(key(1), 1)
    assert made.lost(NEW) == [key(1)]


def test_all_brokers_of_a_connection_go_with_it() -> None:
    made = heard((1, OLD, 0), (2, OLD, 0))
    assert made.lost(OLD) == [key(1), key(2)]
    assert len(made) == 0


def test_the_silent_are_given_up_with_their_connections() -> None:
    made = heard((1, OLD, 0), (2, NEW, 5000))
    assert made.expire(10_000) == []
    assert made.expire(10_001) == [(key(1), OLD)]
    assert made.lost(OLD) == []
    assert list(made) == [key(2)]


def test_when_the_next_may_be_silent_too_long_is_known() -> None:
    assert Liveness().next_end() is None
    assert heard((1, OLD, 7), (2, OLD, 5)).next_end() == 10_005


def test_last_heartbeat_counts_even_with_smaller_offset() -> None:
    """Its log may have been truncated."""
    made = Liveness()
    made.hear(key(1), ReplicaHeartbeat(epoch=2, max_offset=900), OLD, 0, 10)
    made.hear(key(1), ReplicaHeartbeat(epoch=2, max_offset=500), OLD, 1, 10)
    assert made.said(key(1)).max_offset == 500
    assert made.said(key(2)) == ReplicaHeartbeat()


def test_expected_broker_is_live_until_timeout() -> None:
    made = heard((1, OLD, 0))
    made.expect([key(1), key(2)], 3)
    assert made.is_alive(key(2), 10_003) and not made.is_alive(key(2), 10_004)
    assert made.lost(OLD) == [key(1)]
    assert made.expire(10_004) == [(key(2), None)]


def test_an_expected_one_is_bound_to_the_connection_it_comes_on() -> None:
    made = Liveness()
    made.expect([key(2)], 0)
    made.hear(key(2), ReplicaHeartbeat(), NEW, 1, 10)
    assert made.lost(NEW) == [key(2)]


def test_broker_with_ended_connection_is_not_expected() -> None:
    made = heard((1, OLD, 0), (2, NEW, 0))
    made.lost(OLD)
    made.lost(NEW)
    made.hear(key(2), ReplicaHeartbeat(), NEW, 1, 10)
    made.expire(20_000)
    made.expect([key(1), key(2)], 20_000)
    assert not made.is_alive(key(1), 20_000) and made.is_alive(key(2), 20_000)


def test_of_so_many_is_kept_that_they_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "ENDED_MAX", 1)
    made = heard((1, OLD, 0), (2, OLD, 0))
    made.lost(OLD)
    made.expect([key(1), key(2)], 1)
    assert list(made) == [key(1)]


def test_time_without_input_does_not_count() -> None:
    made = heard((1, OLD, 0), (2, NEW, 15_000))
    made.move_on(15_000, 16_000)
    assert made.is_alive(key(1), 25_000) and not made.is_alive(key(1), 25_001)
    assert made.is_alive(key(2), 26_000) and not made.is_alive(key(2), 26_001)


def test_there_are_no_more_than_are_allowed() -> None:
    made = heard((1, OLD, 0), most=1)
    with pytest.raises(TooManyBrokers, match="maxBrokers"):
        made.hear(key(2), ReplicaHeartbeat(), OLD, 0, 1)
    made.hear(key(1), ReplicaHeartbeat(), NEW, 0, 1)
