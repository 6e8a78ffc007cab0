"""The walk over entries: every record of them, past damage, and no further than the log goes."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.raft.files.entry import encode
from mqgateway.engine.raft.files.properties import read_noted
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.record import decode
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files
from mqgateway.engine.upkeep.ledger import LedgerFiles, find_log
from mqgateway.engine.upkeep.ledger_walk import LedgerWalk, walk_of
from mqgateway.engine.upkeep.walk import LogWalk
from tests.support.engine.raft.ledgers import DATA, LEDGER, into_ledger
from tests.support.engine.store.stores import ROOT, options
from tests.support.engine.upkeep.damage import change, filled


def walked(disk: Disk, is_past_end: bool = True) -> tuple[LedgerWalk, Findings, list[tuple[str, int]]]:
    """The walk, and body and physical offset of each record."""
    layout, findings = Layout(disk, options()), Findings()
    walk = walk_of(find_log(layout, findings), findings, read_noted(disk, LEDGER), lambda _: is_past_end)
    assert isinstance(walk, LedgerWalk)
    found = []
    for data, at, position, size in walk.records():
        message = decode(data, at)
        assert (message.physical_offset, message.size) == (position, size)
        found.append((message.body.decode(), position))
    return walk, findings, found


def bodies_of(disk: Disk) -> list[str]:
    findings = Findings()
    files = find_files(FilePool(disk), f"{ROOT}/commitlog", StorePart.LOG, findings, "")
    walk = walk_of(files, findings, None, lambda _: True)
    assert type(walk) is LogWalk
    return [decode(data, at).body.decode() for data, at, _, _ in walk.records()]


@pytest.mark.parametrize("older", [0, 1])
def test_every_record_whatever_lies_below(older: int) -> None:
    disk = filled(40)
    bodies = bodies_of(disk)
    walk, findings, found = walked(into_ledger(disk, older))
    assert [body for body, _ in found] == bodies
    assert (walk.damaged, walk.has_rest, findings.kept) == ([], False, [])
    assert walk.last is not None
    assert walk.last.position + walk.last.size == walk.end
    assert walk.last.index + 1 == sum(position >= older * 4096 for _, position in found)


@pytest.mark.parametrize("byte", [0, 5, 11, 27, 44, 48 + 9, 48 + 90])
def test_a_damaged_entry_is_passed_over(byte: int) -> None:
    """Whatever is wrong: magic, size, index, position, body size, the record and its body."""
    disk = into_ledger(filled(40))
    _, _, before = walked(disk)
    place = before[3][1] - 48
    change(disk, DATA, place + byte, b"\x7f")
    walk, findings, found = walked(disk)
    assert found == before[:3] + before[4:]
    assert walk.damaged == [(place, before[4][1] - 48)]
    assert findings.kept[0].offset == place
    assert findings.kept[0].path == DATA


def test_a_blank_that_is_gone() -> None:
    disk = into_ledger(filled(40))
    _, _, before = walked(disk)
    raw = disk.read_bytes(DATA)
    change(disk, DATA, raw.rindex(b"\xff\xff\xff\xff\0"), bytes(8))
    walk, findings, found = walked(disk)
    assert found == before
    assert len(findings.kept) == len(walk.damaged) == 1


def test_old_entries_behind_the_end_are_none() -> None:
    """A member of Apache's leaves them there when it cuts its log."""
    disk = into_ledger(filled(40))
    walk, _, before = walked(disk)
    assert walk.last is not None
    name, at = f"{LEDGER}/data/{walk.end - walk.end % 4096:020d}", walk.end % 4096
    record = disk.read_bytes(DATA)[48 : int.from_bytes(disk.read_bytes(DATA)[4:8], "big")]
    place = walk.end + 20
    old = encode(walk.last.index + 2, 1, place, record[:28] + (place + 48).to_bytes(8, "big") + record[36:])
    change(disk, name, at, b"the end of an old one"[:20] + old)
    again, findings, found = walked(disk)
    assert (found, again.end, findings.kept) == (before, walk.end, [])
    assert again.has_rest
    lost, findings, found = walked(disk, is_past_end=False)
    assert len(found) == len(before) + 1
    assert lost.damaged == [(walk.end, place)]


@pytest.mark.parametrize(("index", "term", "why"), [(9, 9, "follows entry"), (0, 1, "is of term 1")])
def test_an_entry_that_does_not_follow_ends_the_log(index: int, term: int, why: str) -> None:
    disk = into_ledger(filled(40))
    walk, _, before = walked(disk)
    assert walk.last is not None
    name, at = f"{LEDGER}/data/{walk.end - walk.end % 4096:020d}", walk.end % 4096
    record = disk.read_bytes(DATA)[48 : int.from_bytes(disk.read_bytes(DATA)[4:8], "big")]
    body = record[:28] + (walk.end + 48).to_bytes(8, "big") + record[36:]
    change(disk, name, at, encode(walk.last.index + 1 + index, term, walk.end, body))
    again, _, found = walked(disk)
    assert found == before
    assert why in again.ended_by


def test_a_record_larger_than_what_is_read_at_once() -> None:
    disk = into_ledger(filled(40))
    layout = Layout(disk, options())
    files = find_log(layout, Findings())
    assert isinstance(files, LedgerFiles)
    walk = LedgerWalk(files, Findings(), read_noted(disk, LEDGER), lambda _: True)
    assert walk._size_in(files.read(0, 48), 0) == int.from_bytes(files.read(4, 4), "big")
