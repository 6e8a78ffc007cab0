"""Columns as Arrow lays them out."""

from __future__ import annotations

import json
from array import array
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import format_properties, parse_properties
from mqgateway.pipeline import columns
from mqgateway.pipeline.columns import (
    ALL,
    NumberColumn,
    Place,
    TextColumn,
    nullable,
    properties_json,
    same,
    texts,
)
from mqgateway.pipeline.errors import BadOption
from mqgateway.pipeline.rows import Rows
from tests.support.pipeline.records import BORN, STORED, record


def values(cells: Any, width: str = "i") -> list[Any]:
    """Cells as Python values, by Arrow's rules."""
    if isinstance(cells, NumberColumn):
        return list(array(width, cells.data))
    if isinstance(cells, TextColumn):
        offsets = array("i", cells.offsets)
        found: list[Any] = [cells.data[a:b] for a, b in pairwise(offsets)]
        bits = cells.validity
        return [
            one if bits is None or bits[number >> 3] >> (number & 7) & 1 else None
            for number, one in enumerate(found)
        ]
    return list(cells)


@pytest.fixture
def rows() -> Rows:
    rows = Rows()
    properties: tuple[dict[str, str], ...] = ({"TAGS": "A", "KEYS": "k1 k2", "UNIQ_KEY": "ID"}, {"x": "y"})
    for number, one in enumerate(properties):
        rows.add_reply(record(number, b"body %d" % number, properties=one), 0, 10)
    return rows


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("topic", "", [b"t", b"t"]),
        ("flag", "i", [7, 7]),
        ("body", "", [b"body 0", b"body 1"]),
        ("brokerName", "", [b"b", b"b"]),
        ("queueId", "i", [2, 2]),
        ("queueOffset", "q", [0, 1]),
        ("bornTimestamp", "q", [BORN * 1000] * 2),
        ("storeTimestamp", "q", [STORED * 1000] * 2),
        ("tags", "", [b"A", None]),
        ("keys", "", [["k1", "k2"], []]),
        ("propertyMap", "", [[("TAGS", "A"), ("KEYS", "k1 k2"), ("UNIQ_KEY", "ID")], [("x", "y")]]),
        ("messageId", "", [b"ID", b"0A00000100002A9F0000000000000000"]),
        ("bornHost", "", [b"10.0.0.9:1234"] * 2),
        ("storeHost", "", [b"10.0.0.1:10911"] * 2),
        ("reconsumeTimes", "i", [0, 0]),
        ("sysFlag", "i", [0, 0]),
        ("physicalOffset", "q", [0, 0]),
        ("corrupt", "", [None, None]),
    ],
)
def test_every_column(rows: Rows, name: str, width: str, expected: list[Any]) -> None:
    assert values(ALL[name].cells(rows, Place("t", "b")), width) == expected


def test_sizes_and_properties(rows: Rows) -> None:
    place = Place("t", "b")
    assert values(ALL["storeSize"].cells(rows, place)) == [head[0] for head in rows.heads]
    found = [json.loads(one) for one in values(ALL["properties"].cells(rows, place))]
    assert found == [{"TAGS": "A", "KEYS": "k1 k2", "UNIQ_KEY": "ID"}, {"x": "y"}]


def test_rows_of_many_topics_and_notes() -> None:
    rows = Rows()
    for topic in ("a", "bb"):
        rows.add_reply(record(0), 0, 1)
        rows.topics.append(topic.encode())
        rows.notes.append(None if topic == "a" else "broken")
    assert values(ALL["topic"].cells(rows, Place())) == [b"a", b"bb"]
    assert values(ALL["corrupt"].cells(rows, Place())) == [None, b"broken"]


RAW = st.one_of(
    st.dictionaries(st.text(min_size=1, max_size=5), st.text(min_size=1, max_size=5), max_size=3).map(
        lambda one: format_properties(one).encode("utf-8", "replace")
    ),
    st.lists(st.sampled_from([b"a", b"b", b"\1", b"\2", b"\n", b'"', b"\\", b"\xff"]), max_size=8).map(
        lambda parts: b"".join(parts)
    ),
    st.just(b"A\1b\2C\1d\2"),
)


@given(st.lists(RAW, max_size=6))
def test_the_quick_json_is_the_slow_json(raw: list[bytes]) -> None:
    """Whatever lies in the properties, the JSON says what the reference parser reads."""
    expected = [parse_properties(one.decode("utf-8", "replace")) for one in raw]
    assert [dict(json.loads(one)) for one in properties_json(raw)] == expected


def test_cells() -> None:
    assert values(texts([])) == [] and values(texts([b"a", b"", b"bc"])) == [b"a", b"", b"bc"]
    assert values(nullable([None] * 9 + [b"x"])) == [None] * 9 + [b"x"]
    assert values(same("", 2)) == [b"", b""] and values(same("ab", 3)) == [b"ab"] * 3


def test_schemas() -> None:
    assert columns.ddl(("topic", "keys")) == "topic string, keys array<string>"
    assert len(columns.SOURCE) == 9 and set(columns.STORE) <= set(ALL)
    with pytest.raises(BadOption, match="no column nothing; valid columns are topic"):
        columns.chosen("nothing", columns.SOURCE)
