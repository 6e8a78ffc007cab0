"""Raw rows out of replies: the quick way is the plain way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import SysFlag, format_properties, unpack_host
from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.store.record import decode
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.rows import Rows, rows_of, stored_row
from tests.support.engine.store.kafka_records import records, whole_record
from tests.support.pipeline.records import BORN, STORED, batch, record

PROPERTIES = st.dictionaries(
    st.text("abcTAGS", min_size=1, max_size=6), st.text("abcd\u00e9", min_size=1, max_size=8), max_size=4
)


@given(st.lists(st.tuples(st.binary(max_size=40), PROPERTIES, st.booleans(), st.booleans()), max_size=8))
def test_every_kind_of_record_gives_the_row_that_decoding_gives(
    parts: list[tuple[bytes, dict[str, str], bool, bool]],
) -> None:
    """Compressed, from IPv6 hosts, with a long topic: the rows are those of the reference decoder."""
    records = [
        record(number, body, properties=properties, compressed=packed, host="fe80::1" if v6 else "10.0.0.9")
        for number, (body, properties, packed, v6) in enumerate(parts)
    ]
    rows = Rows()
    assert rows.add_reply(b"".join(records), 0, 100) == len(records)
    for number, raw in enumerate(records):
        head, body, properties = stored_row(decode(raw))
        assert rows.bodies[number] == body == parts[number][0]
        assert rows.heads[number][3:14] == head[3:14]
        assert rows.properties[number] == properties


def test_only_the_range_that_was_asked_for() -> None:
    data = b"".join(record(number) for number in range(10))
    rows = Rows()
    assert rows.add_reply(data, 3, 7) == 4
    assert [head[5] for head in rows.heads] == [3, 4, 5, 6]
    head = rows.heads[0]
    assert (head[3], head[4], head[8], head[10]) == (2, 7, BORN, STORED)
    assert unpack_host(head[9]) == ("10.0.0.9", 1234)
    rows.clear()
    assert len(rows) == rows.size == 0


def test_tags_are_compared_as_text() -> None:
    """`Aa` and `BB` have the same hash, which is all that brokers compare."""
    data = b"".join(record(number, properties={"TAGS": tag}) for number, tag in enumerate(("Aa", "BB", "Aa")))
    data += record(3, properties={})
    rows = Rows()
    assert rows.add_reply(data, 0, 9, tags=("BB",)) == 1
    assert rows.properties == [format_properties({"TAGS": "BB"}).encode()]


def test_a_batch_in_one_record_is_several_rows() -> None:
    """Within the range asked for; one that cannot be taken apart is not lost."""
    rows = Rows()
    assert rows.add_reply(batch(5, [b"x", b"y", b"z"]) + record(8), 6, 9) == 3
    assert rows.bodies == [b"y", b"z", b"body"] and [head[5] for head in rows.heads] == [6, 7, 8]
    assert rows.properties[0] == format_properties({"TAGS": "b", "WAIT": "false"}).encode()
    broken = record(9, b"no batch", flags=SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
    assert rows.add_reply(broken, 0, 20) == 1 and rows.bodies[-1] == b"no batch"


def test_a_long_topic_is_read_as_well() -> None:
    rows = Rows()
    assert rows.add_reply(record(0, b"x", topic="t" * 200), 0, 1) == 1
    assert rows.bodies == [b"x"]


@given(st.binary(min_size=1, max_size=120))
def test_bytes_that_are_no_records_are_refused(data: bytes) -> None:
    with pytest.raises(PipelineError):
        Rows().add_reply(data[:90], 0, 10)


def test_a_record_cut_short_is_refused() -> None:
    whole = record(0)
    for size in range(1, len(whole)):
        with pytest.raises(PipelineError):
            Rows().add_reply(whole[:size], 0, 1)


def test_rows_of_a_static_topic_get_the_numbers_of_its_queue() -> None:
    """Those that were there before keep theirs, and so does everything else in a row."""
    rows = Rows()
    rows.add_reply(record(0), 0, 9)
    rows.add_reply(record(1) + record(2), 0, 9)
    before = list(rows.heads)
    rows.renumber(1, 8, 10_000)
    assert [(head[3], head[5]) for head in rows.heads] == [(2, 0), (8, 10_001), (8, 10_002)]
    for old, new in zip(before, rows.heads, strict=True):
        assert (*old[:3], old[4], *old[6:]) == (*new[:3], new[4], *new[6:])


def test_rows_of_a_batch_of_kafka_are_its_messages(caplog: pytest.LogCaptureFixture) -> None:
    record = whole_record(build_batch(records(b"a", b"b", tags=["x", "y"]), base_timestamp=5), queue_offset=7)
    rows = rows_of(record, decode(record))
    assert [(head[5], body) for head, body, _ in rows] == [(7, b"a"), (8, b"b")]
    assert rows[1][2].startswith(b"TAGS\x01y\x02KEYS\x01k1\x02")
    damaged = whole_record(b"no batch")
    assert rows_of(damaged, decode(damaged)) == []
    assert "a batch has 61 bytes" in caplog.text
