"""Delays of refusals by address."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.slowing import ADDRESSES_MAX, AT_ONCE, MILLIS_BETWEEN, WAIT_MAX_MILLIS, Slowing


def test_refusal_delay_grows_after_first_ones() -> None:
    slowing = Slowing()
    assert [slowing.refused("10.0.0.1", 5) for _ in range(AT_ONCE)] == [0] * AT_ONCE
    waits = [slowing.refused("10.0.0.1", 5) for _ in range(WAIT_MAX_MILLIS // MILLIS_BETWEEN)]
    assert waits == [MILLIS_BETWEEN * (n + 1) for n in range(len(waits))]
    assert slowing.refused("10.0.0.1", 5) is None
    assert slowing.refused("10.0.0.1", 5 + MILLIS_BETWEEN) == WAIT_MAX_MILLIS
    assert slowing.refused("10.0.0.2", 5) == 0


def test_refusals_are_forgiven_with_time() -> None:
    slowing = Slowing()
    for _ in range(AT_ONCE):
        slowing.refused("10.0.0.1", 0)
    assert slowing.refused("10.0.0.1", AT_ONCE * MILLIS_BETWEEN) == 0


def test_refusals_at_allowed_rate_wait_each_time() -> None:
    slowing, now, waited = Slowing(), 0, 0
    for _ in range(100):
        wait = slowing.refused("10.0.0.1", now)
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
    slowing = Slowing()
    for _ in range(AT_ONCE):
        slowing.refused(one, 0)
    wait = slowing.refused(other, 0)
    assert wait is not None and (wait > 0) is alike


def test_table_is_bounded_and_keeps_active_addresses() -> None:
    slowing = Slowing()
    for number in range(ADDRESSES_MAX + 100):
        slowing.refused(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 0)
        slowing.refused("192.168.0.1", number * MILLIS_BETWEEN)
    assert len(slowing) == ADDRESSES_MAX
    for _ in range(AT_ONCE):
        slowing.refused("192.168.0.1", 0)
    assert slowing.refused("192.168.0.1", 0) is None
