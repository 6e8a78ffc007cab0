"""A log copied byte by byte: the copy is equal, and readable up to its end."""

import errno

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.options import BrokerRole, FlushDiskType
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.store.raw_log import ForeignBytes
from tests.support.engine.store.kafka_batches import fill_kafka, kafka_batch, put_kafka, read_all
from tests.support.engine.store.stores import Bench, batch, drain, message


def slave(**changes: object) -> Bench:
    return Bench(broker_role=BrokerRole.SLAVE, **changes)


def master(count: int = 40) -> Bench:
    """Return a store with several files of messages of all kinds."""
    bench = Bench()
    for number in range(count):
        bench.store.put(
            message(queue_id=number % 3, body=b"%d" % number * 40, properties={"KEYS": f"k{number}"})
        )
        bench.store.put_batch(message("others"), batch(b"x", b"y"))
        bench.store.put_inner_batch(message("batched", body=batch(b"1", b"2", b"3")))
        bench.store.put(message("half", sys_flag=4))
        bench.clock.advance(1)
    bench.store.dispatch()
    return bench


def copy(source: MessageStore, target: MessageStore, step: int, until: int | None = None) -> None:
    """Copy from the target's end on, in chunks that stay within files."""
    end = source.raw.position if until is None else until
    while target.raw.position < end:
        at = target.raw.position
        size = min(step, end - at, source.raw.file_size - at % source.raw.file_size)
        target.raw.append(at, source.raw.read(at, size))
    target.dispatch()


def log_bytes(bench: Bench) -> bytes:
    names = bench.disk.listdir("/store/commitlog")
    return b"".join(bench.disk.read_bytes(f"/store/commitlog/{name}") for name in names)


def everything(bench: Bench) -> list[list[tuple[int, int, bytes]]]:
    places = [("orders", 0), ("orders", 1), ("orders", 2), ("others", 0), ("batched", 0)]
    return [
        [(one.queue_offset, one.physical_offset, one.body) for one in drain(bench.store, *place)]
        for place in places
    ]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5000))
def test_a_copy_is_the_same_log_with_the_same_queues(step: int) -> None:
    original, replica = master(12), slave()
    copy(original.store, replica.store, step)
    assert log_bytes(replica) == log_bytes(original)
    assert everything(replica) == everything(original)
    assert replica.store.query("orders", "k5", 9, 0, 1 << 60).records


def test_appended_records_notify_arrivals_as_puts() -> None:
    original, replica = master(3), slave()
    copy(original.store, replica.store, 100)
    listed = [(one.topic, one.queue_id, one.next_offset, one.tags_code) for one in replica.arrivals]
    assert ("orders", 2, 1, 0) in listed
    assert ("batched", 0, 9, 97) in listed


def test_only_what_says_more_than_a_unique_key_is_parsed() -> None:
    original, replica = Bench(), slave()
    key = "7F00000100002A139F5545CA0EDB0000"
    for name in ("CLUSTER", "TAGS", "KEYS"):
        original.store.put(message(properties={"UNIQ_KEY": key, name: "x"}))
    original.store.dispatch()
    replica.store.raw.append(0, original.store.raw.read(0, original.store.raw.position))
    waiting = replica.store.raw._dispatch.waiting
    assert [isinstance(one.properties, dict) for one in waiting] == [False, True, True]
    replica.store.dispatch()
    assert [one.tags_code for one in replica.arrivals] == [0, 120, 0]
    assert everything(replica) == everything(original)
    for store in (original.store, replica.store):
        assert len(store.query("orders", key, 9, 0, 1 << 60).records) == 3


