"""Whole compactions of a queue, over a simulated disk: compared with a model, and cut off at each write."""

from __future__ import annotations

import errno
import random
from collections.abc import Sequence

import pytest

from mqgateway.engine.cleaner.compacting import (
    TOGETHER,
    CleaningPlan,
    CompactionResult,
    compacting,
    slots_within,
)
from mqgateway.engine.cleaner.offset_map import SLOT_SIZE, slots_for
from mqgateway.engine.message import PROPERTY_KEYS
from mqgateway.engine.steps import run
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.batch_records import offsets_of
from mqgateway.engine.store.compacted_part import CompactedPart
from mqgateway.engine.store.expansion import expand, holds_record_batch
from mqgateway.engine.store.record import decode
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from tests.support.engine.cleaning import Row, batch_record, stored

PATH = "/store/compacted/t/0"
Values = dict[str, tuple[int, bytes]]
"""Offset and body of the newest message of each key."""


class Log:
    """A queue in the log, whose first records may be gone. Some are read together."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.end = 0
        self.gone = 0

    def add(self, rows: Sequence[Row], time: int = 0) -> None:
        """Append a batch."""
        self.records.append(batch_record(self.end, rows, time=time))
        self.end += len(rows)

    def send(self, key: str, body: bytes) -> None:
        """Append a message of RocketMQ."""
        self.records.append(stored(body, {PROPERTY_KEYS: key}, self.end))
        self.end += 1

    def read(self, offset: int) -> tuple[Sequence[bytes], int]:
        """Return up to three records."""
        places = [(offsets_of(record), record) for record in self.records]
        found = [place for place in places if place[0][1] > offset][:3]
        records = [record for place, record in found if place[0] >= self.gone]
        return records, found[-1][0][1] if found else self.end


def plan(log: Log, part: CompactedPart | None, **more: object) -> CleaningPlan:
    """Return the plan to compact all of a queue."""
    begin = 0 if part is None else part.end
    known = CleaningPlan(0, begin, log.end, slots_for(BATCH_COUNT_MAX), (), {}, 0, 1000)
    return known._replace(**more)  # type: ignore[arg-type]


def part_of(disk: CrashDisk) -> CompactedPart | None:
    """Return the compacted part, if there is one."""
    return CompactedPart(disk, PATH) if disk.exists(PATH) else None


def compact(disk: CrashDisk, log: Log, **more: object) -> CompactionResult:
    """Compact a queue."""
    part = part_of(disk)
    return run(compacting(disk, PATH, part, log, plan(log, part, **more)))


def newest(records: Sequence[bytes]) -> Values:
    """Return the newest message of each key, as readers of RocketMQ see it."""
    found: Values = {}
    for record in records:
        is_batch = holds_record_batch(record)
        for each in expand(record, lambda *problem: pytest.fail(str(problem))) if is_batch else [record]:
            message = decode(each)
            key = message.properties.get(PROPERTY_KEYS)
            if key is not None:
                found[key] = message.queue_offset, message.body
    return found


def all_records(disk: CrashDisk, log: Log) -> list[bytes]:
    """Return the compacted part, and what the log has behind it."""
    part = part_of(disk)
    if part is None:
        return list(log.records)
    return [*part.records(), *(record for record in log.records if offsets_of(record)[0] >= part.end)]


A, B = (b"a", b"1"), (b"b", b"2")


def test_part_has_the_newest_record_of_each_key() -> None:
    disk, log = CrashDisk(), Log()
    for number in range(20):
        log.add([A, (b"%d" % (number % 3), b"x")])
    log.send("a", b"last")
    result = compact(disk, log)
    part = CompactedPart(disk, PATH)
    assert newest(list(part.records())) == newest(log.records)
    assert (part.begin, part.end) == (0, 41)
    assert result == CompactionResult(41, 21, 4, part.size, 0)


def test_next_compaction_takes_the_part_along() -> None:
    disk, log = CrashDisk(), Log()
    log.add([A, B])
    compact(disk, log)
    log.gone = log.end
    log.add([(b"a", b"3")])
    result = compact(disk, log)
    assert newest(list(CompactedPart(disk, PATH).records())) == {"a": (2, b"3"), "b": (1, b"2")}
    assert (result.records_read, result.records_kept) == (2, 2)


def test_records_before_the_start_are_dropped() -> None:
    disk, log = CrashDisk(), Log()
    log.add([A])
    log.add([B, (b"c", b"3")])
    compact(disk, log)
    compact(disk, log, start=2)
    part = CompactedPart(disk, PATH)
    assert (part.begin, [offsets_of(record) for record in part.records()]) == (2, [(1, 3)])


def test_queue_that_begins_inside_a_batch_is_compacted_from_there() -> None:
    disk, log = CrashDisk(), Log()
    log.add([A, B])
    compact(disk, log, begin=1, start=1)
    part = CompactedPart(disk, PATH)
    assert (part.begin, part.end) == (1, 2)
    assert list(part.records()) == log.records


def test_keys_that_do_not_fit_are_left_for_the_next_time() -> None:
    disk, log = CrashDisk(), Log()
    for number in range(100):
        log.add([(b"%d" % number, b"x"), A])
    ends = [compact(disk, log, slots=slots_for(30)).end]
    while ends[-1] < log.end:
        assert newest(all_records(disk, log)) == newest(log.records)
        ends.append(compact(disk, log, slots=slots_for(30)).end)
    assert ends == [58, 116, 174, 200]
    assert newest(list(CompactedPart(disk, PATH).records())) == newest(log.records)


def test_records_that_are_gone_are_passed_over() -> None:
    disk, log = CrashDisk(), Log()
    for _ in range(10):
        log.add([A])
    log.gone = 10
    assert compact(disk, log) == CompactionResult(10, 0, 0, 0, 0)
    assert CompactedPart(disk, PATH).end == 10


def test_step_takes_few_records() -> None:
    disk, log = CrashDisk(), Log()
    for number in range(100):
        log.add([(b"%d" % number, b"x")])
    compact(disk, log)
    part = CompactedPart(disk, PATH)
    assert len(list(compacting(disk, PATH, part, log, plan(log, part)))) == 100 // TOGETHER + 1


def test_map_is_as_large_as_needed_and_allowed() -> None:
    assert slots_within(1 << 30, 1_000_000) == slots_for(1_000_000)
    assert slots_within(100_000 * SLOT_SIZE, 1_000_000) == 100_000
    assert slots_within(0, 1_000_000) == slots_within(1 << 30, 0) == slots_for(BATCH_COUNT_MAX)


def grow(log: Log, choose: random.Random) -> None:
    """Append some messages."""
    for _ in range(choose.randint(1, 12)):
        key = b"k%d" % choose.randint(0, 9)
        if choose.random() < 0.2:
            log.send(key.decode(), choose.randbytes(3))
        else:
            others = [
                (b"k%d" % choose.randint(0, 9), choose.randbytes(choose.randint(0, 20))) for _ in range(3)
            ]
            log.add([(key, choose.randbytes(3)), *others][: choose.randint(1, 4)])


@pytest.mark.parametrize("seed", range(15))
def test_power_cut_at_any_write_loses_no_value(seed: int) -> None:
    """Whenever the power goes, the part is the old or the new one, and the next compaction continues."""
    choose = random.Random(seed)
    disk, log = CrashDisk(), Log()
    for _ in range(4):
        grow(log, choose)
        before = all_records(disk, log)
        left: list[CrashDisk] = []

        def cut(operation: Operation, left: list[CrashDisk] = left, disk: CrashDisk = disk) -> None:
            left.append(disk.crash(choose.randint(0, 1 << 30)))

        disk.watch = cut
        compact(disk, log, slots=slots_for(choose.choice([15, 1000])))
        disk.watch = None
        after = all_records(disk, log)
        for crashed in left:
            assert all_records(crashed, log) in (before, after)
        disk = choose.choice(left)
        compact(disk, log)
        assert newest(all_records(disk, log)) == newest(log.records)
        log.gone = log.end


@pytest.mark.parametrize("skip", range(6))
def test_failed_disk_leaves_the_old_part(skip: int) -> None:
    disk, log = CrashDisk(), Log()
    log.add([A])
    compact(disk, log)
    log.add([(b"a", b"x" * 70_000), B])
    before = all_records(disk, log)
    fault = disk.fail_next("any", PATH, errno.ENOSPC, skip=skip)
    try:
        compact(disk, log)
    except OSError:
        assert newest(all_records(disk, log)) == newest(before)
        disk.heal()
        compact(disk, log)
    assert fault.has_hit or skip > 4
    assert newest(all_records(disk, log)) == newest(log.records)
