"""Compacted parts as a view: loaded at starts, kept through crashes, dropped with their topics."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.store.compacted_part import BESIDE
from mqgateway.engine.store.views.compacted_parts import DAMAGED
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.kafka_batches import TOPIC
from tests.support.engine.store.stores import Bench

HOURS = 3_600_000
KEYS = st.integers(0, 5).map(lambda number: b"k%d" % number)
VALUES = st.one_of(st.none(), st.binary(max_size=20))
ROWS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)


def newest(batches: Sequence[Sequence[tuple[bytes, bytes | None]]]) -> dict[bytes, bytes | None]:
    """Return the newest value of each key."""
    return {key: value for rows in batches for key, value in rows}


def living(values: dict[bytes, bytes | None]) -> dict[bytes, bytes | None]:
    """Return values without tombstones, which may be gone or not."""
    return {key: value for key, value in values.items() if value is not None}


@given(st.lists(ROWS, min_size=1, max_size=30), st.lists(st.integers(0, 29), max_size=3), st.booleans())
def test_every_reader_finds_the_newest_value_of_each_key(
    batches: list[list[tuple[bytes, bytes | None]]], compactions: list[int], expires: bool
) -> None:
    topic = CompactedTopic(Bench(mapper_file_size_batch_consume_queue=460))
    for number, rows in enumerate(batches):
        topic.add(*rows)
        if number in compactions:
            topic.wait()
    topic.wait(100 * HOURS if expires else 20_000)
    if expires:
        topic.expire()
    expected = living(newest(batches))
    assert living(topic.values()) == expected
    read = {key.encode(): body for _, key, body in topic.messages()}
    assert {key: read[key] for key in expected} == expected
    topic.again(topic.bench.restart())
    assert living(topic.values()) == expected


@pytest.mark.parametrize("seed", range(8))
def test_power_cut_at_any_write_of_a_compaction_loses_no_value(seed: int) -> None:
    choose = random.Random(seed)
    topic, batches = CompactedTopic(), []
    for _ in range(3):
        for _ in range(choose.randint(2, 10)):
            rows = [
                (b"k%d" % choose.randint(0, 4), choose.randbytes(choose.randint(0, 30)))
                for _ in range(choose.randint(1, 4))
            ]
            batches.append(rows)
            topic.add(*rows)
        topic.flush()
        left: list[CrashDisk] = []
        disk = topic.bench.disk

        def cut(operation: Operation, left: list[CrashDisk] = left, disk: CrashDisk = disk) -> None:
            left.append(disk.crash(choose.randint(0, 1 << 30)))

        disk.watch = cut
        topic.wait()
        disk.watch = None
        for crashed in left:
            other = CompactedTopic(topic.bench.again(crashed))
            assert other.values() == newest(batches)
            assert not crashed.exists(other.store.compacted_parts.path(TOPIC, 0) + BESIDE)
        topic.again(topic.bench.again(choose.choice(left).kill()))


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(0, 1 << 20), st.integers(3, 19))
def test_power_cut_in_a_truncation_leaves_what_the_log_has(step: int, seed: int, kept: int) -> None:
    topic = CompactedTopic()
    ends = []
    for number in range(20):
        topic.add((b"k%d" % (number % 3), b"%d" % number))
        ends.append(topic.store.max_physical_offset)
    topic.flush()
    topic.wait()
    left: list[CrashDisk] = []
    disk = topic.bench.disk
    disk.watch = lambda operation: left.append(disk.crash(seed))
    assert topic.store.cut(ends[kept - 1])
    disk.watch = None
    crashed = CompactedTopic(topic.bench.again(left[min(step, len(left) - 1)]))
    values = {key: int(value or b"") for key, value in crashed.values().items()}
    end = crashed.store.max_offset(TOPIC, 0)
    assert kept <= end <= 20
    expected = {b"k%d" % (number % 3): number for number in range(end)}
    assert values == expected


def test_part_that_cannot_be_read_is_set_aside() -> None:
    topic = CompactedTopic()
    for number in range(5):
        topic.add((b"k", b"%d" % number))
    topic.wait()
    path = topic.store.compacted_parts.path(TOPIC, 0)
    topic.store.stop()
    disk = topic.bench.disk
    disk.flip(path, disk.size(path) - 4)
    topic.again(topic.bench.again())
    assert disk.exists(path + DAMAGED) and not topic.store.compacted_parts.parts
    assert topic.offsets() == [0, 1, 2, 3, 4]
    topic.wait()
    assert topic.offsets() == [3, 4]
    topic.again(topic.bench.restart())
    assert disk.exists(path + DAMAGED) and topic.offsets() == [3, 4]


def test_part_of_a_topic_without_queues_of_batches_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    topic = CompactedTopic()
    for number in range(5):
        topic.add((b"k", b"%d" % number))
    topic.wait()
    topic.store.stop()
    disk, path = topic.bench.disk, topic.store.compacted_parts.path("orders", 0)
    disk.makedirs(path.rpartition("/")[0])
    disk.rename(topic.store.compacted_parts.path(TOPIC, 0), path)
    bench = topic.bench.again()
    assert not bench.store.compacted_parts.parts
    assert "does not have batches" in caplog.text


def test_transaction_that_is_open_again_gives_its_records_back() -> None:
    topic = CompactedTopic()
    topic.add((b"a", b"1"))
    topic.add((b"a", b"2"), producer_id=7, sequence=0)
    end = topic.store.max_physical_offset
    topic.end(7, True)
    topic.add((b"b", b"3"))
    topic.wait()
    assert topic.offsets() == [1, 3]
    assert topic.store.cut(end)
    assert topic.offsets() == [0] and topic.offsets(uncommitted=True) == [0, 1]
