"""Offsets and positions as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.offsets import (
    EARLIEST_POSITION,
    LATEST_POSITION,
    PositionKind,
    as_json,
    as_tree,
    from_tree,
    parse_position,
    parse_time,
    parse_times,
)

QUEUES = st.builds(
    MessageQueue, st.sampled_from(["t", "u%1"]), st.sampled_from(["broker-a", "b"]), st.integers(0, 300)
)


@given(st.dictionaries(QUEUES, st.integers(-2, 2**62)))
def test_json_and_back(offsets: dict[MessageQueue, int]) -> None:
    assert from_tree(json.loads(as_json(offsets))) == offsets


def test_the_json_is_the_stock_connectors() -> None:
    text = '{"SPK_a":{"broker-a":{"0":20,"1":-2,"2":5,"10":-1}}}'
    offsets = from_tree(json.loads(text))
    assert as_json(offsets) == text
    assert as_tree(offsets)["SPK_a"]["broker-a"]["1"] == -2


@pytest.mark.parametrize(
    "text",
    ["[]", "3", '{"t": 3}', '{"t":{"b":{"x":1}}}', '{"t":{"b":{"0":-3}}}', '{"t":{"b":{"0":true}}}', "{"],
)
def test_invalid_offsets_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadOption, match=r"option startingOffsets=.*for example"):
        parse_position("startingOffsets", text)


def test_words_and_times() -> None:
    assert parse_position("o", " Earliest ") is EARLIEST_POSITION
    assert parse_position("o", "latest") is LATEST_POSITION
    assert parse_time("o", "1700000000123").time == 1700000000123
    assert parse_time("o", "2023-11-14T22:13:20").time == 1700000000000
    assert parse_time("o", "2023-11-14T23:13:20+01:00").time == 1700000000000
    times = parse_times("o", '{"t":{"b":{"0":5}}}')
    assert times.kind is PositionKind.TIMES and times.offsets == {MessageQueue("t", "b", 0): 5}


def test_bad_times_are_refused() -> None:
    with pytest.raises(BadOption, match="is not a time"):
        parse_time("startingTimestamp", "yesterday")
    with pytest.raises(BadOption, match="negative"):
        parse_times("startingOffsetsByTimestamp", '{"t":{"b":{"0":-1}}}')
