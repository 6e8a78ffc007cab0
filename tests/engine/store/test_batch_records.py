"""Records of a queue of batches, looked at without decoding them."""

from __future__ import annotations

from mqgateway.engine.message import (
    PROPERTY_INNER_BASE,
    PROPERTY_INNER_NUM,
    PROPERTY_TAGS,
    SysFlag,
    tags_code,
)
from mqgateway.engine.store.batch_records import batch_place, offsets_of, unit_of
from tests.support.engine.cleaning import batch_record, stored


def test_record_with_a_batch_has_its_offsets() -> None:
    record = batch_record(5, [(b"a", b"1"), (b"b", b"2")], time=7)
    assert batch_place(record) is not None
    assert offsets_of(record) == (5, 7)
    assert unit_of(record) == (5000, len(record), 0, 7, 5, 2, -1, 0)


def test_message_has_one_offset() -> None:
    record = stored(b"x", {PROPERTY_TAGS: "t"}, 3, time=9)
    assert batch_place(record) is None
    assert offsets_of(record) == (3, 4)
    assert unit_of(record) == (3000, len(record), tags_code("t"), 9, 3, 1, -1, 0)


def test_batch_of_a_client_has_the_offsets_of_its_properties() -> None:
    properties = {PROPERTY_INNER_NUM: "3", PROPERTY_INNER_BASE: "8"}
    assert offsets_of(stored(b"x", properties, 8, sys_flag=SysFlag.INNER_BATCH)) == (8, 11)
