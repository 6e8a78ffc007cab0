"""The view of Kafka's transactions over a store: what readers get, and what outlives the store."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.markers import Marker, marker_of
from mqgateway.engine.producers.state import BatchRefusal
from mqgateway.engine.producers.transactions import MarkerRefusal
from mqgateway.engine.record_batches.batches import TRANSACTIONAL, Batch
from mqgateway.engine.store.message_store import GetStatus, MessageStore
from tests.support.engine.store.kafka_batches import fetched, kafka_batch, put_kafka, read_all, values
from tests.support.engine.store.producing import put_marker, put_whole
from tests.support.engine.store.stores import Bench, message, records

DAY = 86_400_000
TOPIC = "batched"


def put(store: MessageStore, producer_id: int, count: int = 1, sequence: int = 0) -> None:
    """Put and dispatch a batch of a transaction."""
    put_whole(store, ProducerBatch(producer_id, 0, sequence, count, is_transactional=True))
    store.dispatch()


def end(store: MessageStore, producer_id: int, *, is_commit: bool) -> None:
    """Put and dispatch a marker."""
    put_marker(store, producer_id, is_commit)
    store.dispatch()


def offsets(store: MessageStore) -> list[int]:
    """Return the offsets of all messages that a RocketMQ client can read."""
    found: list[int] = []
    offset = 0
    while True:
        result = store.get(TOPIC, 0, offset, 32)
        if result.next_offset <= offset:
            return found
        found += [record.queue_offset for record in records(result)]
        offset = result.next_offset


def wholes(store: MessageStore, *, uncommitted: bool) -> list[int]:
    """Return the base offsets of all batches that a Kafka client can read."""
    return [batch.base_offset for batch in read_all(store, uncommitted=uncommitted)]


def test_readers_stop_at_the_oldest_open_transaction() -> None:
    bench = Bench()
    put_kafka(bench.store, kafka_batch(b"a"))
    put(bench.store, 1, 2)
    put_kafka(bench.store, kafka_batch(b"b"))
    assert (bench.store.max_offset(TOPIC, 0), bench.store.readable_end(TOPIC, 0)) == (4, 1)
    assert offsets(bench.store) == [0]
    held = bench.store.get(TOPIC, 0, 1, 32)
    assert (held.status, held.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 1)
    assert bench.store.is_held_back(TOPIC, 0, 1) and not bench.store.is_held_back(TOPIC, 0, 0)
    assert wholes(bench.store, uncommitted=False) == [0]
    assert wholes(bench.store, uncommitted=True) == [0, 1, 3]
    [(key, known)] = bench.store.transactions.open_in_queues()
    assert (key, known.first_offset) == ((TOPIC, 0, 1), 1)
    end(bench.store, 1, is_commit=True)
    assert offsets(bench.store) == [0, 1, 2, 3]
    assert not bench.store.is_held_back(TOPIC, 0, 1)
    assert bench.store.readable_end(TOPIC, 0) == 5


def test_uncommitted_bytes_count_only_for_readers_of_them() -> None:
    bench = Bench()
    put(bench.store, 1)
    assert bench.store.readable_bytes(TOPIC, 0, 0, 1) == 0
    assert bench.store.readable_bytes(TOPIC, 0, 0, 1, uncommitted=True) > 0


def test_aborted_batches_and_markers_are_skipped_for_rocketmq_clients() -> None:
    bench = Bench()
    put(bench.store, 1, 2)
    put(bench.store, 2, 2)
    put_kafka(bench.store, kafka_batch(b"plain"))
    end(bench.store, 1, is_commit=False)
    assert offsets(bench.store) == []
    end(bench.store, 2, is_commit=True)
    assert offsets(bench.store) == [2, 3, 4]
    assert bench.store.get(TOPIC, 0, 5, 32).next_offset == 7
    assert wholes(bench.store, uncommitted=False) == [0, 2, 4, 5, 6]
    assert bench.store.transactions.aborted(TOPIC, 0, 0, 7) == [(1, 0, 5, 2)]
    assert bench.store.transactions.aborted(TOPIC, 0, 6, 7) == []


def test_message_by_its_position_in_the_log_is_hidden_as_long_as_it_is_not_committed() -> None:
    bench = Bench()
    for producer_id in (1, 2):
        put(bench.store, producer_id)
    positions = [unit[0] for unit in bench.store.consume_queue_units(TOPIC, 0, 0, 2)]
    assert [bench.store.message_record_at(position) for position in positions] == [None, None]
    end(bench.store, 1, is_commit=True)
    end(bench.store, 2, is_commit=False)
    shown = [bench.store.message_record_at(position) is not None for position in positions]
    assert shown == [True, False]


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_writes_are_judged_before_they_are_dispatched(flush: FlushDiskType) -> None:
    store = Bench(flush_disk_type=flush).store
    transactions = store.transactions
    assert not transactions.knows(TOPIC, 0, 7)
    put_whole(store, ProducerBatch(7, 0, 0, 1, is_transactional=True))
    assert transactions.knows(TOPIC, 0, 7) and not transactions.knows(TOPIC, 1, 7)
    assert transactions.is_open(TOPIC, 0, 7, 0) and not transactions.is_open(TOPIC, 0, 7, 1)
    plain = ProducerBatch(7, 0, 1, 1)
    assert transactions.check(TOPIC, 0, plain) is BatchRefusal.NOT_TRANSACTIONAL
    put_marker(store, 7, True, epoch=1, coordinator_epoch=4)
    assert not transactions.is_open(TOPIC, 0, 7, 0)
    assert transactions.check(TOPIC, 0, plain) is BatchRefusal.OLD_EPOCH
    assert transactions.check_marker(TOPIC, 0, Marker(7, 1, True, 3)) is MarkerRefusal.OLD_COORDINATOR


@pytest.mark.parametrize("end_of_store", ["restart", "kill", "crash"])
def test_state_outlives_a_checkpoint_and_the_end_of_the_store(end_of_store: str) -> None:
    bench = Bench()
    put(bench.store, 1)
    put(bench.store, 2)
    end(bench.store, 2, is_commit=False)
    for _ in range(3):
        bench.clock.advance(70_000)
        bench.store.tick()
    assert bench.disk.exists("/store/kafkatransactions/snapshot")
    put(bench.store, 3)
    end(bench.store, 3, is_commit=False)
    bench.store.when_flushed(bench.store.max_physical_offset, lambda _: None)
    bench.clock.advance(1000)
    bench.store.tick()
    again = {"restart": bench.restart, "kill": bench.kill, "crash": lambda: bench.crash(3)}[end_of_store]()
    assert again.store.readable_end(TOPIC, 0) == 0
    assert again.store.transactions.aborted(TOPIC, 0, 0, 9) == [(2, 1, 2, 0), (3, 3, 4, 0)]
    assert again.store.transactions.is_open(TOPIC, 0, 1, 0)


@pytest.mark.parametrize("has_older", [True, False])
def test_damaged_snapshot_is_replaced_by_the_one_before_or_by_the_log(has_older: bool) -> None:
    bench = Bench()
    put(bench.store, 1)
    for _ in range(3):
        bench.clock.advance(70_000)
        bench.store.tick()
    bench.store.stop()
    bench.disk.flip("/store/kafkatransactions/snapshot", 30)
    if not has_older:
        bench.disk.unlink("/store/kafkatransactions/snapshot.bak")
    assert bench.again().store.readable_end(TOPIC, 0) == 0


def test_store_without_transactions_has_no_snapshot() -> None:
    bench = Bench()
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    bench.clock.advance(70_000)
    bench.store.tick()
    bench.store.stop()
    assert not bench.disk.is_dir("/store/kafkatransactions")


def test_truncation_opens_a_transaction_again() -> None:
    bench = Bench()
    put(bench.store, 1)
    before = bench.store.max_physical_offset
    end(bench.store, 1, is_commit=False)
    put_kafka(bench.store, kafka_batch(b"a"))
    assert bench.store.cut(before)
    assert bench.store.readable_end(TOPIC, 0) == 0 and not bench.store.transactions.aborted(TOPIC, 0, 0, 9)
    put_kafka(bench.store, kafka_batch(b"a"))
    assert bench.store.readable_end(TOPIC, 0) == 0


def test_replica_has_the_transactions_of_its_master() -> None:
    original, replica = Bench(), Bench()
    put(original.store, 1)
    put(original.store, 2)
    end(original.store, 1, is_commit=False)
    replica.store.raw.append(0, original.store.raw.read(0, original.store.max_physical_offset))
    replica.store.dispatch()
    assert replica.store.transactions.state(0) == original.store.transactions.state(0)
    assert replica.store.readable_end(TOPIC, 0) == 1


def test_topic_that_was_deleted_and_made_again_has_no_open_transaction() -> None:
    bench = Bench()
    put(bench.store, 1, 5)
    bench.store.admin.delete_topics([TOPIC])
    assert not bench.store.transactions.is_open(TOPIC, 0, 1, 0)
    put_kafka(bench.store, kafka_batch(b"a", b"b"))
    assert bench.store.readable_end(TOPIC, 0) == 2
    again = bench.kill()
    assert again.store.readable_end(TOPIC, 0) == again.store.max_offset(TOPIC, 0)


def test_start_of_the_queue_is_the_limit_if_the_transaction_began_before() -> None:
    bench = Bench()
    put(bench.store, 1, 2)
    put_kafka(bench.store, kafka_batch(b"a"))
    bench.store.move_start(TOPIC, 0, 2)
    bench.store.dispatch()
    assert (bench.store.min_offset(TOPIC, 0), bench.store.readable_end(TOPIC, 0)) == (2, 2)


def test_producers_of_a_topic_are_listed_until_they_expire() -> None:
    bench = Bench()
    put(bench.store, 1)
    put(bench.store, 2)
    put_marker(bench.store, 2, True, coordinator_epoch=3)
    bench.store.dispatch()
    found = bench.store.transactions.of_topic(TOPIC)[0]
    assert [(one, known.first_offset, known.coordinator_epoch) for one, known in found.items()] == [
        (1, 0, -1),
        (2, -1, 3),
    ]
    bench.clock.advance(DAY)
    bench.store.tick()
    assert list(bench.store.transactions.of_topic(TOPIC)[0]) == [1]


class Consumers:
    """A queue with transactions, the records that were committed, and readers of both kinds."""

    def __init__(self) -> None:
        self.bench = Bench(mapped_file_size_commit_log=1 << 16)
        self.sequences: dict[int, int] = {}
        self.open: dict[int, list[tuple[int, bytes]]] = {}
        self.committed: list[tuple[int, bytes]] = []
        self.count = 0

    @property
    def store(self) -> MessageStore:
        """The store as it is now."""
        return self.bench.store

    def do(self, kind: str, producer_id: int, count: int) -> None:
        """Do one step of a history."""
        if kind == "batch":
            self._batch(producer_id, count)
        elif kind == "send":
            self.count += 1
            [offset] = self.bench.put(message(TOPIC, 0, b"m%d" % self.count))
            self.committed.append((offset, b"m%d" % self.count))
        elif kind == "kill":
            self.bench = self.bench.kill()
        else:
            put_marker(self.store, producer_id, kind == "commit")
            self.store.dispatch()
            records = self.open.pop(producer_id, [])
            self.committed += records if kind == "commit" else []

    def _batch(self, producer_id: int, count: int) -> None:
        given = [b"%d-%d" % (self.count, index) for index in range(count)]
        sequence = self.sequences.get(producer_id, 0)
        named = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        offset = put_kafka(self.store, kafka_batch(*given, flags=TRANSACTIONAL, **named)).queue_offset
        self.sequences[producer_id] = sequence + count
        self.count += 1
        self.open.setdefault(producer_id, []).extend(enumerate(given, offset))

    def expected(self) -> list[tuple[int, bytes]]:
        """Return the committed records before the oldest open transaction, in order."""
        limit = min((records[0][0] for records in self.open.values()), default=1 << 62)
        return sorted(one for one in self.committed if one[0] < limit)

    def kafka(self, size: int) -> list[tuple[int, bytes]]:
        """Return what Kafka's consumer of committed records delivers, which reads so many bytes at a time."""
        found: list[tuple[int, bytes]] = []
        offset = 0
        while True:
            result = self.store.batches.get(TOPIC, 0, offset, size)
            if not result.spans:
                return found
            aborted = self.store.transactions.aborted(TOPIC, 0, offset, result.next_offset)
            found += delivered(fetched(result), [(one.first_offset, one.producer_id) for one in aborted])
            offset = result.next_offset

    def rocketmq(self, count: int) -> list[tuple[int, bytes]]:
        """Return what a client of RocketMQ pulls, so many messages at a time."""
        found: list[tuple[int, bytes]] = []
        offset = 0
        while True:
            result = self.store.get(TOPIC, 0, offset, count)
            if result.next_offset <= offset:
                return found
            found += [(one.queue_offset, one.body) for one in records(result)]
            offset = result.next_offset


