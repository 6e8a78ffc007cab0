"""A whole check: no findings for an intact store, and every flipped bit covered by the formats is
detected.
"""

import random

import pytest

from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.store import schema
from mqgateway.engine.store.record import decode
from mqgateway.engine.upkeep.check import check_store
from tests.support.engine.store.stores import ROOT, message, options
from tests.support.engine.upkeep.damage import (
    CONFIG,
    LOG,
    QUEUE,
    change,
    check,
    fill,
    filled,
    findings,
    flip,
    put_file,
    the_finding,
)


def test_a_sound_store_has_no_findings_and_all_is_counted() -> None:
    report = check(filled(40))
    assert report.findings.kept == []
    assert report.is_sound
    assert (report.records, report.units, report.queues) == (52, 52, 4)
    assert report.index_entries == 40 * 4 + 4 + 8
    assert not report.is_unclean


def test_an_empty_store_is_sound() -> None:
    report = check(filled(0))
    assert report.is_sound
    assert report.records == 0


def test_a_store_whose_oldest_files_have_gone_is_sound() -> None:
    """Units and entries of records that retention deleted are valid."""
    disk = filled(60)
    for name in disk.listdir(LOG)[:2]:
        disk.unlink(f"{LOG}/{name}")
    report = check(disk)
    assert report.findings.kept == []
    assert report.log_start == 8192


def covered_bytes(raw: bytes, at: int) -> list[int]:
    """Return the bytes of a record that are covered."""
    size = int.from_bytes(raw[at : at + 4], "big")
    fields = decode(raw, at)
    found = list(range(at, at + 16)) + list(range(at + 20, at + 36)) + list(range(at + 84, at + size))
    hidden = bytes(raw[at : at + size]).find(b"DELAY")
    assert fields.size == size
    return [n for n in found if hidden < 0 or n < at + hidden - 2]


def test_no_flipped_bit_of_a_record_stays_hidden() -> None:
    """Size, magic, CRC, queue, offsets, body, topic and the properties used for derived files."""
    disk = filled(9)
    path = f"{LOG}/{0:020d}"
    raw = disk.read_bytes(path)
    choose = random.Random(1)
    at, tried = 0, 0
    while int.from_bytes(raw[at + 4 : at + 8], "big") == schema.MAGIC_V1:
        for byte in choose.sample(covered_bytes(raw, at), 25):
            undo = flip(disk, path, byte, choose.randrange(8))
            assert findings(disk), f"byte {byte - at} of the record at {at}"
            undo()
            tried += 1
        at += int.from_bytes(raw[at : at + 4], "big")
    assert tried > 200
    assert not findings(disk)


@pytest.mark.parametrize("part", ["consumequeue/orders/0", "consumequeue/SCHEDULE_TOPIC_XXXX/2"])
def test_no_flipped_bit_of_a_unit_stays_hidden(part: str) -> None:
    disk = filled(12)
    path = f"{ROOT}/{part}/{0:020d}"
    count = len(disk.read_bytes(path).rstrip(b"\0")) // 20 + 1
    for byte in range(min(count, 3) * 20):
        undo = flip(disk, path, byte, byte % 8)
        assert findings(disk), f"byte {byte}"
        undo()


def test_no_flipped_bit_of_an_index_entry_or_slot_stays_hidden() -> None:
    disk = filled(12)
    path = f"{ROOT}/index/{disk.listdir(f'{ROOT}/index')[0]}"
    choose = random.Random(2)
    entries_at = 40 + 4 * 16
    places = range(40), range(40, entries_at), range(entries_at + 20, entries_at + 40 * 20)
    for place in places:
        for byte in choose.sample(place, 30):
            undo = flip(disk, path, byte, choose.randrange(8))
            assert findings(disk), f"byte {byte}"
            undo()


def test_a_store_that_was_killed_has_notes_only() -> None:
    """Faults that the next start repairs are not damage."""
    bench = fill(20)
    report = check(bench.disk.kill())
    assert report.is_unclean
    assert report.is_sound
    assert {finding.part for finding in report.findings.kept} >= {"state", "consumequeue"}
    assert all("next start" in finding.advice for finding in report.findings.kept)


