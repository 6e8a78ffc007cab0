"""Record batches of Kafka in the store: put whole, found again after anything, and read as spans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.message import PROPERTY_KAFKA, SysFlag
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.store.batch_records import batch_place
from mqgateway.engine.store.message_store import GetStatus, PutStatus
from mqgateway.engine.store.record import decode_all
from mqgateway.engine.store.whole_batches import BUILT_RECORDS_MAX
from tests.support.engine.store.kafka_batches import (
    EPOCH,
    TOPIC,
    fetched,
    fill_kafka,
    kafka_batch,
    put_kafka,
    read_all,
    values,
    with_place,
)
from tests.support.engine.store.stores import Bench, batch, message
from tests.support.engine.upkeep.damage import flip


def small(*, agrees: bool = False) -> Bench:
    """A store whose queues of batches have ten units a file."""
    return Bench(mapper_file_size_batch_consume_queue=460, agrees=agrees)


# Putting.


def test_batch_is_stored_whole_with_its_offset_and_epoch() -> None:
    bench = small()
    first, second = fill_kafka(bench, 3, 2)
    spans = [bytes(span) for span in bench.store.batches.get(TOPIC, 0, 0, 1 << 20).spans]
    assert spans == [with_place(first, 0), with_place(second, 3)]
    assert bench.store.max_offset(TOPIC, 0) == 5
    for found in fetched(bench.store.batches.get(TOPIC, 0, 0, 1 << 20)):
        found.check_crc()


def test_record_of_a_batch_is_an_inner_batch_that_is_not_unwrapped() -> None:
    bench = small()
    data = kafka_batch(b"a", b"b")
    result = put_kafka(bench.store, data)
    (record,) = decode_all(b"".join(bench.store.get(TOPIC, 0, 0, 32, whole=True).records))
    assert (result.queue_offset, result.count) == (0, 2)
    assert record.sys_flag == SysFlag.INNER_BATCH
    assert record.properties == {"INNER_NUM": "2", "INNER_BASE": "0", PROPERTY_KAFKA: "2"}
    assert record.born_timestamp == Batch(memoryview(data)).max_timestamp
    assert record.body == with_place(data, 0)
    assert [arrival.next_offset for arrival in bench.arrivals] == [2]


@pytest.mark.parametrize("count", [0, -1, 32768])
def test_batch_of_a_count_that_no_unit_holds_is_refused(count: int) -> None:
    bench = small()
    result = bench.store.batches.put(message(TOPIC), kafka_batch(b"a"), count, EPOCH)
    assert result.status is PutStatus.MESSAGE_ILLEGAL
    assert str(count) in result.remark
    assert bench.store.max_physical_offset == 0


def test_batch_is_refused_by_a_queue_of_messages() -> None:
    bench = small()
    assert put_kafka(bench.store, kafka_batch(b"a"), "orders").status is PutStatus.MESSAGE_ILLEGAL


def test_batch_is_refused_while_the_store_refuses() -> None:
    bench = small()
    bench.store.disk_settled("the disk is full")
    result = put_kafka(bench.store, kafka_batch(b"a"))
    assert (result.status, result.remark) == (PutStatus.SERVICE_NOT_AVAILABLE, "the disk is full")
    bench.store.disk_settled("")
    assert put_kafka(bench.store, kafka_batch(b"a")).queue_offset == 0


def test_batch_of_a_producer_of_rocketmq_never_counts_as_one_of_kafka() -> None:
    """Its property is removed: its body is not what readers of the property expect."""
    bench = small()
    bench.store.put_inner_batch(message(TOPIC, 0, batch(b"a", b"b"), {PROPERTY_KAFKA: "2"}))
    bench.store.dispatch()
    assert values(read_all(bench.store)) == [b"a", b"b"]


def test_batch_with_a_checksum_of_the_whole_record_is_read() -> None:
    bench = Bench(enabled_append_prop_crc=True)
    (data,) = fill_kafka(bench, 3)
    again = bench.kill()
    assert [bytes(one.data) for one in read_all(again.store)] == [with_place(data, 0)]


def test_batch_of_a_producer_with_an_ipv6_address_is_read() -> None:
    bench = small()
    data, put = kafka_batch(b"a"), message(TOPIC, 0, b"", {})
    put.born_host = put.store_host = bytes(20)
    bench.store.batches.put(put, data, 1, EPOCH)
    bench.store.dispatch()
    assert [bytes(one.data) for one in read_all(bench.store)] == [with_place(data, 0)]


# What becomes of the records.


@pytest.mark.parametrize("end", ["kill", "restart"])
def test_batches_are_there_after_the_end_of_the_process(end: str) -> None:
    bench = small()
    sent = fill_kafka(bench, 3, 1, 40, 2)
    again = getattr(bench, end)()
    offsets = [0, 3, 4, 44]
    assert [bytes(one.data) for one in read_all(again.store)] == list(map(with_place, sent, offsets))
    assert put_kafka(again.store, kafka_batch(b"next")).queue_offset == 46


def test_truncation_removes_whole_batches() -> None:
    bench = small()
    fill_kafka(bench, 3)
    end = bench.store.max_physical_offset
    fill_kafka(bench, 5, 2)
    bench.clock.advance(10_000)
    bench.store.tick()
    assert bench.store.cut(end)
    assert [one.count for one in read_all(bench.store)] == [3]
    assert put_kafka(bench.store, kafka_batch(b"next")).queue_offset == 3


def test_slave_has_the_same_batches() -> None:
    master = small()
    sent = fill_kafka(master, 3, 1, 7)
    slave = Bench(mapper_file_size_batch_consume_queue=460, broker_role=BrokerRole.SLAVE)
    slave.store.raw.append(0, master.store.raw.read(0, master.store.max_physical_offset))
    slave.store.dispatch()
    assert [bytes(one.data) for one in read_all(slave.store)] == list(map(with_place, sent, [0, 3, 4]))


def test_damaged_batch_is_skipped_by_readers() -> None:
    bench = small()
    fill_kafka(bench, 2, 2, 2)
    bench.store.stop()
    again = bench.again()
    position = again.store.consume_queue_units(TOPIC, 0, 2, 1)[0][0]
    flip(again.disk, f"/store/commitlog/{0:020d}", position + 120, 3)
    found = again.store.batches.get(TOPIC, 0, 2, 1 << 20)
    assert [one.base_offset for one in fetched(found)] == [4]


# Reading.


def test_offset_inside_a_batch_gives_the_whole_batch() -> None:
    bench = small()
    fill_kafka(bench, 5, 5)
    found = bench.store.batches.get(TOPIC, 0, 7, 1 << 20)
    assert [one.base_offset for one in fetched(found)] == [5]
    assert (found.status, found.next_offset, found.count) == (GetStatus.FOUND, 10, 5)


def test_first_batch_is_given_although_it_is_larger_than_the_limit() -> None:
    bench = small()
    sent = fill_kafka(bench, 50, 1, 1)
    found = bench.store.batches.get(TOPIC, 0, 0, 1)
    assert [bytes(span) for span in found.spans] == [with_place(sent[0], 0)]


def test_batches_are_given_up_to_the_limit_and_never_cut() -> None:
    bench = small()
    sent = fill_kafka(bench, *[4] * 9)
    found = bench.store.batches.get(TOPIC, 0, 0, 5 * len(sent[0]))
    assert 1 < len(found.spans) < 5
    assert found.size == sum(map(len, found.spans)) <= 5 * len(sent[0])
    assert found.next_offset == 4 * len(found.spans)


def test_more_batches_are_read_than_one_page_of_units_has() -> None:
    bench = Bench(mapped_file_size_commit_log=1 << 20)
    fill_kafka(bench, *[1] * 150)
    assert len(bench.store.batches.get(TOPIC, 0, 0, 1 << 20).spans) == 150


@pytest.mark.parametrize(
    ("offset", "status"),
    [(4, GetStatus.OFFSET_OVERFLOW_ONE), (5, GetStatus.OFFSET_OVERFLOW_BADLY)],
)
def test_nothing_is_read_from_the_end_on(offset: int, status: GetStatus) -> None:
    bench = small()
    fill_kafka(bench, 2, 2)
    found = bench.store.batches.get(TOPIC, 0, offset, 1 << 20)
    assert (found.status, found.spans) == (status, [])


def test_batches_beyond_what_replicas_agreed_on_are_not_read() -> None:
    bench = small(agrees=True)
    agreement = bench.store.agreement
    assert agreement is not None
    fill_kafka(bench, 2)
    end = bench.store.max_physical_offset
    fill_kafka(bench, 2)
    agreement.limit = end
    assert [one.base_offset for one in read_all(bench.store)] == [0]
    agreement.limit = None
    assert [one.base_offset for one in read_all(bench.store)] == [0, 2]


# Ordinary messages.


def test_run_of_messages_becomes_one_batch() -> None:
    bench = small()
    bench.put(message("orders", 0, b"a", {"KEYS": "k"}), message("orders", 0, b"b", {}))
    (found,) = read_all(bench.store, "orders", leader_epoch=EPOCH)
    assert (found.base_offset, found.last_offset, found.leader_epoch) == (0, 1, EPOCH)
    assert values([found]) == [b"a", b"b"]


def test_queue_with_both_kinds_is_read_in_order() -> None:
    bench = small()
    fill_kafka(bench, 2)
    bench.put(message(TOPIC, 0, b"m"), message(TOPIC, 0, b"n"))
    fill_kafka(bench, 1)
    bench.store.put_inner_batch(message(TOPIC, 0, batch(b"x", b"y", b"z")))
    bench.store.dispatch()
    found = read_all(bench.store)
    assert [(one.base_offset, one.count) for one in found] == [(0, 2), (2, 2), (4, 1), (5, 3)]
    assert values(found) == [b"0-0", b"0-1", b"m", b"n", b"0-0", b"x", b"y", b"z"]


def test_built_batch_begins_at_the_offset() -> None:
    """A built batch has no bytes that a producer sent, so it is not given from its beginning."""
    bench = small()
    bench.store.put_inner_batch(message(TOPIC, 0, batch(b"x", b"y", b"z")))
    bench.store.dispatch()
    (found,) = fetched(bench.store.batches.get(TOPIC, 0, 1, 1 << 20))
    assert (found.base_offset, values([found])) == (1, [b"y", b"z"])


def test_unreadable_batch_of_a_client_is_one_message_and_is_passed() -> None:
    bench = small()
    bench.store.put_inner_batch(message(TOPIC, 0, b"not elements", {"INNER_NUM": "3"}))
    bench.store.dispatch()
    fill_kafka(bench, 1)
    assert [(one.base_offset, one.count) for one in read_all(bench.store)] == [(0, 1), (3, 1)]


@pytest.mark.parametrize("topic", ["orders", TOPIC])
def test_as_many_messages_become_batches_as_are_allowed(topic: str) -> None:
    bench = small()
    bench.put(*[message(topic, 0, b"%d" % number) for number in range(7)])
    found = bench.store.batches.get(topic, 0, 0, 1 << 20, most_built=3)
    assert (values(fetched(found)), found.built, found.next_offset) == ([b"0", b"1", b"2"], 3, 3)


def test_no_message_is_built_without_allowance_but_batches_are_read() -> None:
    bench = small()
    fill_kafka(bench, 1)
    bench.put(message(TOPIC, 0, b"m"))
    found = bench.store.batches.get(TOPIC, 0, 0, 1 << 20, most_built=0)
    assert (len(found.spans), found.next_offset) == (1, 1)
    assert bench.store.batches.get(TOPIC, 0, 1, 1 << 20, most_built=0).spans == []


def test_built_batch_has_a_limit_of_messages() -> None:
    bench = Bench(mapped_file_size_commit_log=1 << 20)
    bench.put(*[message(TOPIC, 0, b"") for _ in range(BUILT_RECORDS_MAX + 1)])
    found = bench.store.batches.get(TOPIC, 0, 0, 1 << 20, most_built=1 << 20)
    assert [one.count for one in fetched(found)] == [BUILT_RECORDS_MAX, 1]


_steps = st.lists(st.tuples(st.sampled_from(["kafka", "message", "inner"]), st.integers(1, 4)), max_size=12)


@settings(deadline=None, max_examples=60)
@given(steps=_steps, limit=st.sampled_from([1, 300, 1 << 20]))
def test_every_offset_gives_what_was_put_there(steps: list[tuple[str, int]], limit: int) -> None:
    bench, sent = Bench(), list[bytes]()
    for kind, count in steps:
        bodies = [b"%d" % (len(sent) + index) for index in range(count)]
        if kind == "kafka":
            put_kafka(bench.store, kafka_batch(*bodies))
        elif kind == "inner":
            bench.store.put_inner_batch(message(TOPIC, 0, batch(*bodies)))
        else:
            bench.put(*[message(TOPIC, 0, body) for body in bodies])
        bench.store.dispatch()
        sent += bodies
    for offset in range(len(sent)):
        found = fetched(bench.store.batches.get(TOPIC, 0, offset, limit))
        first = found[0]
        assert first.base_offset <= offset <= first.last_offset
        begin = first.base_offset
        assert values(found) == sent[begin : begin + len(values(found))]


def test_place_of_a_batch_is_none_for_a_message() -> None:
    bench = small()
    bench.put(message(TOPIC, 0, PROPERTY_KAFKA.encode() + b"\1" + b"2\2", {}, sys_flag=0))
    body = bench.store.get(TOPIC, 0, 0, 1).body
    assert batch_place(body) is None


# Copies.


def copied(bench: Bench, offset: int, *values: bytes) -> PutStatus:
    """Put a batch with its own offset and the epoch 9; return the status."""
    data = with_place(kafka_batch(*values), offset, 9)
    status = bench.store.batches.put_copy(message(TOPIC, 0, b"", {}), data, offset, len(values)).status
    bench.store.dispatch()
    return status


def test_copy_keeps_offset_epoch_and_bytes() -> None:
    bench = small()
    assert copied(bench, 5, b"a", b"b") is copied(bench, 7, b"c") is PutStatus.PUT_OK
    found = read_all(bench.store)
    assert [(one.base_offset, one.leader_epoch) for one in found] == [(5, 9), (7, 9)]
    assert bytes(found[0].data) == with_place(kafka_batch(b"a", b"b"), 5, 9)
    assert (bench.store.min_offset(TOPIC, 0), bench.store.max_offset(TOPIC, 0)) == (5, 8)


def test_copy_may_leave_a_gap_and_lasts_over_a_restart() -> None:
    bench = small()
    copied(bench, 5, b"a")
    assert copied(bench, 9, b"b") is PutStatus.PUT_OK
    bench = bench.restart()
    assert [one.base_offset for one in read_all(bench.store)] == [5, 9]
    assert copied(bench, 10, b"c") is PutStatus.PUT_OK
    assert put_kafka(bench.store, kafka_batch(b"d")).queue_offset == 11


def test_copy_before_the_end_is_refused() -> None:
    bench = small()
    copied(bench, 5, b"a", b"b")
    assert copied(bench, 6, b"b") is PutStatus.SERVICE_NOT_AVAILABLE
    assert len(read_all(bench.store)) == 1
