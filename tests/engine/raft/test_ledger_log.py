"""A store on a log of entries: what is put, what a leader pushes, what is cut, and starts."""

from __future__ import annotations

from random import Random

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.state import Duplicate
from mqgateway.engine.raft.files.entry import HEAD_SIZE
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.ledger_log import LedgerLog, opening
from mqgateway.engine.raft.log import Entry
from mqgateway.engine.raft.messages import Code
from mqgateway.engine.raft.quorum import AppendRefused
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import PutResult, PutStatus
from mqgateway.engine.tail import messages_since
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.producing import put_mapped
from tests.support.engine.store.stores import HOST, ROOT, batch, drain, message, options

FOLDER = f"{ROOT}/dledger-n0"


class Ledger:
    """A store on the log of the leader of a group with one member, or of a follower."""

    def __init__(self, disk: CrashDisk | None = None, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.log = LedgerLog(self.disk, FOLDER, 4096, 4096, older=f"{ROOT}/commitlog")
        self.term = 1
        self.refused: Code | None = None
        self.store = MessageStore(
            options(),
            disk=self.disk,
            clock=self.clock,
            worker=InlineWorker(),
            store_host=HOST,
            memory=1 << 30,
            commit_log=self.log,
        )
        self.log.serve(self.store, self)
        self.report = self.store.start()

    def check(self) -> None:
        if self.refused is not None:
            raise AppendRefused(self.refused)

    def append(self, body: bytes) -> None:
        self.log.entries.append(self.term, body)

    def put(self, text: str) -> PutResult:
        return self.store.put(message(body=text.encode()))

    def commit(self, index: int | None = None) -> None:
        """Entries are synced and committed, up to this or the last one."""
        entries = self.log.entries
        work = entries.unsynced()
        if work is not None:
            work.sync()
            entries.note_synced(work)
        entries.note_committed(entries.end_index if index is None else index)
        self.store.dispatch()

    def bodies(self) -> list[str]:
        return [found.body.decode() for found in drain(self.store)]

    def push(self, other: Ledger) -> None:
        """Have another one append what it lacks of this one."""
        for entry in self.log.entries.entries(other.log.entries.end_index + 1, 1 << 20):
            other.log.entries.append_entry(entry)

    def stop(self) -> Ledger:
        self.log.entries.save_progress()
        work = self.log.entries.unsynced(thorough=True)
        if work is not None:
            work.sync()
        self.store.stop()
        return Ledger(self.disk, self.clock)

    def kill(self, seed: int | None = None) -> Ledger:
        return Ledger(self.disk.kill() if seed is None else self.disk.crash(seed), self.clock)


def test_records_lie_48_bytes_behind_their_entries_and_are_read_when_committed() -> None:
    ledger = Ledger()
    put = [ledger.put(f"message {number}") for number in range(30)]
    assert {each.status for each in put} == {PutStatus.PUT_OK}
    ledger.store.dispatch()
    assert ledger.bodies() == []
    ledger.commit(9)
    assert ledger.bodies() == [f"message {number}" for number in range(10)]
    ledger.commit()
    assert len(ledger.bodies()) == 30
    entries = [ledger.log.entries.entry(number) for number in range(30)]
    assert [each.physical_offset for each in put] == [
        entry.position + HEAD_SIZE for entry in entries if entry
    ]
    assert ledger.log.files.starts == [0, 4096]
    assert ledger.store.flushed_offset == ledger.store.max_physical_offset
    assert ledger.store.earliest_store_time() == put[0].store_timestamp
    later = messages_since(ledger.store, put[20].physical_offset, 4096, b"message")
    assert [each.queue_offset for each in later if each is not None] == list(range(20, 30))
    later = messages_since(ledger.store, put[19].end_offset, 4096, b"message")
    assert [each.queue_offset for each in later if each is not None] == list(range(20, 30))


def test_each_message_of_a_batch_is_an_entry() -> None:
    ledger = Ledger()
    elements = batch(b"one", b"two!", b"three")
    put = ledger.store.put_batch(message(body=b""), elements)
    assert (put.status, put.queue_offset, put.count) == (PutStatus.PUT_OK, 0, 3)
    assert put.end_offset == ledger.log.entries.end_position
    assert ledger.log.entries.end_index == 2
    ledger.commit()
    assert ledger.bodies() == ["one", "two!", "three"]
    assert len(ledger.store.query("orders", "k", 9, 0, 1 << 60).records) == 3


def test_a_log_that_takes_nothing_now_says_busy() -> None:
    ledger = Ledger()
    ledger.refused = Code.LEADER_TRANSFERRING
    put = ledger.put("no")
    assert put.status is PutStatus.OS_PAGE_CACHE_BUSY
    assert "LEADER_TRANSFERRING" in put.remark


def test_a_follower_dispatches_what_is_committed_and_forgets_what_is_cut() -> None:
    leader, follower = Ledger(), Ledger()
    for number in range(5):
        leader.put(f"message {number}")
    leader.push(follower)
    follower.commit(2)
    assert follower.bodies() == ["message 0", "message 1", "message 2"]
    follower.log.entries.cut(3)
    assert follower.put("mine").queue_offset == 4
    follower.commit()
    assert follower.bodies() == ["message 0", "message 1", "message 2", "message 3", "mine"]


def test_batch_of_a_producer_that_was_truncated_is_stored_again() -> None:
    ledger = Ledger()
    first, second = ProducerBatch(7, 0, 0, 1), ProducerBatch(7, 0, 1, 1)
    for produced in (first, second):
        assert put_mapped(ledger.store, produced).status is PutStatus.PUT_OK
    ledger.log.entries.cut(0)
    producers = ledger.store.producers
    assert isinstance(producers.check("orders", 0, first), Duplicate)
    assert producers.check("orders", 0, second) is None
    ledger.commit()
    assert isinstance(producers.check("orders", 0, first), Duplicate)
    assert producers.check("orders", 0, second) is None


def test_entry_without_a_record_is_in_no_queue_and_ends_the_log_at_the_next_start() -> None:
    ledger = Ledger()
    ledger.put("first")
    entries = ledger.log.entries
    entries.append_entry(Entry(1, 1, entries.place(5), b"alien"))
    ledger.put("second")
    ledger.commit()
    assert ledger.bodies() == ["first", "second"]
    again = ledger.kill()
    again.commit()
    assert again.bodies() == ["first"]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_start_leaves_what_is_not_known_as_committed(how: str) -> None:
    ledger = Ledger()
    for number in range(20):
        ledger.put(f"message {number}")
    ledger.commit(11)
    ledger.log.entries.save_progress()
    again = ledger.stop() if how == "stop" else ledger.kill()
    assert again.bodies() == [f"message {number}" for number in range(12)]
    assert again.log.entries.end_index == 19
    assert again.put("next").queue_offset == 20
    again.commit()
    assert again.bodies() == [*(f"message {number}" for number in range(20)), "next"]


@pytest.mark.parametrize("seed", range(12))
def test_power_cuts_take_nothing_that_was_synced(seed: int) -> None:
    random = Random(seed)
    ledger, kept = Ledger(), list[str]()
    for _ in range(4):
        for _ in range(random.randrange(12)):
            text = f"message {len(kept)} " + "x" * random.randrange(900)
            assert ledger.put(text).status is PutStatus.PUT_OK
            kept.append(text)
        ledger.commit()
        ledger.log.entries.save_progress()
        lost = ledger.put("not synced").queue_offset
        assert lost == len(kept)
        ledger = ledger.kill(random.randrange(1 << 30))
        entries = ledger.log.entries
        assert len(kept) <= entries.end_index + 1 <= len(kept) + 1
        entries.cut(len(kept) - 1)
        assert ledger.bodies() == kept


def test_log_that_starts_over_has_queues_that_do() -> None:
    ledger = Ledger()
    for number in range(20):
        ledger.put(f"message {number}")
    ledger.commit()
    leader = Ledger()
    for number in range(100):
        leader.put(f"of another {number}")
    leader.commit()
    leader.log.drop_first_file()
    first = leader.log.entries.begin_index
    entries = ledger.log.entries
    entries.reset(first, leader.log.min_offset)
    leader.push(ledger)
    ledger.commit()
    assert ledger.store.min_offset("orders", 0) == first
    assert ledger.bodies() == [f"of another {number}" for number in range(first, 100)]
    assert ledger.stop().bodies() == [f"of another {number}" for number in range(first, 100)]


def test_a_term_is_opened_by_a_record_that_no_queue_gets() -> None:
    ledger = Ledger()
    ledger.put("first")
    entries = ledger.log.entries
    made = opening(ledger.clock, HOST)
    ledger.term = 2
    entry = entries.append(2, made.body(entries.place(made.size)))
    assert entry.size == HEAD_SIZE + made.size
    assert decode(entry.body).physical_offset == entry.position + HEAD_SIZE
    ledger.put("second")
    ledger.commit()
    assert ledger.bodies() == ["first", "second"]
    ledger = ledger.kill()
    ledger.commit()
    for again in (ledger, ledger.stop()):
        assert again.bodies() == ["first", "second"]
        assert again.store.queues() == {"orders": {0}}


def test_a_log_of_a_broker_by_itself_is_not_passed_over() -> None:
    disk = CrashDisk()
    disk.makedirs(f"{ROOT}/commitlog")
    disk.open(f"{ROOT}/commitlog/{0:020}", create=True).truncate(4096)
    with pytest.raises(StoreUnavailable, match="before it was in a DLedger group"):
        Ledger(disk)


def test_entries_on_another_disk() -> None:
    disk = CrashDisk()
    log = LedgerLog(disk, FOLDER, 4096, 0, "/other/entries")
    log.load(clean=False)
    log.entries.append(1, b"body")
    assert disk.listdir("/other/entries") == [f"{0:020}"]
    assert isinstance(log.entries, FileLog)


def test_old_file_is_left_to_what_removes_files() -> None:
    disk, removed = CrashDisk(), list[str]()
    log = LedgerLog(disk, FOLDER, 4096, 0, remove=removed.append)
    log.load(clean=False)
    for _ in range(3):
        log.entries.append(1, bytes(2000))
    log.drop_first_file()
    assert f"{FOLDER}/data/{0:020}" in removed
    assert f"{0:020}" in disk.listdir(f"{FOLDER}/data")
