"""Rows as text and as JSON."""

from __future__ import annotations

import datetime
import json

from mqgateway.gateway.mqadmin.rendering import as_json, java, moment, pretty, second, shown


def test_values_are_shown_as_java_shows_them() -> None:
    assert java(None) == "null" and java(True) == "true" and java(3) == 3
    assert java({"a": [1, None], "b": False}) == "{a=[1, null], b=false}"
    assert shown("{name:<6.3}|{count:>4}|{flag}", {"name": "abcdef", "count": 7, "flag": None}) == (
        "abc   |   7|null"
    )


def test_nothing_in_a_value_moves_the_cursor() -> None:
    assert shown("{name}", {"name": "a\x1b[2Jb\n"}) == "a\\x1b[2Jb\\n"
    assert "\x1b" not in as_json("x", [{"name": "\x1b"}], {}, [])


def test_json_is_one_object_on_one_line() -> None:
    output = as_json("topicList", [{"names": {"b", "a"}, "byId": {0: "x"}}], {"n": 1}, [{"server": "s"}])
    assert output.endswith("\n") and output.count("\n") == 1
    assert json.loads(output) == {
        "command": "topicList",
        "rows": [{"names": ["a", "b"], "byId": {"0": "x"}}],
        "summary": {"n": 1},
        "errors": [{"server": "s"}],
    }


def test_pretty_json_has_a_member_a_line() -> None:
    assert pretty({"b": 1, "a": []}) == '{\n\t"a":[],\n\t"b":1\n}'


def test_times_are_local() -> None:
    at = datetime.datetime(2026, 1, 31, 12, 0, 5, 7000)
    millis = int(at.timestamp() * 1000)
    assert moment(millis) == "2026-01-31 12:00:05,007"
    assert second(millis) == "2026-01-31 12:00:05"