def delivered(batches: list[Batch], aborted: list[tuple[int, int]]) -> list[tuple[int, bytes]]:
    """Return the records that Kafka's consumer delivers of an answer (`CompletedFetch.nextFetchedRecord`)."""
    waiting, skipped = sorted(aborted), set[int]()
    found: list[tuple[int, bytes]] = []
    for batch in batches:
        while waiting and waiting[0][0] <= batch.last_offset:
            skipped.add(waiting.pop(0)[1])
        marker = marker_of(bytes(batch.data))
        if marker is not None:
            if not marker.commit:
                skipped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in skipped):
            found += [
                (batch.base_offset + index, value or b"") for index, value in enumerate(values([batch]))
            ]
    return found


_steps = st.one_of(
    st.tuples(st.sampled_from(["batch", "batch", "commit", "abort"]), st.integers(1, 4), st.integers(1, 3)),
    st.tuples(st.sampled_from(["send", "send", "kill"]), st.just(0), st.just(0)),
)


@given(st.lists(_steps, max_size=40), st.sampled_from([1, 300, 1 << 20]), st.sampled_from([1, 3, 32]))
def test_readers_get_each_committed_record_once_and_no_other(
    history: list[tuple[Any, ...]], size: int, count: int
) -> None:
    consumers = Consumers()
    for step in history:
        consumers.do(*step)
    for producer_id in (0, *list(consumers.open)):
        assert consumers.kafka(size) == consumers.rocketmq(count) == consumers.expected()
        consumers.do("abort" if producer_id % 2 else "commit", producer_id, 0)
    assert consumers.kafka(size) == consumers.rocketmq(count) == sorted(consumers.committed)