@pytest.mark.parametrize("end", ["restart", "kill", "crash"])
def test_slave_continues_behind_its_last_whole_record(end: str) -> None:
    original, replica = master(), slave()
    copy(original.store, replica.store, 700, until=9999)
    replica.clock.advance(20_000)
    replica.store.tick()
    last = replica.store.raw.last_record()
    assert last is not None
    again = {"restart": replica.restart, "kill": replica.kill, "crash": lambda: replica.crash(1)}[end]()
    assert again.store.raw.position == last.start + len(last.record)
    assert again.store.raw.last_record() == last
    copy(original.store, again.store, 700)
    assert log_bytes(again) == log_bytes(original)
    assert everything(again) == everything(original)


def test_slave_that_becomes_master_continues_with_its_queues() -> None:
    original, replica = master(), slave()
    copy(original.store, replica.store, 333)
    replica.changes["broker_role"] = BrokerRole.SYNC_MASTER
    promoted = replica.restart()
    assert promoted.put(message(queue_id=1)) == [original.store.max_offset("orders", 1)]


def test_an_empty_log_begins_with_the_file_that_comes_first() -> None:
    original, replica = master(), slave()
    begin = original.store.raw.position // 4096 * 4096
    assert begin
    replica.store.raw.append(begin, original.store.raw.read(begin, 50))
    copy(original.store, replica.store, 500)
    newest = [[one for one in queue if one[1] >= begin] for queue in everything(original)]
    assert replica.store.raw.min_offset == begin
    assert everything(replica) == newest
    again = replica.restart()
    assert everything(again) == newest
    assert log_bytes(again) == log_bytes(original)[begin:]


def test_a_first_file_that_is_empty_does_not_hinder() -> None:
    """Such as one that RocketMQ's broker has created ahead."""
    original, replica = master(), slave()
    replica.disk.open("/store/commitlog/00000000000000000000", create=True).truncate(4096)
    replica = replica.restart()
    replica.store.raw.append(4096, original.store.raw.read(4096, 4096))
    assert replica.store.raw.min_offset == 4096
    assert replica.disk.listdir("/store/commitlog") == ["00000000000000004096"]


def test_foreign_bytes_are_refused_and_not_written() -> None:
    original, replica = master(), slave()
    raw = replica.store.raw
    data = original.store.raw.read(0, 400)
    raw.append(0, data)
    with pytest.raises(ForeignBytes, match="do not continue"):
        raw.append(500, data)
    with pytest.raises(ForeignBytes, match="beyond the end of a file"):
        raw.append(400, bytes(4000))
    with pytest.raises(ForeignBytes, match="is not a record"):
        raw.append(400, b"\1" * 500)
    with pytest.raises(ForeignBytes, match="where none of its files begins"):
        slave().store.raw.append(77, data)
    assert raw.position == 400
    copy(original.store, replica.store, 1000)
    assert log_bytes(replica) == log_bytes(original)


def test_rotten_bytes_are_refused() -> None:
    original, replica = master(), slave()
    data = bytearray(original.store.raw.read(0, 400))
    data[90] ^= 1
    with pytest.raises(ForeignBytes, match="CRC"):
        replica.store.raw.append(0, bytes(data))
    assert replica.store.raw.position == 0


def test_files_of_another_length_are_refused() -> None:
    original, replica = master(), slave(mapped_file_size_commit_log=8192)
    with pytest.raises(ForeignBytes, match="mappedFileSizeCommitLog"):
        copy(original.store, replica.store, 4096)


def test_sick_disk_takes_nothing_and_later_continues() -> None:
    original, replica = master(), slave()
    copy(original.store, replica.store, 400, until=1000)
    replica.disk.fail_next("write", "/commitlog/", errno.ENOSPC, part=0.5)
    with pytest.raises(OSError, match="space"):
        copy(original.store, replica.store, 400)
    replica.store.tick()
    copy(original.store, replica.store, 400)
    assert log_bytes(replica) == log_bytes(original)


def test_recreated_topic_counts_from_zero() -> None:
    original, replica = master(), slave()
    copy(original.store, replica.store, 999)
    original.store.admin.delete_topics(["orders"])
    original.put(message(body=b"new"))
    copy(original.store, replica.store, 999)
    assert [one.body for one in drain(replica.store)] == [b"new"]


