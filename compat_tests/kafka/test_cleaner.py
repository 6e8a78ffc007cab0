"""Batches that Apache Kafka compacts are compacted here in the same way.

Apache's server gets batches of every kind into segments of one batch each, and compacts them three times.
Each time its batches from before go through the rules of `engine.cleaner`, and must become what it has
afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import (
    Connection,
    create_topic,
    stored_batches,
    wait_for_coordinator,
)
from compat_tests.support.processes import wait_until
from mqgateway.engine.cleaner.batches import BatchCleaner, LastOfProducer, map_batch
from mqgateway.engine.cleaner.offset_map import OffsetMap, slots_for
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.producers.markers import marker_of
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.record_batches.batches import (
    DELETE_HORIZON,
    TRANSACTIONAL,
    Batch,
    build_batch,
)
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.mapping import time_of
from mqgateway.engine.record_batches.records import Record

DELETE_RETENTION = 15_000
SETTINGS = {"log.cleaner.backoff.ms": "200", "log.cleaner.enable": "true"}
SEGMENT_SECONDS = 0.02
"""Time after which a record begins a segment of its own."""
UNCOMPACTED = 1 << 40
SECONDS = 60
SETTLING_SECONDS = 2
"""Time after which a compaction has ended, or a setting has an effect."""
TOPIC_RESOURCE = 2
Row = tuple[bytes, bytes | None]


class Queue:
    """A compacted topic of Apache's server, whose segments have one batch each."""

    def __init__(self, address: str, name: str) -> None:
        self._connection = Connection(address)
        self._address = address
        self._name = name
        self._producers: dict[str, tuple[int, int, int]] = {}
        create_topic(
            address,
            name,
            cleanup_policy="compact",
            segment_ms="1",
            min_cleanable_dirty_ratio="0",
            min_compaction_lag_ms=str(UNCOMPACTED),
            delete_retention_ms=str(DELETE_RETENTION),
        )

    def ask(self, name: str, version: int, **fields: Any) -> dict[str, Any]:
        """Send a request."""
        return self._connection.ask(name, version, **fields)

    def add(
        self, rows: Sequence[Row], transaction: str = "", kind: CompressionType = CompressionType.NONE
    ) -> None:
        """Produce a batch, in a transaction if one is named."""
        time.sleep(SEGMENT_SECONDS)
        producer_id, epoch, sequence = self._producer(transaction) if transaction else (-1, -1, -1)
        data = build_batch(
            [Record(key, value, [("h", b"x")], n, n) for n, (key, value) in enumerate(rows)],
            base_timestamp=int(time.time() * 1000),
            compression=kind,
            flags=TRANSACTIONAL if transaction else 0,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        if transaction:
            self._producers[transaction] = producer_id, epoch, sequence + len(rows)
        partition = {"index": 0, "records": bytes(data)}
        answer = self.ask(
            "Produce",
            9,
            transactional_id=transaction or None,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[{"name": self._name, "partition_data": [partition]}],
        )
        (one,) = answer["responses"][0]["partition_responses"]
        assert one["error_code"] == 0, one

    def end(self, transaction: str, committed: bool) -> None:
        """End a transaction, and wait for its marker."""
        count = len(stored_batches(self._address, self._name))
        producer_id, epoch, _ = self._producers[transaction]
        fields = {"transactional_id": transaction, "producer_id": producer_id, "producer_epoch": epoch}
        answer = self.ask("EndTxn", 3, **fields, committed=committed)
        assert answer["error_code"] == 0, answer
        wait_until(lambda: len(self.read()) > count, SECONDS, "the marker is written")

    def _producer(self, transaction: str) -> tuple[int, int, int]:
        """Return producer id, epoch and next sequence of a transaction, which the topic is part of."""
        known = self._producers.get(transaction)
        if known is None:
            wait_until(lambda: self._begins(transaction), SECONDS, "transactions have a coordinator")
            known = self._producers[transaction]
        fields = {
            "v3_and_below_transactional_id": transaction,
            "v3_and_below_producer_id": known[0],
            "v3_and_below_producer_epoch": known[1],
        }
        topics = [{"name": self._name, "partitions": [0]}]
        wait_until(
            lambda: (
                not self._problem(self.ask("AddPartitionsToTxn", 3, **fields, v3_and_below_topics=topics))
            ),
            SECONDS,
            "the topic is part of the transaction",
        )
        return known

    def _begins(self, transaction: str) -> bool:
        """Return True once the producer of a transaction has an id."""
        self.ask("FindCoordinator", 3, key=transaction, key_type=1)
        answer = self.ask("InitProducerId", 3, transactional_id=transaction, transaction_timeout_ms=60_000)
        self._producers[transaction] = answer["producer_id"], answer["producer_epoch"], 0
        return not answer["error_code"]

    @staticmethod
    def _problem(answer: dict[str, Any]) -> int:
        (topic,) = answer["results_by_topic_v3_and_below"]
        return int(topic["results_by_partition"][0]["partition_error_code"])

    def read(self) -> list[Batch]:
        """Return all batches."""
        return stored_batches(self._address, self._name)

    def lag(self, millis: int) -> None:
        """Set for how long records stay uncompacted."""
        config = {"name": "min.compaction.lag.ms", "config_operation": 0, "value": str(millis)}
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": self._name, "configs": [config]}
        answer = self.ask("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer["responses"][0]["error_code"] == 0, answer

    def compacted(self) -> tuple[list[Batch], list[Batch]]:
        """Return the batches before and after a compaction."""
        before = self.read()
        self.lag(0)
        wait_until(lambda: is_other(before, self.read()), SECONDS, "Apache Kafka compacts")
        time.sleep(SETTLING_SECONDS)
        self.lag(UNCOMPACTED)
        time.sleep(SETTLING_SECONDS)
        return before, self.read()


def is_other(before: Sequence[Batch], after: Sequence[Batch]) -> bool:
    """Return True if batches have changed."""
    return [batch.data for batch in before] != [batch.data for batch in after]


def aborted_of(batches: Sequence[Batch], known: list[AbortedTransaction]) -> None:
    """Add the transactions that were aborted in a queue which was never compacted before."""
    first: dict[int, int] = {}
    for batch in batches:
        marker = marker_of(batch.data)
        if marker is None:
            if batch.is_transactional:
                first.setdefault(batch.producer_id, batch.base_offset)
        else:
            begin = first.pop(marker.producer_id, None)
            if begin is not None and not marker.commit:
                known.append(AbortedTransaction(marker.producer_id, begin, batch.base_offset, 0))


def last_of_producers(batches: Sequence[Batch], known: dict[int, LastOfProducer]) -> None:
    """Note the last batches of producers."""
    for batch in batches:
        if batch.producer_id >= 0 and not batch.is_control:
            known[batch.producer_id] = LastOfProducer(batch.last_offset, batch.producer_epoch)


def fields_of(batch: Batch) -> tuple[Any, ...]:
    """Return what must be equal: all but the compressed form and a base timestamp without a meaning."""
    records = [
        (record.offset_delta, record.key, record.value, tuple(record.headers), time_of(batch, record))
        for record in batch.records()
    ]
    return (
        batch.base_offset,
        batch.last_offset_delta,
        batch.attributes,
        batch.base_timestamp if batch.attributes & DELETE_HORIZON or not records else None,
        batch.max_timestamp,
        (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.leader_epoch),
        batch.count,
        records,
    )


def ours(
    batches: Sequence[Batch],
    begin: int,
    now: int,
    aborted: Sequence[AbortedTransaction],
    last: dict[int, LastOfProducer],
) -> list[Batch]:
    """Return what our rules make of batches. Those before `begin` are compacted, the last one is active."""
    end = batches[-1].base_offset
    offsets, mapping = OffsetMap(slots_for(1000)), PassedTransactions(aborted)
    for batch in batches[:-1]:
        if batch.base_offset >= begin:
            assert map_batch(batch, offsets, mapping)
    cleaner = BatchCleaner(offsets, PassedTransactions(aborted), last, end, now, DELETE_RETENTION)
    kept = [cleaner.clean(batch) for batch in batches[:-1]]
    return [*(Batch(memoryview(bytes(data))) for data in kept if data is not None), batches[-1]]


A, B, C, D = (b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4")


def fill(queue: Queue) -> None:
    """Produce batches of every kind."""
    queue.add([A, B, A])
    queue.add([C, (b"e", None), D], kind=CompressionType.GZIP)
    queue.add([A], "commits")
    queue.add([(b"f", b"6")])
    queue.end("commits", True)
    queue.add([B, (b"g", b"7")], "aborts")
    queue.add([(b"c", None)])
    queue.end("aborts", False)
    for kind in CompressionType:
        queue.add(
            [A, (b"z%d" % kind, b"x" * 200), (b"z%d" % kind, b"y" * 200), (b"y%d" % kind, b"")], kind=kind
        )
    queue.add([(b"h", b"8"), (b"h", None)], "both")
    queue.end("both", True)
    queue.add([(b"h", b"9")], "both")
    queue.end("both", False)
    queue.add([A, (b"i", b"1")], "last")
    queue.end("last", True)
    queue.add([(b"i", b"2"), A])
    queue.add([(b"j", b"1")])


def compare(
    queue: Queue, begin: int, aborted: list[AbortedTransaction], last: dict[int, LastOfProducer]
) -> int:
    """Have the queue compacted and compare; return where its next dirty part begins."""
    before, after = queue.compacted()
    new = [batch for batch in before if batch.base_offset >= begin]
    aborted_of(new, aborted)
    last_of_producers(before, last)
    old = {batch.base_timestamp for batch in before if batch.attributes & DELETE_HORIZON}
    horizons = {batch.base_timestamp for batch in after if batch.attributes & DELETE_HORIZON} - old
    now = horizons.pop() - DELETE_RETENTION if horizons else int(time.time() * 1000)
    made = ours(before, begin, now, aborted, last)
    assert [fields_of(batch) for batch in made] == [fields_of(batch) for batch in after]
    return int(before[-1].base_offset)


@pytest.mark.long
def test_batches_are_compacted_as_by_apache_kafka(work: Path, name: str) -> None:
    with KafkaServer("apache", work, SETTINGS) as server:
        wait_for_coordinator(server.address)
        queue = Queue(server.address, name)
        aborted: list[AbortedTransaction] = []
        last: dict[int, LastOfProducer] = {}
        fill(queue)
        begin = compare(queue, 0, aborted, last)
        queue.add([B])
        queue.add([(b"k", b"1")])
        begin = compare(queue, begin, aborted, last)
        time.sleep(DELETE_RETENTION / 1000 + 1)
        queue.add([(b"k", b"2")])
        queue.add([(b"k", b"3")])
        compare(queue, begin, aborted, last)
