"""Index files, each damaged in one way, and the findings."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.index_file import ENTRY, ENTRY_SIZE
from mqgateway.engine.store.key_hashes import KeyHashes
from tests.support.engine.store.stores import ROOT, Bench, message, options
from tests.support.engine.upkeep.damage import change, check, filled, findings, the_finding

INDEX = f"{ROOT}/index"
ENTRIES_AT = 40 + 4 * 16


def files(disk: Disk) -> list[str]:
    return [f"{INDEX}/{name}" for name in disk.listdir(INDEX)]


def entry(number: int) -> int:
    return ENTRIES_AT + ENTRY_SIZE * number


def test_several_files_are_read_as_one() -> None:
    disk = filled(60)
    assert len(files(disk)) > 3
    report = check(disk)
    assert report.findings.kept == []
    assert report.index_entries == 60 * 4 + 6 + 12


def test_an_entry_of_no_record() -> None:
    disk = filled(10)
    path = files(disk)[0]
    key_hash, offset, seconds, previous = ENTRY.unpack(disk.open(path).read(entry(9), ENTRY_SIZE))
    change(disk, path, entry(9), ENTRY.pack(key_hash, offset + 1, seconds, previous))
    assert any("where no record begins" in finding.what for finding in findings(disk))


def test_an_entry_with_another_hash() -> None:
    disk = filled(10)
    path = files(disk)[0]
    key_hash, *rest = ENTRY.unpack(disk.open(path).read(entry(9), ENTRY_SIZE))
    change(disk, path, entry(9), ENTRY.pack(key_hash + 16, *rest))
    assert "1 keys without entry, 1 entries of no key" in the_finding(disk).what


@pytest.mark.parametrize(
    ("at", "what"),
    [
        (7, "the begin time is"),
        (15, "the end time is"),
        (23, "the begin offset is"),
        (31, "the end offset is"),
        (35, "slots are said to be used"),
        (40, "slots do not name the last entry of their chain"),
        (entry(3) + 15, "is 64 s after"),
        (entry(3) + 19, "is before it in its chain"),
    ],
)
def test_damaged_byte_is_reported(at: int, what: str) -> None:
    disk = filled(10)
    path = files(disk)[0]
    byte = disk.open(path).read(at, 1)[0]
    change(disk, path, at, bytes((byte ^ 0x40,)))
    found = findings(disk)
    assert found
    assert any(what in finding.what for finding in found), [finding.what for finding in found]
    assert {finding.path for finding in found} == {path}


def test_a_count_that_is_too_small_leaves_records_without_entry() -> None:
    disk = filled(10)
    path = files(disk)[0]
    change(disk, path, 36, (5).to_bytes(4, "big"))
    whats = " ".join(finding.what for finding in findings(disk))
    assert "have no entry" in whats
    assert "slots" in whats


def test_a_lost_file_leaves_records_without_entry() -> None:
    disk = filled(60)
    disk.unlink(files(disk)[1])
    assert any("records with keys, from" in finding.what for finding in findings(disk))


def test_files_of_another_shape() -> None:
    """Sizes of the usual proportions are recognized without settings, others need them."""
    disk = filled(10)
    with_defaults = check(disk, settings=options(max_hash_slot_num=5, max_index_num=20))
    assert with_defaults.is_sound
    disk.open(files(disk)[0]).truncate(1500)
    assert "--config" in the_finding(disk).advice


def keep(disk: Disk, path: str, hashes: set[int]) -> None:
    """Rewrite an index file with the entries of some hashes only."""
    file = disk.open(path)
    end = int.from_bytes(file.read(36, 4), "big")
    entries = [ENTRY.unpack(file.read(entry(number), ENTRY_SIZE)) for number in range(1, end)]
    last: dict[int, int] = {}
    number = 1
    for key_hash, offset, seconds, _ in entries:
        if key_hash in hashes:
            slot = key_hash % 16
            file.write(entry(number), ENTRY.pack(key_hash, offset, seconds, last.get(slot, 0)))
            last[slot] = number
            number += 1
    file.write(32, len(last).to_bytes(4, "big") + number.to_bytes(4, "big"))
    file.write(40, b"".join(last.get(slot, 0).to_bytes(4, "big") for slot in range(16)))


def test_without_tags_as_older_versions_write_it() -> None:
    """Entries for tags came with version 5.5: their absence is no damage."""
    bench = Bench()
    bench.put(message(properties={"UNIQ_KEY": "a", "TAGS": "t"}))
    bench.put(message(properties={"TAGS": "t"}))
    bench.put(message(properties={"UNIQ_KEY": "b", "KEYS": "c d", "TAGS": "t"}))
    bench.store.stop()
    disk = bench.disk
    of_key = KeyHashes().of_key
    keep(disk, files(disk)[0], {of_key("orders", key) for key in "abcd"})
    report = check(disk)
    assert report.findings.kept == []
    assert report.index_entries == 4
    keep(disk, files(disk)[0], {of_key("orders", key) for key in "abd"})
    assert "1 keys without entry, 0 entries of no key" in the_finding(disk).what


def test_slots_counted_for_every_entry_as_old_versions_do() -> None:
    disk = filled(10)
    path = files(disk)[0]
    change(disk, path, 32, (43).to_bytes(4, "big"))
    assert findings(disk) == []


def test_the_first_entry_may_count_from_the_file_before() -> None:
    """RocketMQ writes it so; if that file is gone, it cannot be verified."""
    disk = filled(60)
    first, second = files(disk)[:2]
    change(disk, first, entry(1) + 12, (5).to_bytes(4, "big"))
    assert findings(disk) == []
    change(disk, second, entry(1) + 12, (5).to_bytes(4, "big"))
    assert "entry 1 is 5 s after" in the_finding(disk).what
