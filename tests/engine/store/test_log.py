"""The contract of any log: of the commit log, and of the smallest possible one."""

from collections.abc import Callable

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import FlushDiskType, StoreOptions
from mqgateway.engine.store.commit_log import CommitLog
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.log import (
    ConfirmPolicy,
    Log,
    confirm_policy,
    flushed,
    record_at,
    store_time,
    written,
)
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.store.memory_log import MemoryLog
from tests.support.engine.store.stores import HOST, Bench, drain, message, options

Make = Callable[[CrashDisk, ConfirmPolicy], Log]


def commit_log(disk: CrashDisk, policy: ConfirmPolicy) -> Log:
    return CommitLog(FilePool(disk), "/store/commitlog", 4096, 4096, policy)


any_log = pytest.mark.parametrize("make", [commit_log, MemoryLog])


def opened(make: Make, policy: ConfirmPolicy = written) -> Log:
    log = make(CrashDisk(), policy)
    log.cut(0)
    return log


def append(log: Log, data: bytes) -> int:
    offset = log.reserve(len(data))
    log.write(data)
    return offset


@any_log
def test_an_empty_log_begins_and_ends_where_it_was_opened(make: Make) -> None:
    log = opened(make)
    assert (log.min_offset, log.end_offset, log.confirm_offset, log.flushed_offset) == (0, 0, 0, 0)
    assert log.read(0, 1) is None
    assert log.dirty_tail is None


@any_log
def test_a_record_lies_where_its_place_was_reserved(make: Make) -> None:
    log = opened(make)
    place = log.reserve(5)
    assert (log.reserve(5), log.end_offset) == (place, 0)
    log.write(b"first")
    assert (log.read(place, 5), log.end_offset) == (b"first", place + 5)
    assert append(log, b"second") >= place + 5
    assert log.read(place, 5) == b"first"


@any_log
def test_the_largest_record_that_it_names_fits(make: Make) -> None:
    log = opened(make)
    largest = bytes(log.record_size_max)
    assert log.read(append(log, largest), len(largest)) == largest


@any_log
def test_read_outside_of_log_returns_none(make: Make) -> None:
    log = opened(make)
    append(log, b"record")
    places = [(0, 0, 6), (1, 2, 4), (2, 0, 7), (3, 6, 1), (4, -1, 2), (5, 99, 1)]
    assert log.read_each(places) == [b"record", b"cord", None, None, None, None]
    assert [log.read(offset, size) for _, offset, size in places] == log.read_each(places)
    assert log.borrow_each(places) == log.read_each(places)
    assert log.read_joined(places[:2]) == b"recordcord"
    assert [log.read_joined([places[0], place]) for place in places[2:]] == [None] * 4


@any_log
def test_bytes_of_another_s_log_are_appended_as_they_are(make: Make) -> None:
    log = opened(make)
    log.write_raw(b"half a rec")
    log.write_raw(b"ord")
    assert (log.read(0, 13), log.end_offset) == (b"half a record", 13)


@any_log
def test_truncated_log_continues_at_new_end(make: Make) -> None:
    log = opened(make)
    append(log, b"kept")
    append(log, b"too much")
    log.flushed_offset = log.end_offset
    log.cut(4)
    assert (log.end_offset, log.flushed_offset, log.confirm_offset, log.opened_at) == (4, 4, 4, 4)
    assert (log.read(0, 4), log.read(4, 1)) == (b"kept", None)
    assert (append(log, b"new"), log.read(4, 3)) == (4, b"new")


@any_log
@pytest.mark.parametrize(("policy", "confirmed"), [(written, 6), (flushed, 2)])
def test_a_policy_says_how_far_it_is_confirmed(make: Make, policy: ConfirmPolicy, confirmed: int) -> None:
    log = opened(make, policy)
    append(log, b"record")
    log.flushed_offset = 2
    assert log.confirm_offset == confirmed


@pytest.mark.parametrize(("how", "policy"), [("SYNC_FLUSH", flushed), ("ASYNC_FLUSH", written)])
def test_the_settings_name_the_policy(how: str, policy: ConfirmPolicy) -> None:
    assert confirm_policy(StoreOptions(flush_disk_type=FlushDiskType[how])) is policy


class OnLog:
    """A store that was given a log."""

    def __init__(self, make: Make, **changes: object) -> None:
        self.disk, self.clock, self.worker = CrashDisk(), ManualClock(), MemoryWorker()
        settings = options(**changes)
        self.log = make(self.disk, confirm_policy(settings))
        self.store = MessageStore(
            settings,
            disk=self.disk,
            clock=self.clock,
            worker=self.worker,
            store_host=HOST,
            memory=1 << 30,
            commit_log=self.log,
        )
        self.store.start()


@any_log
def test_a_store_puts_and_reads_on_the_log_it_is_handed(make: Make) -> None:
    made = OnLog(make)
    store = made.store
    put = [store.put(message(body=b"%d" % number, properties={"KEYS": "k"})) for number in range(8)]
    assert made.log.end_offset == store.max_physical_offset == put[-1].end_offset
    store.dispatch()
    assert [found.body for found in drain(store)] == [b"%d" % number for number in range(8)]
    assert len(store.query("orders", "k", 99, 0, 1 << 60).records) == 8
    record = record_at(made.log, put[3].physical_offset)
    assert record is not None and record == store.record_at(put[3].physical_offset)
    assert record_at(made.log, put[3].physical_offset + 1) is None
    assert store_time(made.log, put[3].physical_offset) == put[3].store_timestamp
    assert store_time(made.log, put[-1].end_offset) == -1


@any_log
def test_readers_see_confirmed_records_and_waiting_ones_are_notified(make: Make) -> None:
    made = OnLog(make, flush_disk_type=FlushDiskType.SYNC_FLUSH)
    store, statuses = made.store, list[PutStatus]()
    put = store.put(message())
    store.when_flushed(put.end_offset, statuses.append)
    store.dispatch()
    assert (store.confirm_offset, store.max_offset("orders", 0), statuses) == (0, 0, [])
    made.worker.perform_all()
    assert store.confirm_offset == made.log.flushed_offset == put.end_offset
    assert (store.max_offset("orders", 0), statuses) == (1, [PutStatus.PUT_OK])


@any_log
def test_a_slave_s_log_takes_the_bytes_of_a_master_s(make: Make) -> None:
    master, slave = Bench(), OnLog(make)
    master.put(*[message(body=b"%d" % number) for number in range(5)])
    data = master.store.raw.read(0, master.store.max_physical_offset)
    for begin in range(0, len(data), 100):
        slave.store.raw.append(begin, data[begin : begin + 100])
    slave.store.dispatch()
    assert [found.body for found in drain(slave.store)] == [b"%d" % number for number in range(5)]
    slave.store.raw.append(len(data), data[:60])
    slave.store.raw.drop_partial()
    assert slave.log.end_offset == len(data)
