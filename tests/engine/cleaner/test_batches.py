"""Batches that are compacted: single ones, and queues in which transactions and passes alternate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.cleaner.batches import BatchCleaner, LastOfProducer, map_batch
from mqgateway.engine.cleaner.offset_map import OffsetMap, slots_for
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.producers.markers import Marker, control_batch, marker_of
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.record_batches.batches import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Batch,
    assigned,
    build_batch,
    pack_batch,
)
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.mapping import time_of
from mqgateway.engine.record_batches.records import Record

RETENTION = 1000
Row = tuple[bytes | None, bytes | None]
"""Key and value."""


class Seen(NamedTuple):
    """A record as a consumer gets it."""

    offset: int
    key: bytes | None
    value: bytes | None
    time: int


class Queue:
    """A queue of batches that is compacted on request."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.end = self.clean_end = self.now = 0
        self.open: dict[int, int] = {}
        self.aborted: list[AbortedTransaction] = []
        self.last: dict[int, LastOfProducer] = {}

    def add(
        self,
        rows: Sequence[Row],
        producer_id: int = -1,
        *,
        flags: int = 0,
        kind: CompressionType = CompressionType.NONE,
    ) -> None:
        """Append a batch; with a producer it is transactional."""
        self.now += 1
        records = [
            Record(key, value, [("h", b"x")], number * 3, number) for number, (key, value) in enumerate(rows)
        ]
        if producer_id >= 0:
            self.open.setdefault(producer_id, self.end)
            self.last[producer_id] = LastOfProducer(self.end + len(rows) - 1, 0)
            flags |= TRANSACTIONAL
        self.batches.append(
            bytes(
                build_batch(
                    records,
                    base_timestamp=self.now,
                    compression=kind,
                    flags=flags,
                    base_offset=self.end,
                    producer_id=producer_id,
                    producer_epoch=0 if producer_id >= 0 else -1,
                    base_sequence=self.end if producer_id >= 0 else -1,
                )
            )
        )
        self.end += len(rows)

    def mark(self, producer_id: int, commit: bool) -> None:
        """Append a marker."""
        self.now += 1
        marker = Marker(producer_id, 0, commit, 0)
        self.batches.append(assigned(control_batch(marker, self.now), self.end, 0))
        first = self.open.pop(producer_id, None)
        if first is not None and not commit:
            stable = min(self.open.values(), default=self.end + 1)
            self.aborted.append(AbortedTransaction(producer_id, first, self.end, stable))
        self.end += 1

    @property
    def stable_end(self) -> int:
        """The last stable offset."""
        return min(self.open.values(), default=self.end)

    def compact(self, end: int | None = None, keys: int = 1000) -> None:
        """Compact the queue up to an offset, or as far as a map of so many keys reaches."""
        offsets = OffsetMap(slots_for(keys))
        transactions = PassedTransactions(self.aborted)
        end = self.stable_end if end is None else min(end, self.stable_end)
        reached = self.clean_end
        for batch in self.read():
            if not self.clean_end <= batch.base_offset:
                continue
            if batch.last_offset >= end or not map_batch(batch, offsets, transactions):
                break
            reached = batch.last_offset + 1
        self.clean_end = reached
        cleaner = BatchCleaner(
            offsets, PassedTransactions(self.aborted), self.last, reached, self.now, RETENTION
        )
        self.batches = [
            bytes(kept)
            for batch in self.read()
            if (kept := batch.data if batch.base_offset >= reached else cleaner.clean(batch)) is not None
        ]

    def read(self) -> list[Batch]:
        """Return the batches, with checked checksums."""
        batches = [Batch(memoryview(data)) for data in self.batches]
        for batch in batches:
            batch.check_crc()
        return batches

    def all_records(self) -> list[Seen]:
        """Return the records outside of control batches, aborted ones too."""
        return [seen for batch in self.read() if not batch.is_control for seen in records_of(batch)]

    def committed(self) -> list[Seen]:
        """Return what a consumer of committed records gets; it works as Kafka's."""
        pending = [each for each in self.aborted if each.last_offset >= self.clean_end]
        pending.sort(key=lambda each: each.first_offset)
        in_aborted: set[int] = set()
        found: list[Seen] = []
        for batch in self.read():
            if batch.last_offset >= self.stable_end:
                break
            while pending and pending[0].first_offset <= batch.last_offset:
                in_aborted.add(pending.pop(0).producer_id)
            marker = marker_of(batch.data)
            if marker is not None and not marker.commit:
                in_aborted.discard(marker.producer_id)
            if batch.is_control or (batch.is_transactional and batch.producer_id in in_aborted):
                continue
            found += records_of(batch)
        return found


def records_of(batch: Batch) -> list[Seen]:
    """Return the records of a batch."""
    return [
        Seen(batch.base_offset + record.offset_delta, copied(record.key), copied(record.value), time)
        for record in batch.records()
        for time in [time_of(batch, record)]
    ]


