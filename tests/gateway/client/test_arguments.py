"""Checks of arguments: what is taken, and that a refusal names argument, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.errors import BadArgument

NOON = datetime(2026, 5, 1, 12, 0, 0, 500_000, UTC)


@pytest.mark.parametrize(
    ("check", "value", "result"),
    [
        (arguments.text, "a", "a"),
        (arguments.whole, 0, 0),
        (arguments.whole, 2**63 - 1, 2**63 - 1),
        (arguments.seconds, 5, 5.0),
        (arguments.seconds, 0.25, 0.25),
        (arguments.seconds, timedelta(minutes=2), 120.0),
        (arguments.duration_millis, 1500, 1500),
        (arguments.duration_millis, timedelta(seconds=1.5), 1500),
        (arguments.duration_millis, timedelta(microseconds=1), 1),
        (arguments.time_millis, 1_777_636_800_500, 1_777_636_800_500),
        (arguments.time_millis, NOON, 1_777_636_800_500),
        (arguments.time_millis, NOON.astimezone(timezone(timedelta(hours=8))), 1_777_636_800_500),
        (arguments.search_millis, 0, 0),
        (arguments.search_millis, NOON, 1_777_636_800_500),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_right_value_is_taken(check: Callable[[str, Any], Any], value: Any, result: Any) -> None:
    assert check("name", value) == result


@pytest.mark.parametrize(
    ("check", "value", "remedy"),
    [
        (arguments.text, 5, "pass text, not int"),
        (arguments.text, None, "pass text, not NoneType"),
        (arguments.whole, -1, "must be from 0"),
        (arguments.whole, "5", "pass a whole number, not str"),
        (arguments.whole, True, "pass a whole number, not bool"),
        (arguments.whole, 1.0, "pass a whole number, not float"),
        (arguments.whole, 2**63, "must be from 0 to"),
        (arguments.seconds, -0.5, "must be from 0"),
        (arguments.seconds, float("nan"), "must be from 0"),
        (arguments.seconds, "1", "pass seconds or a timedelta, not str"),
        (arguments.seconds, timedelta(seconds=-1), "must be from 0"),
        (arguments.duration_millis, 1.5, "pass whole milliseconds or a timedelta, not float"),
        (arguments.duration_millis, timedelta(seconds=-5), "must be from 0"),
        (arguments.time_millis, datetime(2026, 5, 1), "has no time zone: pass"),
        (arguments.time_millis, 1_777_636_800, "seconds"),
        (arguments.time_millis, 1_777_636_800_500_000_000, "is not milliseconds"),
        (arguments.time_millis, timedelta(seconds=5), "pass an aware datetime"),
        (arguments.time_millis, 1_777_636_800.5, "pass an aware datetime"),
        (arguments.time_millis, True, "pass an aware datetime"),
        (arguments.time_millis, -1, "is not milliseconds"),
        (arguments.search_millis, "now", "pass a whole number, not str"),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_wrong_value_is_refused_with_name_value_and_remedy(
    check: Callable[[str, Any], Any], value: Any, remedy: str
) -> None:
    with pytest.raises(BadArgument, match=remedy) as refused:
        check("the_name", value)
    shown = repr(value) if not isinstance(value, timedelta) else "the_name="
    assert str(refused.value).startswith("the_name=") and (shown in str(refused.value) or "-" in shown)


def test_topics_are_one_name_or_several() -> None:
    assert arguments.topics("a") == ["a"] == arguments.topics(["a"])
    assert sorted(arguments.topics({"a", "b"})) == ["a", "b"]
    for wrong in (b"a", 5, None, [], ["a", 5], [["a"]]):
        with pytest.raises(BadArgument, match="topic="):
            arguments.topics(wrong)  # type: ignore[arg-type]


def test_members_of_a_list_have_one_type() -> None:
    assert arguments.each_of_type("numbers", (1, 2), int, "number") == [1, 2]
    for wrong in (5, "12", [1, "2"], None):
        with pytest.raises(BadArgument, match=r"numbers=.*pass a list of numbers"):
            arguments.each_of_type("numbers", wrong, int, "number")


def test_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(BadArgument) as refused:
        arguments.text("body", ["x"] * 1000)
    assert len(str(refused.value)) < 200


def test_mapping_is_a_mapping() -> None:
    assert arguments.mapping("m", {"a": 1}, "a mapping") == {"a": 1}
    with pytest.raises(BadArgument, match="m=5: pass a mapping, not int"):
        arguments.mapping("m", 5, "a mapping")


def test_object_without_a_method_is_refused() -> None:
    arguments.with_methods("text", "", "upper", "lower")
    with pytest.raises(
        BadArgument, match="text='': pass an object with the methods upper and none, not without none"
    ):
        arguments.with_methods("text", "", "upper", "none")


def test_name_servers_are_a_setting() -> None:
    assert arguments.with_name_servers(None, {"a": 1}) == {"a": 1}
    assert arguments.with_name_servers("h:1", {"a": 1}) == {"namesrv_addr": "h:1", "a": 1}
    with pytest.raises(BadArgument, match="namesrv=5: pass text"):
        arguments.with_name_servers(5, {})  # type: ignore[arg-type]
