"""Rows as messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mqgateway.pipeline.errors import BadOption, SinkError
from mqgateway.pipeline.options import SinkOptions
from mqgateway.pipeline.outgoing import as_message, as_millis, check_columns, check_transactional, goes_alone


def message(topic: str = "", /, **row: Any) -> Any:
    return as_message({"body": b"x", "topic": "t", **row}, topic)


def test_the_stock_connectors_columns() -> None:
    made = message(body="text", tags="T")
    assert (made.topic, made.body, made.tags) == ("t", b"text", "T")
    assert message("other").topic == "other"


def test_keys_properties_flag_and_sharding() -> None:
    made = message(keys=["a", "b"], properties=[("p", "q"), ("n", None)], flag=3, shardingKey="s")
    assert (made.keys, made.properties["p"], made.flag) == (["a", "b"], "q", 3)
    assert made.properties["__SHARDINGKEY"] == "s" and "n" not in made.properties
    assert message(keys="a b").keys == ["a", "b"]


def test_rows_of_the_source_can_be_written_again() -> None:
    """The JSON of stored properties: keys, tags and the user's stay, what broker and client made goes."""
    made_by_others = '"UNIQ_KEY":"U","MSG_REGION":"R","DELAY":"3","CLUSTER":"C","SPARK_TRANSACTION":"q/1"'
    text = f'{{"KEYS":"k","TAGS":"T","p":"q",{made_by_others},"n":5}}'
    made = message(properties=text)
    assert made.properties == {"p": "q", "n": "5", "TAGS": "T", "KEYS": "k", "WAIT": "true"}


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ({"delayLevel": 3}, "DELAY", "3"),
        ({"delayMillis": 1500}, "TIMER_DELAY_MS", "1500"),
        ({"deliverAt": 1700000000000}, "TIMER_DELIVER_MS", "1700000000000"),
        ({"deliverAt": datetime.fromtimestamp(1_700_000_000, UTC)}, "TIMER_DELIVER_MS", "1700000000000"),
    ],
)
def test_delays_go_alone(row: dict[str, Any], name: str, value: str) -> None:
    made = message(**row)
    assert made.properties[name] == value and goes_alone(made)
    assert not goes_alone(message())


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"topic": None}, "a row without a topic"),
        ({"body": None}, "a row for t without a body"),
        ({"body": b""}, "a row for t without a body"),
        ({"properties": "{"}, "properties of a row for t are not JSON"),
        ({"properties": "[1]"}, "are not a JSON object"),
        ({"delayLevel": 1, "delayMillis": 5}, "a row for t cannot be sent: a message has one delay"),
    ],
)
def test_rows_that_cannot_be_sent(row: dict[str, Any], said: str) -> None:
    with pytest.raises(SinkError, match=said):
        message(**row)


@pytest.mark.parametrize(
    ("types", "options", "said"),
    [
        ({"topic": "string"}, {}, "there is no column body"),
        ({"body": "int", "topic": "string"}, {}, "is of type int; cast it to string or binary"),
        ({"body": "string"}, {}, "name a topic, or have a column topic"),
        (
            {"body": "string"},
            {"topic": "t", "order_column": "id"},
            "option orderColumn='id': is not a column",
        ),
        ({"body": "string"}, {"topic": "t", "pace_column": "at"}, "option paceColumn='at': is not a column"),
    ],
)
def test_frames_that_cannot_be_sent(types: dict[str, str], options: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        check_columns(types, SinkOptions(**options))


def test_frames_that_can() -> None:
    check_columns({"body": "binary", "other": "int"}, SinkOptions(topic="t"))
    check_columns({"body": "string", "topic": "string", "keys": "array<string>"}, SinkOptions())


@pytest.mark.parametrize(
    ("types", "options", "folder", "said"),
    [
        (
            {"deliverAt": "timestamp"},
            {},
            "/x",
            "option transactional='true': half messages have no deliverAt",
        ),
        ({}, {"pace_column": "at"}, "/x", "option paceColumn='at': rows are seen when"),
        ({}, {}, "", "option transactionLog='': is needed for transactional"),
    ],
)
def test_invalid_transactional_frames_are_refused(
    types: dict[str, str], options: dict[str, str], folder: str, said: str
) -> None:
    check_transactional({"body": "string"}, SinkOptions(), "/x")
    with pytest.raises(BadOption, match=said):
        check_transactional({"body": "string", **types}, SinkOptions(**options), folder)


def test_times() -> None:
    assert as_millis(None) == 0
    assert as_millis(datetime(1970, 1, 1, 0, 0, 1)) == 1000
