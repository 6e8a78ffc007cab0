"""Delays of refusals by address."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.throttling import (
    ADDRESSES_MAX,
    AT_ONCE,
    MILLIS_BETWEEN,
    WAIT_MAX_MILLIS,
    Throttle,
)


def test_refusal_delay_grows_after_first_ones() -> None:
    throttle = Throttle()
    assert [throttle.refused("10.0.0.1", 5) for _ in range(AT_ONCE)] == [0] * AT_ONCE
    waits = [throttle.refused("10.0.0.1", 5) for _ in range(WAIT_MAX_MILLIS // MILLIS_BETWEEN)]
    assert waits == [MILLIS_BETWEEN * (n + 1) for n in range(len(waits))]
    assert throttle.refused("10.0.0.1", 5) is None
    assert throttle.refused("10.0.0.1", 5 + MILLIS_BETWEEN) == WAIT_MAX_MILLIS
    assert throttle.refused("10.0.0.2", 5) == 0


def test_refusals_are_forgiven_with_time() -> None:
    throttle = Throttle()
    for _ in range(AT_ONCE):
        throttle.refused("10.0.0.1", 0)
    assert throttle.refused("10.0.0.1", AT_ONCE * MILLIS_BETWEEN) == 0


def test_refusals_at_allowed_rate_wait_each_time() -> None:
    throttle, now, waited = Throttle(), 0, 0
    for _ in range(100):
        wait = throttle.refused("10.0.0.1", now)
        assert wait is not None
        waited += wait > 0
        now += wait
    assert waited == 100 - AT_ONCE


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("fe80::1", "fe80::ffff:2", True),
        ("fe80::1", "fe80:0:0:1::1", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("no address", "no address", True),
    ],
)
def test_addresses_of_one_network_share_delay(one: str, other: str, alike: bool) -> None:
    throttle = Throttle()
    for _ in range(AT_ONCE):
        throttle.refused(one, 0)
    wait = throttle.refused(other, 0)
    assert wait is not None and (wait > 0) is alike


def test_table_is_bounded_and_keeps_active_addresses() -> None:
    throttle = Throttle()
    for number in range(ADDRESSES_MAX + 100):
        throttle.refused(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 0)
        throttle.refused("192.168.0.1", number * MILLIS_BETWEEN)
    assert len(throttle) == ADDRESSES_MAX
    for _ in range(AT_ONCE):
        throttle.refused("192.168.0.1", 0)
    assert throttle.refused("192.168.0.1", 0) is None
