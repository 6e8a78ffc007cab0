"""Records that hold a batch of Kafka, as messages: which there are, what is in them, and what is skipped."""

import re
from collections.abc import Sequence

import pytest

from mqgateway.engine.message import SysFlag, pack_host, tags_code
from mqgateway.engine.record_batches.batches import CONTROL, LOG_APPEND_TIME, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.batch_records import batch_place
from mqgateway.engine.store.expansion import (
    INFLATED_MAX,
    KEPT_MAX,
    PROMPT_MAX,
    RECORD_WORK,
    ExpandedBatch,
    Expansion,
    LargeBatchRead,
    expand,
    holds_record_batch,
    place_of,
    unique_key,
)
from mqgateway.engine.store.record import decode, examine, sys_flag_for
from mqgateway.engine.worker import MemoryWorker
from tests.support.cpu_time import CpuTime
from tests.support.engine.store.kafka_records import POSITION, STORED, records, whole_record

HOLD = 0.05
"""Seconds that nothing may hold the loop."""


class Problems(list[tuple[int, str]]):
    """Problems as they were reported."""

    def report(self, position: int, what: str) -> None:
        """Note a problem."""
        self.append((position, what))


def test_batch_becomes_ordinary_records() -> None:
    headers = [("TAGS", b"paid"), ("colour", b"red")]
    given = [Record(b"order-1", b"one", headers, 5, 0), Record(None, None, (), 7, 1)]
    record = whole_record(build_batch(given, base_timestamp=1000), queue_offset=40, queue_id=3)
    problems = Problems()
    first, second = (decode(each) for each in expand(record, problems.report))
    assert (first.topic, first.queue_id, first.queue_offset, first.body) == ("kafka", 3, 40, b"one")
    assert first.properties == {
        "TAGS": "paid",
        "colour": "red",
        "KEYS": "order-1",
        "UNIQ_KEY": unique_key("kafka", 3, 40),
    }
    assert (first.born_timestamp, first.store_timestamp, first.physical_offset) == (1005, STORED, POSITION)
    assert (second.queue_offset, second.body, second.properties["__KNULL"]) == (41, b"", "1")
    assert not (first.sys_flag | second.sys_flag) & (SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
    assert not problems


@pytest.mark.parametrize("is_v6", [False, True])
def test_expanded_records_are_valid_ones_of_their_place(is_v6: bool) -> None:
    host = pack_host("::1" if is_v6 else "127.0.0.1", 10911)
    topic = "t" * 200 if is_v6 else "kafka"
    record = whole_record(build_batch(records(b"a", b"b"), base_timestamp=1), topic=topic, host=host)
    for expanded in expand(record, Problems().report):
        assert examine(expanded, 0, POSITION, True) == len(expanded)
        message = decode(expanded)
        assert (message.born_host, message.store_host, message.topic) == (host, host, topic)
        assert message.sys_flag == sys_flag_for(message)


def test_log_append_time_is_the_born_timestamp_of_all() -> None:
    batch = build_batch(records(b"a", b"b"), base_timestamp=1, flags=LOG_APPEND_TIME, max_timestamp=77)
    assert [decode(each).born_timestamp for each in expand(whole_record(batch), Problems().report)] == [
        77,
        77,
    ]


def test_record_without_timestamp_is_born_when_it_was_stored() -> None:
    [record] = expand(whole_record(build_batch([Record(None, b"v")], base_timestamp=-1)), Problems().report)
    assert decode(record).born_timestamp == STORED


def test_control_batch_has_no_messages() -> None:
    record = whole_record(build_batch([Record(b"\0\0\0\1", b"x")], base_timestamp=1, flags=CONTROL))
    problems = Problems()
    assert expand(record, problems.report) == [] and not problems


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("start", [0, 1, 13, 39, 40])
def test_messages_begin_at_any_offset(compression: CompressionType, start: int) -> None:
    values = [b"%d" % number for number in range(40)]
    batch = build_batch(records(*values), base_timestamp=1, compression=compression)
    expanded = ExpandedBatch(whole_record(batch, queue_offset=100), INFLATED_MAX)
    for _ in range(2):
        found = [offset for offset, *_ in expanded.messages(100 + start, 32, Problems().report)]
        assert found == list(range(100 + start, 140))


def test_gaps_of_offsets_remain() -> None:
    given = [Record(None, b"v", (), 0, delta) for delta in (2, 3, 9)]
    expanded = ExpandedBatch(
        whole_record(build_batch(given, base_timestamp=1), queue_offset=50), INFLATED_MAX
    )
    assert [offset for offset, *_ in expanded.messages(53, 32, Problems().report)] == [53, 59]


def damaged(*, at: int, byte: int, given: Sequence[Record]) -> bytes:
    """A record whose batch has a wrong byte, `at` bytes behind the header."""
    batch = build_batch(given, base_timestamp=1)
    batch[61 + at] = byte
    return whole_record(batch)


@pytest.mark.parametrize(
    ("record", "left", "text"),
    [
        (damaged(at=0, byte=0xFE, given=records(b"a", b"b")), 0, r"126|expected"),
        (damaged(at=0, byte=1, given=records(b"a", b"b")), 0, "record 0 has -1 bytes"),
        (damaged(at=4, byte=0x7E, given=records(b"a", b"b")), 1, r"records\[0\]"),
        (damaged(at=3, byte=2, given=records(b"a")), 0, "offset delta 1"),
        (whole_record(build_batch(records(b"a"), base_timestamp=1), base_offset=6), 0, "has the offset 6"),
        (whole_record(b"no batch"), 0, "a batch has 61 bytes"),
        (whole_record(build_batch(records(b"a" * 99), base_timestamp=1, flags=2)), 0, "snappy"),
        (whole_record(build_batch(records(b"a" * 99), base_timestamp=1, flags=7)), 0, "unknown compression"),
    ],
)
def test_damaged_batch_is_reported_and_skipped(record: bytes, left: int, text: str) -> None:
    problems = Problems()
    assert len(expand(record, problems.report)) == left
    [(position, what)] = problems
    assert position == POSITION
    assert re.search(text, what), what


def test_count_that_lies_is_reported() -> None:
    batch = build_batch(records(b"a"), base_timestamp=1)
    batch[57:61] = (30_000).to_bytes(4, "big")
    batch[23:27] = (29_999).to_bytes(4, "big")
    problems = Problems()
    assert expand(whole_record(batch), problems.report) == []
    assert "30000 elements" in problems[0][1]


def test_bomb_is_reported_and_holds_nothing() -> None:
    batch = build_batch(
        [Record(None, bytes(INFLATED_MAX))], base_timestamp=1, compression=CompressionType.ZSTD
    )
    record, problems, worker = whole_record(batch), Problems(), MemoryWorker()
    expansion, done = Expansion(problems.report, lambda *_: False), []
    with CpuTime() as taken, pytest.raises(LargeBatchRead) as caught:
        expansion.find(record, POSITION, False)
    assert taken.seconds < HOLD
    caught.value.bring_by(worker, lambda: done.append(True), ahead=True)
    assert not done and not problems
    worker.perform_all()
    assert done
    assert expansion.find(record, POSITION, False) is None
    assert f"limit of {INFLATED_MAX} bytes" in problems[0][1]


def test_large_batch_is_inflated_by_a_worker() -> None:
    batch = build_batch(records(bytes(PROMPT_MAX)), base_timestamp=1, compression=CompressionType.GZIP)
    record, problems, worker = whole_record(batch), Problems(), MemoryWorker()
    expansion = Expansion(problems.report, lambda *_: False)
    with pytest.raises(LargeBatchRead) as caught:
        expansion.find(record, POSITION, False)
    caught.value.bring_by(worker, lambda: None, ahead=False)
    worker.perform_all()
    found = expansion.find(record, POSITION, False)
    assert found is not None and len(list(found.messages(0, 32, problems.report))) == 1


def test_message_and_headers_beyond_the_limits_are_skipped_alone() -> None:
    many = [("h", None)] * 9000
    given = [
        Record(None, bytes(9 << 20), (), 0, 0),
        Record(None, b"v", many, 0, 1),
        Record(b"\xff" * 40_000, b"kept", [("h", b"x" * 40_000)], 0, 2),
    ]
    problems = Problems()
    [record] = expand(whole_record(build_batch(given, base_timestamp=1)), problems.report)
    message = decode(record)
    assert (message.queue_offset, message.body, len(problems)) == (2, b"kept", 2)
    assert message.properties.keys() == {"__KHDR_TOO_LARGE", "__KKEY_TOO_LARGE", "UNIQ_KEY"}


def test_last_batches_are_kept() -> None:
    expansion = Expansion(Problems().report, lambda *_: False)
    given = [
        whole_record(build_batch(records(b"v"), base_timestamp=1), queue_offset=offset)
        for offset in range(KEPT_MAX + 1)
    ]
    found = [expansion.find(record, POSITION, False) for record in given[:KEPT_MAX]]
    assert expansion.find(given[0], POSITION, False) is found[0]
    expansion.find(given[-1], POSITION, False)
    assert expansion.find(given[0], POSITION, False) is found[0]
    assert expansion.find(given[1], POSITION, False) is not found[1]


def test_many_small_messages_do_not_hold_the_loop() -> None:
    batch = build_batch([Record(None, b"", (), 0, delta) for delta in range(30_000)], base_timestamp=1)
    expanded = ExpandedBatch(whole_record(batch), INFLATED_MAX)
    with CpuTime() as taken:
        offset, *_ = next(expanded.messages(29_999, 1, Problems().report))
    assert taken.seconds < HOLD
    assert offset == 29_999


@pytest.mark.parametrize(
    ("sys_flag", "properties", "holds"),
    [
        (SysFlag.INNER_BATCH, {"__KAFKA": "2"}, True),
        (SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP, {"__KAFKA": "2"}, False),
        (SysFlag.INNER_BATCH, {"a": "b", "__KAFKA": "2"}, True),
        (SysFlag.INNER_BATCH, {"a": "b", "__KAFKA": "2", "c": "d"}, True),
        (SysFlag.INNER_BATCH, {"x__KAFKA": "2"}, False),
        (SysFlag.INNER_BATCH, {"a": "b", "x__KAFKA": "2"}, False),
        (0, {"__KAFKA": "2"}, False),
    ],
)
def test_record_batch_is_recognised_by_flag_and_property(
    sys_flag: int, properties: dict[str, str], holds: bool
) -> None:
    record = whole_record(b"", sys_flag=sys_flag, properties=properties)
    assert holds_record_batch(record) is holds
    assert (batch_place(record) is not None) is holds  # Kafka's readers agree


def test_unique_key_reports_queue_and_offset() -> None:
    key = unique_key("kafka", 7, 1 << 40)
    assert len(key) == 33 and key.isalnum()
    assert place_of(key, "kafka") == (7, 1 << 40)
    assert place_of(key, "other") is None
    assert place_of("7F00000100002A9F4E5D18B4AAC20001", "kafka") is None


def test_tags_header_selects_by_tag() -> None:
    given = [Record(None, b"v", [("TAGS", b"paid")])]
    expanded = ExpandedBatch(whole_record(build_batch(given, base_timestamp=1)), INFLATED_MAX)
    [(_, code, _, _)] = expanded.messages(0, 32, Problems().report)
    assert code == tags_code("paid")


@pytest.mark.parametrize("most", [1, 3, 99])
def test_messages_are_made_together_up_to_the_limits(most: int) -> None:
    """A caller that takes one message does not pay for thirty."""
    given = records(*[bytes(30_000)] * 50)
    expanded = ExpandedBatch(whole_record(build_batch(given, base_timestamp=1)), INFLATED_MAX)
    found = list(expanded.messages(7, most, Problems().report))
    assert [offset for offset, *_ in found] == list(range(7, 50))


def test_work_of_a_message_grows_with_its_headers() -> None:
    given = [Record(None, b"v", [(f"h{number}", b"x") for number in range(count)], 0, 0) for count in (0, 3)]
    found = []
    for one in given:
        expanded = ExpandedBatch(whole_record(build_batch([one], base_timestamp=1)), INFLATED_MAX)
        found += [work for _, _, work, _ in expanded.messages(0, 32, Problems().report)]
    assert found == [RECORD_WORK, RECORD_WORK + 3]
