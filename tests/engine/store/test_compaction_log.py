"""One compacted queue: results of reads, and sizes of files."""

import pytest

from mqgateway.engine.message import tags_code
from mqgateway.engine.store.compaction_log import ENTRIES_MIN, CompactionLog, compact, places
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.results import GetStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.support.engine.store.compacting import (
    LOG_SIZE,
    QUEUE_SIZE,
    TOPIC,
    Bench,
    Queue,
    compaction_options,
)


def bench_with(*keys: str) -> Bench:
    bench = Bench()
    for number, key in enumerate(keys):
        bench.queue.put(key, b"%d" % number)
    return bench


@pytest.mark.parametrize(
    ("offset", "status", "next_offset"),
    [
        (0, GetStatus.FOUND, 3),
        (2, GetStatus.FOUND, 3),
        (3, GetStatus.OFFSET_OVERFLOW_ONE, 3),
        (9, GetStatus.OFFSET_OVERFLOW_BADLY, 0),
    ],
)
def test_read_returns_next_offset(offset: int, status: GetStatus, next_offset: int) -> None:
    result = bench_with("a", "b", "c").get(offset)
    assert (result.status, result.next_offset) == (status, next_offset)
    assert (result.min_offset, result.max_offset) == (0, 3)


def test_a_read_from_an_offset_that_is_gone_gets_the_next_one() -> None:
    bench = bench_with(*["a"] * 30)
    bench.compact()
    low = bench.get().min_offset
    assert low > 5
    result = bench.get(5, count=1)
    assert (result.status, list(result.queue_offsets)) == (GetStatus.FOUND, [low])
    assert bench.get(99).next_offset == 30


def test_a_read_takes_no_more_than_it_may() -> None:
    bench = bench_with("a", "b", "c")
    assert bench.get(count=2).next_offset == 2
    one = bench.compaction.get(TOPIC, 0, 0, 32, 100, None)
    assert (one.count, one.next_offset) == (1, 1)


def test_tags_and_expressions_choose() -> None:
    bench = bench_with("a", "b", "c")
    assert bench.get(accept=frozenset({tags_code("b")})).count == 3
    assert bench.get(accept=frozenset({7})).status is GetStatus.NO_MATCHED_MESSAGE
    assert bench.get(accept=frozenset({7})).next_offset == 3
    chosen = bench.get(accept=lambda properties: properties["KEYS"] == "b")
    assert list(chosen.queue_offsets) == [1]


def test_a_message_without_a_key_and_one_longer_than_a_file_stay_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = bench_with("a")
    bench.queue.put(None)
    bench.queue.put("b", bytes(LOG_SIZE))
    bench.queue.put("c")
    assert [offset for offset, _, _ in bench.kept()] == [0, 3]
    assert "has no key" in caplog.text
    assert "is too long" in caplog.text


@pytest.mark.parametrize(
    ("log_size", "queue_size", "expected"),
    [(1024, 460, (2300, 460)), (100 << 20, 10 << 20, (104857460, 10485746)), (3000, 470, (3220, 460))],
)
def test_file_sizes_are_the_standards(log_size: int, queue_size: int, expected: tuple[int, int]) -> None:
    options = compaction_options(
        compaction_mapped_file_size=log_size, compaction_cq_mapped_file_size=queue_size
    )
    found = places(options, "/store/compaction", "T", 1)
    assert (found.log_size, found.queue_size) == expected
    assert found.queue_directory == "/store/compaction/compactionCq/T/1"


def test_more_keys_than_can_be_distinguished_have_their_turn_the_next_time() -> None:
    queue, disk = Queue(), CrashDisk()
    for number in range(300):
        queue.put(f"key{number % 150}", b"%d" % number)
    options = compaction_options()
    log = CompactionLog(options, FilePool(disk), places(options, "/store/compaction", TOPIC, 0))
    log.load()
    log.catch_up(lambda offset, count: queue.records(TOPIC, 0, offset, count), 0, 300)
    plan = log.plan(-1, ENTRIES_MIN)
    assert plan is not None
    replacement = compact(disk, plan)
    assert replacement.position == ENTRIES_MIN - 1
    log.replaced(disk, replacement)
    assert log.files.max_offset == 300
    again = log.plan(replacement.position, 1000)
    assert again is not None
    log.replaced(disk, compact(disk, again))
    assert log.files.min_offset >= 140


def test_compacted_segments_are_not_compacted_again() -> None:
    bench = bench_with(*["a"] * 30)
    bench.compact()
    before = bench.disk.operations
    bench.clock.advance(25_000)
    bench.compaction.tick()
    assert bench.disk.operations == before


def test_sizes_fit_the_units() -> None:
    assert QUEUE_SIZE % 46 == 0
