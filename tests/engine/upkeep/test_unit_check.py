"""Consume queues, each spoilt in one way: what is said of it."""

from tests.support.engine.store.stores import ROOT, message
from tests.support.engine.upkeep.damage import (
    LOG,
    QUEUE,
    change,
    fill,
    filled,
    findings,
    put_file,
    the_finding,
)

QUEUES = f"{ROOT}/consumequeue"


def test_a_unit_that_is_not_as_its_record_says() -> None:
    disk = filled(10)
    change(disk, QUEUE, 47, b"\xee")
    finding = the_finding(disk)
    assert (finding.path, finding.offset) == (QUEUE, 40)
    assert finding.what.startswith("unit 2 is")
    assert "store rebuild" in finding.advice


def test_units_that_were_never_written() -> None:
    disk = filled(10)
    change(disk, QUEUE, 20, bytes(40))
    assert "units 1 to 2 are missing" in the_finding(disk).what


def test_missing_units_at_the_end_of_a_cleanly_stopped_store() -> None:
    disk = filled(10)
    change(disk, QUEUE, 60, bytes(40))
    assert "units 3 to 4 are missing" in the_finding(disk).what


def test_a_queue_that_is_lost_altogether() -> None:
    disk = filled(10)
    disk.rmtree(f"{QUEUES}/orders/1")
    finding = the_finding(disk)
    assert "units 0 to 4 are missing" in finding.what
    assert finding.path.startswith(f"{QUEUES}/orders/1/")


def test_a_unit_without_a_record() -> None:
    disk = filled(10)
    unit = disk.open(QUEUE).read(0, 20)
    change(disk, QUEUE, 100, unit)
    assert "unit 5 has offset 0, where no record of its queue lies" in the_finding(disk).what


def test_something_after_the_last_unit() -> None:
    """It would mislead the search for the end of the queue."""
    disk = filled(10)
    change(disk, QUEUE, 190, b"\x05")
    finding = the_finding(disk)
    assert finding.offset == 190
    assert "something after the last unit, 4" in finding.what


def test_a_queue_of_a_topic_whose_records_have_gone_is_fine() -> None:
    bench = fill(1)
    bench.put(message("old", 0))
    for _ in range(60):
        bench.put(message("orders", 0, bytes(100)))
    bench.store.stop()
    disk = bench.disk
    for name in disk.listdir(LOG)[:1]:
        disk.unlink(f"{LOG}/{name}")
    assert findings(disk) == []


def test_a_queue_that_was_never_part_of_the_log() -> None:
    disk = filled(4)
    put_file(disk, f"{QUEUES}/strange/0/{0:020d}", (b"\1" * 20).ljust(200, b"\0"))
    assert "where no record of its queue lies" in the_finding(disk).what


def test_blank_units_before_the_first_are_fine_and_others_are_not() -> None:
    """A queue may begin anywhere; what stands before its first unit is blank."""
    disk = filled(60)
    change(disk, QUEUE, 0, bytes.fromhex("0000000000000000 7fffffff 0000000000000000"))
    # The records are still there, so that a blank is not what should be there.
    assert "unit 0 is" in the_finding(disk).what
    disk.unlink(f"{LOG}/{0:020d}")
    assert findings(disk) == []


def test_units_of_damaged_records_are_not_reported_too() -> None:
    disk = filled(30)
    raw = disk.read_bytes(f"{LOG}/{0:020d}")
    change(disk, f"{LOG}/{0:020d}", raw.index(b"body 4"), b"X")
    assert {finding.part for finding in findings(disk)} == {"commitlog"}


def test_a_missing_file_of_a_queue() -> None:
    disk = filled(50)
    disk.unlink(f"{QUEUES}/orders/0/{200:020d}")
    found = findings(disk)
    assert [finding.what.split(",")[0] for finding in found] == [
        f"is missing: {400:020d} is the next file",
        "units 10 to 19 are missing",
    ]


def test_a_record_with_an_offset_that_another_has() -> None:
    disk = filled(10)
    path = f"{LOG}/{0:020d}"
    raw = disk.read_bytes(path)
    at = raw.index(b"body 6") - 88
    assert disk.open(path).read(at + 20, 8) == (3).to_bytes(8, "big")
    change(disk, path, at + 20, (1).to_bytes(8, "big"))
    assert "unit 1 is that of a second record" in findings(disk)[0].what
