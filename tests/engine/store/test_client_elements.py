"""Elements of a client's batch are split as the schema reads them."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.store import schema
from mqgateway.engine.store.client_elements import count_batch, encode_element, split_batch

elements = st.fixed_dictionaries(
    {
        "magic": st.just(0),
        "body_crc": st.just(0),
        "flag": st.integers(0, 9),
        "body": st.binary(max_size=40),
        "properties": st.binary(max_size=40),
    }
)


@given(st.lists(elements, min_size=1, max_size=5))
def test_batch_is_split_as_the_schema_reads_it(parts: list[dict[str, object]]) -> None:
    data = schema.BATCH.build(parts)
    found = split_batch(data)
    assert [(flag, body, properties[2:]) for flag, body, properties in found] == [
        (p["flag"], p["body"], p["properties"]) for p in parts
    ]


@given(elements)
def test_element_is_encoded_as_the_schema_writes_it(part: dict[str, Any]) -> None:
    assert encode_element(part["body"], part["flag"], part["properties"]) == schema.BATCH.build([part])


@given(st.lists(elements, min_size=1, max_size=3), st.data())
def test_a_damaged_batch_is_illegal_or_still_adds_up(
    parts: list[dict[str, object]], choose: st.DataObject
) -> None:
    data = schema.BATCH.build(parts)
    cut = choose.draw(st.integers(0, len(data) - 1))
    borders = {0}
    for part in parts:
        borders.add(max(borders) + 22 + len(part["body"]) + len(part["properties"]))  # type: ignore[arg-type]
    if cut in borders - {0}:
        split_batch(data[:cut])
    else:
        with pytest.raises(MessageIllegal):
            split_batch(data[:cut])


SIZES = (-(2**31), -1, 0, 1, 21, 30, 2**31 - 1)
"""Sizes that a client may write into an element in the place of the right one."""


@given(st.lists(st.tuples(st.sampled_from(SIZES), st.binary(max_size=9), st.binary(max_size=9)), min_size=1))
def test_batch_with_wrong_element_sizes_is_split_by_its_lengths(
    parts: list[tuple[int, bytes, bytes]],
) -> None:
    data = b"".join(
        struct.pack(">5i", size, -5, 77, 3, len(body)) + body + struct.pack(">h", len(text)) + text
        for size, body, text in parts
    )
    found = split_batch(data)
    assert [(flag, body, tail[2:]) for flag, body, tail in found] == [
        (3, body, text) for _, body, text in parts
    ]
    assert count_batch(data, 1 << 20) == len(parts)


@pytest.mark.parametrize(
    ("body_length", "properties_length"),
    [(-1, 0), (-(2**31), 0), (2**31 - 1, 0), (100, 0), (4, -1), (4, -30), (4, -(2**15)), (4, 2**15 - 1)],
)
def test_batch_element_with_a_length_out_of_bounds_is_illegal(
    body_length: int, properties_length: int
) -> None:
    good = struct.pack(">5i", 26, 0, 0, 0, 4) + b"body" + bytes(2)
    bad = struct.pack(">5i", 26, 0, 0, 0, body_length) + b"body" + struct.pack(">h", properties_length)
    for data in (bad, good + bad, bad + good):
        with pytest.raises(MessageIllegal):
            split_batch(data)
        with pytest.raises(MessageIllegal):
            count_batch(data, 1 << 20)
