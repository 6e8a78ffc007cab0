"""Names and times of requests; the sentences are tried with those of Apache's proxy in `test_messaging`."""

from __future__ import annotations

import pytest

from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.names import (
    checked_group,
    checked_topic,
    duration,
    has_control,
    is_time,
    millis_of,
    timestamp,
)


@pytest.mark.parametrize("name", ["T", "ns%T", "%RETRY%G", "a|b", "a-b_c", "n" * 120])
def test_names_that_may_be(name: str) -> None:
    assert checked_topic(v2.Resource(name=name)) == name
    assert checked_group(v2.Resource(name=name)) == name


@pytest.mark.parametrize(
    "text,has", [("a b", False), ("\x7f", True), ("\x9f", True), ("\n", True), ("é", False)]
)
def test_control_characters(text: str, has: bool) -> None:
    assert has_control(text) is has


@pytest.mark.parametrize("millis", [0, 1, 1500, 86_400_000])
def test_times_in_both_directions(millis: int) -> None:
    assert millis_of(duration(millis)) == millis
    assert millis_of(timestamp(millis)) == millis


def test_a_time_before_the_epoch() -> None:
    assert millis_of(v2.Duration(seconds=-1, nanos=-500_000_000)) == -1500
    assert millis_of(timestamp(-1)) == -1


@pytest.mark.parametrize(
    "seconds,is_one", [(0, True), (-(2**62), False), (253_402_300_799, True), (2**62, False)]
)
def test_is_time_in_the_years_1_to_9999(seconds: int, is_one: bool) -> None:
    assert is_time(v2.Timestamp(seconds=seconds)) is is_one