def test_batch_of_an_unknown_topic_enters_a_queue_of_batches() -> None:
    """A slave may become the master before it has copied the topics."""
    source = Bench()
    fill_kafka(source, 3, 2)
    copied = slave(knows_topics=False)
    copy(source.store, copied.store, 4096)
    assert [one.base_offset for one in read_all(copied.store)] == [0, 3]
    assert put_kafka(copied.store, kafka_batch(b"next")).queue_offset == 5


def test_topic_made_again_within_one_chunk_starts_from_zero() -> None:
    """Its former messages wait for dispatch when the first new one arrives."""
    original, replica = Bench(), slave()
    original.put(*[message(body=b"old %d" % number) for number in range(3)])
    original.store.admin.delete_topics(["orders"])
    original.put(message(body=b"new"))
    copy(original.store, replica.store, 4096)
    assert [one.body for one in drain(replica.store)] == [b"new"]


def test_messages_that_can_be_in_no_queue_are_copied_all_the_same() -> None:
    original, replica = master(), slave(max_queues=2)
    copy(original.store, replica.store, 999)
    assert log_bytes(replica) == log_bytes(original)
    assert replica.store.max_offset("batched", 0) == 0
    assert replica.store.max_offset("others", 0) == 80


def test_with_sync_flush_messages_are_seen_once_they_are_durable() -> None:
    original = master(3)
    replica = slave(flush_disk_type=FlushDiskType.SYNC_FLUSH)
    copy(original.store, replica.store, 999)
    assert replica.store.max_offset("orders", 0) == 0
    said: list[PutStatus] = []
    replica.store.when_flushed(replica.store.raw.position, said.append)
    replica.store.tick()
    assert said == [PutStatus.PUT_OK]
    assert replica.store.max_offset("orders", 0) == 1


def test_the_last_record_is_known_too_where_the_log_was_ours_to_write_meanwhile() -> None:
    original = master(3)
    replica = slave()
    copy(original.store, replica.store, 999)
    before = replica.store.raw.last_record()
    put = replica.store.put(message(body=b"new"))
    last = replica.store.raw.last_record()
    assert before is not None and last is not None
    assert (last.start, before.start < last.start) == (put.physical_offset, True)


def test_the_last_record_of_a_new_log_is_none() -> None:
    assert slave().store.raw.last_record() is None


def test_old_parts_are_read_when_they_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(newest_log_bytes=100)
    for _ in range(60):
        bench.put(message())
    first = bench.store.raw.read(0, 100)
    monkeypatch.setattr(type(bench.disk.open("/store/commitlog/" + "0" * 20)), "read_ready", lambda *_: None)
    with pytest.raises(ColdRead):
        bench.store.raw.read(0, 100)
    assert len(first) == 100


def test_read_outside_of_raw_log_raises() -> None:
    with pytest.raises(OSError, match="not in the log"):
        Bench().store.raw.read(0, 10)


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_record_that_arrived_in_part_is_requested_again(flush: FlushDiskType) -> None:
    """From any later master; a synced part of it does not count as durable for what replaces it."""
    original, replica = master(), slave(flush_disk_type=flush)
    copy(original.store, replica.store, 333, until=1000)
    replica.store.when_flushed(1000, lambda _: None)
    replica.store.tick()
    last = replica.store.raw.last_record()
    assert last is not None
    end = last.start + len(last.record)
    assert end < 1000
    replica.store.raw.drop_partial()
    assert replica.store.raw.position == end
    assert replica.store.flushed_offset <= end
    copy(original.store, replica.store, 333)
    replica.store.when_flushed(replica.store.raw.position, lambda _: None)
    replica.store.tick()
    assert replica.store.flushed_offset == original.store.raw.position
    assert log_bytes(replica) == log_bytes(original)
    assert everything(replica) == everything(original)
