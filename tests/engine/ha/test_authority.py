"""Lease of a master."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.ha.authority import Authority

TIMEOUT = 10_000


def test_the_controllers_word_counts_from_the_question_on() -> None:
    authority = Authority(TIMEOUT, 0)
    assert not authority.holds(0, [None])
    authority.heard(1000, TIMEOUT)
    assert authority.holds(6999, [None])
    assert not authority.holds(7000, [None])
    authority.heard(500, TIMEOUT)
    assert authority.holds(6999, [None])


def test_recent_data_of_all_replicas_in_sync_replaces_the_lease() -> None:
    authority = Authority(TIMEOUT, 0)
    assert authority.holds(20_000, [])
    assert authority.holds(20_000, [15_000, 19_000])
    assert not authority.holds(21_000, [15_000, 19_000])
    assert not authority.holds(16_000, [15_000, None])


def test_a_shorter_time_counts_when_it_is_sent() -> None:
    """The controller may have received it, whether it answers or not."""
    authority = Authority(TIMEOUT, 0)
    authority.heard(1000, TIMEOUT)
    authority.asks(2500, 2000)
    assert authority.holds(3499, [None])
    assert not authority.holds(3500, [None])
    assert not authority.holds(3500, [2000])


def test_a_longer_time_counts_when_it_is_answered() -> None:
    authority = Authority(2500, 0)
    authority.asks(2500, 1000)
    authority.asks(TIMEOUT, 1400)
    assert not authority.holds(2500, [None])
    authority.heard(1000, 2500)
    assert not authority.holds(2500, [None])
    authority.heard(1400, TIMEOUT)
    assert authority.holds(7399, [None])
    assert authority.holds(12_000, [6001])


def test_a_longer_time_from_before_a_shorter_one_does_not_count() -> None:
    authority = Authority(2500, 0)
    authority.asks(TIMEOUT, 1000)
    authority.asks(2500, 1400)
    authority.heard(1000, TIMEOUT)
    assert not authority.holds(2900, [None])


def test_pause_is_reported_once() -> None:
    authority = Authority(TIMEOUT, 0)
    assert not authority.was_away(3000)
    assert authority.was_away(6001)
    assert not authority.was_away(6002)


def test_without_a_lease_it_is_the_standards_master() -> None:
    authority = Authority(TIMEOUT, 0, is_endless=True)
    assert authority.holds(10**9, [None])
    assert not authority.was_away(10**9)


@given(st.integers(1000, 10**6), st.integers(0, 10**6))
def test_a_gap_and_the_lease_end_before_the_controllers_patience(timeout: int, asked: int) -> None:
    """Data read right after the longest unnoticed gap was sent that much earlier."""
    authority = Authority(timeout, 0)
    authority.heard(asked, timeout)
    assert not authority.holds(asked + timeout - authority.gap, [None])
    assert authority.lease + authority.gap < timeout