def copied(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def newest(records: Sequence[Seen]) -> dict[bytes | None, Seen]:
    """Return the newest record of each key."""
    return {record.key: record for record in records}


def offsets(queue: Queue) -> list[int]:
    """Return the offsets of the records that are left."""
    return [record.offset for record in queue.all_records()]


A, B, C = (b"a", b"1"), (b"b", b"2"), (b"c", b"3")
DELETED = (b"a", None)


def test_newest_record_of_each_key_stays() -> None:
    queue = Queue()
    queue.add([A, B, A])
    queue.add([B, C])
    before = queue.all_records()
    queue.compact()
    assert queue.all_records() == before[2:]
    [first, _] = queue.read()
    assert (first.base_offset, first.last_offset_delta, first.count) == (0, 2, 1)


def test_unchanged_batch_stays_as_it_is() -> None:
    queue = Queue()
    queue.add([A, B], kind=CompressionType.GZIP)
    before = list(queue.batches)
    queue.compact()
    assert queue.batches == before


@pytest.mark.parametrize("kind", list(CompressionType))
def test_rest_is_compressed_as_it_was(kind: CompressionType) -> None:
    queue = Queue()
    queue.add([A, B, A], kind=kind)
    queue.compact()
    [batch] = queue.read()
    assert batch.attributes == kind
    assert offsets(queue) == [1, 2]


def test_emptied_batch_goes_unless_it_ends_the_part() -> None:
    queue = Queue()
    queue.add([A])
    queue.add([A])
    queue.compact()
    assert offsets(queue) == [1]
    assert len(queue.batches) == 1


def test_records_without_key_go() -> None:
    queue = Queue()
    queue.add([(None, b"1"), A])
    queue.add([(None, b"1")])
    queue.compact()
    assert offsets(queue) == [1]
    assert [(batch.base_offset, batch.count) for batch in queue.read()] == [(0, 1), (2, 0)]


def test_tombstone_stays_until_its_horizon() -> None:
    queue = Queue()
    queue.add([A, B])
    queue.add([DELETED, C])
    queue.compact()
    assert offsets(queue) == [1, 2, 3]
    tombstone = queue.read()[1]
    assert tombstone.attributes == DELETE_HORIZON
    assert tombstone.base_timestamp == queue.now + RETENTION
    times = [record.time for record in queue.all_records()]
    queue.now += RETENTION - 1
    before = list(queue.batches)
    queue.compact()
    assert queue.batches == before
    queue.now += 1
    queue.compact()
    assert offsets(queue) == [1, 3]
    assert [record.time for record in queue.all_records()] == [times[0], times[2]]


def test_tombstone_with_broker_time_keeps_it() -> None:
    queue = Queue()
    queue.add([DELETED, B], flags=LOG_APPEND_TIME)
    before = queue.all_records()
    queue.compact()
    assert queue.all_records() == before
    assert queue.read()[0].attributes == LOG_APPEND_TIME | DELETE_HORIZON


def test_greatest_time_is_that_of_the_rest() -> None:
    queue = Queue()
    queue.add([A, B, C])
    queue.add([C])
    assert queue.read()[0].max_timestamp == 7
    queue.compact()
    assert queue.read()[0].max_timestamp == 4


def test_tombstone_goes_at_once_if_its_key_has_a_newer_record() -> None:
    queue = Queue()
    queue.add([DELETED])
    queue.add([A])
    queue.compact()
    assert offsets(queue) == [1]


def test_aborted_records_go_and_hide_nothing() -> None:
    queue = Queue()
    queue.add([A])
    queue.add([DELETED, B], 1)
    queue.mark(1, False)
    queue.add([C])
    queue.last.clear()
    queue.compact()
    assert offsets(queue) == [0, 3 + 1]
    assert [batch.is_control for batch in queue.read()] == [False, True, False]


def test_marker_goes_after_its_batches() -> None:
    queue = Queue()
    queue.add([B], 1)
    queue.mark(1, False)
    queue.add([A])
    queue.last.clear()
    control = []
    for _ in range(4):
        queue.compact()
        control.append([batch.attributes for batch in queue.read() if batch.is_control])
        queue.now += RETENTION
    kinds = TRANSACTIONAL | CONTROL
    assert control == [[kinds], [kinds | DELETE_HORIZON], [], []]


def test_last_batch_of_an_active_producer_stays_without_records() -> None:
    queue = Queue()
    queue.add([A], 1)
    queue.mark(1, True)
    queue.add([A, B], 2)
    queue.mark(2, True)
    queue.add([A, B])
    queue.compact()
    emptied = [(batch.producer_id, batch.base_sequence) for batch in queue.read() if not batch.count]
    assert emptied == [(1, 0), (2, 2)]
    del queue.last[1]
    queue.compact()
    assert [batch.producer_id for batch in queue.read() if not batch.count] == [2]


def test_last_marker_of_an_active_producer_stays() -> None:
    queue = Queue()
    queue.mark(1, True)
    queue.add([A])
    queue.last[1] = LastOfProducer(-1, 0)
    for _ in range(3):
        queue.compact()
        queue.now += RETENTION
    assert [(batch.is_control, batch.count) for batch in queue.read()] == [(True, 0), (False, 1)]
    queue.last[1] = LastOfProducer(-1, 1)
    queue.compact()
    assert [batch.is_control for batch in queue.read()] == [False]


def test_unreadable_batch_stays_as_it_is() -> None:
    queue = Queue()
    queue.add([A])
    queue.batches.append(
        bytes(build_batch([Record(b"a", b"2")], base_timestamp=0, base_offset=1))[:61] + b"\xff" * 9
    )
    damaged = Batch(memoryview(queue.batches[1]))
    cleaner = BatchCleaner(OffsetMap(10), PassedTransactions(()), {}, 9, 0, 0)
    assert map_batch(damaged, OffsetMap(10), PassedTransactions(()))
    assert cleaner.clean(damaged) is damaged.data
    assert cleaner.unreadable == 1


@given(
    st.binary(max_size=40),
    st.integers(-1, 4),
    st.integers(0, 127).filter(lambda attributes: not attributes & CONTROL),
)
def test_malformed_records_stay_as_they_are(data: bytes, count: int, attributes: int) -> None:
    """Any bytes behind a header with a right checksum are records, or the batch is kept as it is."""
    packed = bytes(pack_batch(data, count, 3, base_timestamp=5, max_timestamp=9, attributes=attributes))
    batch = Batch(memoryview(packed))
    assert map_batch(batch, OffsetMap(10), PassedTransactions(()))
    cleaner = BatchCleaner(OffsetMap(10), PassedTransactions(()), {}, 4, 0, 10)
    kept = cleaner.clean(batch)
    assert kept is not None
    cleaned = Batch(memoryview(kept))
    cleaned.check_crc()
    assert cleaned.data == packed or not cleaner.unreadable
    assert (cleaned.base_offset, cleaned.last_offset_delta) == (0, 3)


def test_map_takes_a_batch_whole_or_not_at_all() -> None:
    queue = Queue()
    queue.add([A, B])
    queue.add([C, (b"d", b"4")])
    known = OffsetMap(slots_for(2))
    first, second = queue.read()
    assert map_batch(first, known, PassedTransactions(()))
    assert not map_batch(second, known, PassedTransactions(()))
    assert len(known) == 2


KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
ROWS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=2)), min_size=1, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), ROWS, st.integers(-1, 2), st.sampled_from(list(CompressionType))),
        st.tuples(st.just("mark"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("compact"), st.integers(0, 60), st.integers(4, 8)),
        st.tuples(st.just("wait"), st.integers(1, 2 * RETENTION)),
    ),
    max_size=30,
)