def test_a_store_after_power_cuts_that_recovered_is_sound() -> None:
    """The result of our own recovery passes the check."""
    for seed in range(6):
        bench = fill(15)
        again = bench.crash(seed)
        again.put(message("orders", 0, b"after"))
        again.store.stop()
        report = check(again.disk)
        assert report.is_sound, [str(f) for f in report.findings.kept]


def test_a_store_in_use_is_refused_and_read_when_forced() -> None:
    bench = fill(5)
    with pytest.raises(StoreUnavailable, match="stop it first"):
        check(bench.disk)
    report = check_store(bench.disk, options(), force=True)
    assert report.is_sound
    assert report.records == 8
    bench.store.stop()


def test_missing_store_is_refused_with_advice() -> None:
    disk = filled(1)
    with pytest.raises(StoreUnavailable, match="is not a folder"):
        check(disk, settings=options(store_path_root_dir="/nowhere"))
    with pytest.raises(StoreUnavailable, match="--config"):
        check(disk, settings=options(store_path_root_dir=f"{ROOT}/consumequeue"))


def test_findings_beyond_the_limit_are_counted() -> None:
    disk = filled(40)
    put_file(disk, QUEUE, bytes(200))
    disk.rmtree(f"{ROOT}/consumequeue/SCHEDULE_TOPIC_XXXX")
    report = check(disk, limit=1)
    assert len(report.findings.kept) == 1
    assert report.findings.left_out == report.findings.errors - 1 > 0


def test_the_log_ends_before_what_the_queues_know() -> None:
    """The last record of a cleanly stopped store is damaged: nothing follows, but its unit exists."""
    disk = filled(3)
    path = f"{LOG}/{0:020d}"
    change(disk, path, disk.read_bytes(path).rindex(b"body 2"), b"\xff")
    found = {finding.part: finding for finding in findings(disk)}
    assert "consume queues know records up to" in found["commitlog"].what
    assert found["commitlog"].path == path


def test_old_bytes_after_the_end_are_a_note() -> None:
    disk = filled(3)
    path = f"{LOG}/{0:020d}"
    change(disk, path, 3000, b"remains of another time")
    finding = the_finding(disk, "note")
    assert finding.part == "commitlog"
    assert "not a record" in finding.what
    assert not findings(disk)


def test_consumer_offsets_beyond_their_queue_are_noted() -> None:
    disk = filled(10)
    put_file(
        disk, f"{CONFIG}/consumerOffset.json", b'{"offsetTable":{"orders@g":{0:5,1:900},"gone@g":{0:1}}}'
    )
    finding = the_finding(disk, "note")
    assert "g stands at 900 of orders queue 1, which ends at 5" in finding.what


def test_it_says_how_far_it_is() -> None:
    said: list[tuple[str, int, int]] = []
    check_store(filled(40), options(), progress=lambda *each: said.append(each))
    assert list(dict.fromkeys(stage for stage, _, _ in said)) == [
        "opening queues",
        "reading the log",
        "closing queues",
    ]
    assert all(0 <= done <= total for _, done, total in said)


def test_a_topic_that_was_deleted_and_created_again() -> None:
    """The log still has the old records; offsets restart after them."""
    bench = fill(20)
    bench.store.admin.delete_topics(["orders"])
    for number in range(7):
        bench.put(message("orders", number % 2, b"new %d" % number))
    bench.store.stop()
    report = check(bench.disk)
    assert report.findings.kept == []
    assert report.units == 7 + 2 + 4


def test_a_topic_that_was_deleted() -> None:
    """Its records are no error if the table of topics does not have it, but they are if it does."""
    bench = fill(20)
    bench.store.admin.delete_topics(["orders"])
    bench.store.stop()
    disk = bench.disk
    assert findings(disk)
    put_file(disk, f"{CONFIG}/topics.json", b'{"topicConfigTable":{"pay":{}}}')
    assert findings(disk) == []
    assert "20 records are of 1 topics that were deleted: orders" in the_finding(disk, "note").what
    put_file(disk, f"{CONFIG}/topics.json", b'{"topicConfigTable":{"pay":{},"orders":{}}}')
    assert findings(disk)


def test_the_last_file_of_the_log_is_missed() -> None:
    disk = filled()
    last = disk.listdir(LOG)[-1]
    disk.unlink(f"{LOG}/{last}")
    found = next(finding for finding in findings(disk) if finding.path == f"{LOG}/{last}")
    assert found.what.startswith("is missing: consume queues know records up to")
