"""All of a DLedger member's store is checked, and each kind of damage is reported."""

from pathlib import Path

import pytest

from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.files.properties import write_progress, write_vote
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.record import decode
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.findings import StorePart
from mqgateway.engine.upkeep.rebuild import rebuild_store
from mqgateway.engine.upkeep.stats import count_store
from tests.support.engine.raft.ledgers import (
    DATA,
    FILE_SIZE,
    INDEX,
    INDEX_FILE_SIZE,
    LEDGER,
    append_record,
    into_ledger,
    onto_real_disk,
)
from tests.support.engine.store.stores import options
from tests.support.engine.upkeep.damage import change, check, filled, findings, the_finding


@pytest.mark.parametrize("older", [0, 1])
def test_a_sound_store(older: int) -> None:
    disk = into_ledger(filled(40), older)
    report = check(disk)
    assert report.is_sound
    assert (report.records, report.queues) == (52, 4)
    assert report.units == 52
    ledger = report.ledger
    assert ledger is not None
    assert ledger.first is not None
    assert ledger.last is not None
    assert (ledger.first.index, ledger.entries) == (0, ledger.last.index + 1)
    assert ledger.noted.committed == ledger.last.index


def test_a_unit_of_the_index_that_says_something_else() -> None:
    disk = into_ledger(filled(40))
    change(disk, INDEX, 3 * 32 + 11, b"\x01")
    found = the_finding(disk)
    assert (found.part, found.path, found.offset) == (StorePart.LEDGER, INDEX, 96)
    assert "has a unit for entry 3" in found.what


def test_an_index_that_is_gone() -> None:
    disk = into_ledger(filled(10))
    for name in disk.listdir(f"{LEDGER}/index"):
        disk.unlink(f"{LEDGER}/index/{name}")
    assert all("the unit of entry" in found.what for found in findings(disk))


def test_entries_that_were_committed_and_are_not_there() -> None:
    disk = into_ledger(filled(40))
    write_progress(disk, LEDGER, 99, 99)
    found = the_finding(disk)
    assert found.path == f"{LEDGER}/checkpoint"
    assert "entries up to 99 were committed, the last one is 51" in found.what


def test_a_term_that_was_lost() -> None:
    disk = into_ledger(filled(40))
    write_vote(disk, LEDGER, 1, "n0")
    assert "says term 1, the last entry is of term 5" in the_finding(disk).what


def test_a_damaged_record() -> None:
    disk = into_ledger(filled(40))
    change(disk, DATA, 48 + 90, b"\x7f")
    assert any(found.path == DATA and "CRC" in found.what for found in findings(disk))


def test_queues_are_rebuilt_from_entries(tmp_path: Path) -> None:
    settings = onto_real_disk(into_ledger(filled(40), 1), tmp_path)
    root, disk = settings.store_path_root_dir, RealDisk()
    queue = f"{root}/consumequeue/orders/0/{0:020d}"
    before = disk.read_bytes(queue)
    change(disk, queue, 0, bytes(40))
    assert not check_store(disk, settings).is_sound
    report = rebuild_store(disk, settings, discard=True)
    assert (report.records, report.findings.errors) == (52, 0)
    assert disk.read_bytes(queue) == before
    assert check_store(disk, settings).is_sound


@pytest.mark.parametrize("older", [0, 1])
def test_figures(older: int) -> None:
    figures = count_store(into_ledger(filled(40), older), options(), lambda _: 0)
    assert (figures.messages, figures.queues, figures.log_start) == (52, 4, 0)
    assert figures.first_timestamp == 1_700_000_000_000
    assert figures.log_end == check(into_ledger(filled(40), older)).log_end


def test_uncommitted_entries_need_no_units_and_index_entries() -> None:
    """As of a follower that was stopped cleanly: it learns of the last commit a second late."""
    disk = into_ledger(filled(40))
    log = FileLog(disk, LEDGER, FILE_SIZE, INDEX_FILE_SIZE)
    last = log.entry(log.end_index)
    assert last is not None
    following = (decode(last.body).queue_offset + 1).to_bytes(8, "big")
    append_record(log, last.body[:20] + following + last.body[28:], log.end_term)
    report = check(disk)
    assert (report.records, report.units) == (53, 52)
    assert [finding.part for finding in report.findings.kept if finding.severity == "error"] == []
    assert {finding.part for finding in report.findings.kept} >= {StorePart.QUEUE, StorePart.INDEX}