def run(step: tuple[object, ...], *queues: Queue) -> None:
    """Run a step that appends to queues."""
    for queue in queues:
        if step[0] == "add":
            queue.add(step[1], step[2], kind=step[3])  # type: ignore[arg-type]
        elif step[0] == "mark":
            queue.mark(step[1], step[2])  # type: ignore[arg-type]
        else:
            queue.now += step[1]  # type: ignore[operator]


@given(STEPS)
def test_compacted_queue_has_the_newest_value_of_each_key(steps: list[tuple[object, ...]]) -> None:
    """Whatever was appended and compacted, a consumer of committed records finds the same values."""
    queue, original = Queue(), Queue()
    for step in steps:
        if step[0] == "compact":
            queue.compact(step[1], step[2])  # type: ignore[arg-type]
        else:
            run(step, queue, original)
    queue.compact()
    kept, all_before = queue.committed(), original.committed()
    assert {*kept} <= {*all_before}
    expected = newest(all_before)
    assert {key: seen for key, seen in newest(kept).items() if seen.value is not None} == {
        key: seen for key, seen in expected.items() if seen.value is not None
    }
    compacted = [seen for seen in kept if seen.offset < queue.clean_end]
    assert len({seen.key for seen in compacted}) == len(compacted)
    assert {*queue.all_records()} <= {*original.all_records()}


@given(STEPS)
def test_second_pass_at_the_same_time_changes_no_record(steps: list[tuple[object, ...]]) -> None:
    queue = Queue()
    for step in steps:
        if step[0] != "compact":
            run(step, queue)
    queue.compact()
    before = queue.all_records()
    queue.compact()
    assert queue.all_records() == before


@given(STEPS)
def test_offsets_of_batches_never_change(steps: list[tuple[object, ...]]) -> None:
    queue, original = Queue(), Queue()
    for step in steps:
        if step[0] == "compact":
            queue.compact(step[1], step[2])  # type: ignore[arg-type]
        else:
            run(step, queue, original)
    places = {(batch.base_offset, batch.last_offset) for batch in original.read()}
    assert {(batch.base_offset, batch.last_offset) for batch in queue.read()} <= places
    if queue.clean_end:
        assert any(batch.last_offset + 1 == queue.clean_end for batch in queue.read())
