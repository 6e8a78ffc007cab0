"""The journal: what is written again, what is released, and the order of writes."""

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator import journal as module
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.rebalance import write_error
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog, NotWritten, Records, Stored


class SlowLog(MemoryRecordsLog):
    """A log whose writes end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[Deferred[int], int]] = []

    def append(self, records: Records) -> Deferred[int]:
        first = self.end
        super().append(records)
        done: Deferred[int] = Deferred()
        self.waiting.append((done, first))
        return done

    def end_write(self, number: int) -> None:
        done, first = self.waiting[number]
        done.callback(first)

    def replay(self) -> Iterator[Stored]:
        return iter(self.records)


def replayed(log: MemoryRecordsLog) -> dict[bytes, bytes]:
    """Return what a start would find."""
    state: dict[bytes, bytes | None] = {}
    state.update((record.key, record.value) for record in log.records)
    return {key: value for key, value in state.items() if value is not None}


def test_records_older_than_the_limit_are_written_again_and_the_former_ones_released() -> None:
    log = MemoryRecordsLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"a", b"1"), (b"b", b"2")]), 0)
    journal.write(Records([(b"a", b"3")]), 500)
    journal.refresh(900, 1000)
    assert log.end == 3
    journal.refresh(1001, 1000)
    assert [(record.offset, record.key) for record in log.records] == [(2, b"a"), (3, b"b")]
    assert replayed(log) == {b"a": b"3", b"b": b"2"}


def test_obsolete_records_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OBSOLETE_MIN", 50)
    log = MemoryRecordsLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"old", b"x")]), 0)
    for number in range(100):
        journal.write(Records([(b"a", b"%d" % number)]), number)
    journal.refresh(100, 10**9)
    assert len(log.records) == 2
    assert replayed(log) == {b"old": b"x", b"a": b"99"}


def test_tombstone_ends_a_record() -> None:
    log = MemoryRecordsLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"a", b"1")]), 0)
    journal.write(Records([(b"a", None)]), 1)
    assert len(journal) == 0
    journal.refresh(5000, 1000)
    assert log.records == []


def test_record_whose_successor_is_on_its_way_is_not_written_again() -> None:
    log = SlowLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"a", b"1")]), 0)
    log.end_write(0)
    journal.write(Records([(b"a", b"2")]), 10)
    journal.refresh(5000, 1000)
    assert len(log.waiting) == 2
    log.end_write(1)
    assert replayed(log) == {b"a": b"2"}


def test_writes_end_in_the_order_of_their_begin() -> None:
    log = SlowLog()
    journal = RecordJournal(log, "groups")
    ended: list[str] = []
    journal.write(Records([(b"a", b"1")]), 0).addCallback(lambda _: ended.append("first"))
    journal.write(Records([(b"a", b"2")]), 0).addCallback(lambda _: ended.append("second"))
    log.end_write(1)
    assert ended == []
    log.end_write(0)
    assert ended == ["first", "second"]


def test_failed_write_changes_nothing_and_does_not_stop_later_ones() -> None:
    log = SlowLog()
    journal = RecordJournal(log, "groups")
    outcomes: list[object] = []
    journal.write(Records([(b"a", b"1")]), 0).addErrback(
        lambda failure: outcomes.append(write_error(failure))
    )
    journal.write(Records([(b"b", b"2")]), 0).addCallback(outcomes.append)
    log.waiting[0][0].errback(NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no space"))
    log.end_write(1)
    assert outcomes == [ErrorCode.COORDINATOR_NOT_AVAILABLE, None]
    assert len(journal) == 1


def test_failed_refresh_is_tried_again() -> None:
    log = SlowLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"a", b"1")]), 0)
    log.end_write(0)
    journal.refresh(5000, 1000)
    log.waiting[1][0].errback(NotWritten(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no space"))
    journal.refresh(5000, 1000)
    log.end_write(2)
    assert len(journal) == 1
    assert log.records[0].offset == 2


def test_journal_of_a_log_that_is_read_again_knows_the_same() -> None:
    log = MemoryRecordsLog()
    journal = RecordJournal(log, "groups")
    journal.write(Records([(b"a", b"1"), (b"b", b"2"), (b"a", None)]), 0)
    again = RecordJournal(log, "groups")
    assert list(again.load()) == [(b"a", b"1"), (b"b", b"2"), (b"a", None)]
    assert len(again) == 1
