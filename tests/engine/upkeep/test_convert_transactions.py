"""Stores with transactions of Kafka become stores with the records that were committed."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.engine.upkeep.findings import Severity, StorePart
from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.kafka_batches import kafka_batch, put_kafka
from tests.support.engine.store.producing import put_marker, put_whole
from tests.support.engine.store.stores import Bench, drain
from tests.support.engine.upkeep.converting import convert, converted_store, opened, write_topics

LOST = "__KLOST"


def put(bench: Bench, producer_id: int, value: bytes, sequence: int = 0) -> None:
    """Put a batch of a transaction."""
    fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
    put_kafka(bench.store, kafka_batch(value, flags=TRANSACTIONAL, **fields))


def end(bench: Bench, producer_id: int, *, is_commit: bool) -> None:
    """Put a marker."""
    put_marker(bench.store, producer_id, is_commit)
    bench.store.dispatch()


def test_only_committed_records_become_messages(tmp_path: Path) -> None:
    root, target = tmp_path / "store", tmp_path / "new"
    bench = opened(root)
    put(bench, 1, b"aborted")
    put(bench, 2, b"committed")
    put_kafka(bench.store, kafka_batch(b"plain"))
    end(bench, 1, is_commit=False)
    end(bench, 2, is_commit=True)
    put(bench, 1, b"again", 1)
    put(bench, 3, b"open")
    end(bench, 1, is_commit=True)
    bench.store.stop()
    write_topics(root)
    report = convert(root, target)
    assert (report.batches, report.messages, report.lost, report.damaged) == (3, 3, 0, 0)
    store = converted_store(target)
    found = drain(store, "batched", 0)
    assert [each.queue_offset for each in found] == list(range(8))
    shown = {each.queue_offset: each.body for each in found if LOST not in each.properties}
    assert shown == {1: b"committed", 2: b"plain", 5: b"again"}
    assert all(not each.body for each in found if LOST in each.properties)
    store.stop()


def test_idempotent_producers_have_no_transactions(tmp_path: Path) -> None:
    root, target = tmp_path / "store", tmp_path / "new"
    bench = opened(root)
    put_whole(bench.store, ProducerBatch(7, 0, 0, 2))
    bench.store.dispatch()
    bench.store.stop()
    write_topics(root)
    report = convert(root, target)
    assert (report.messages, report.lost) == (2, 0)
    assert not (target / "kafkatransactions").exists() and not report.left_out


def test_compacted_part_that_is_not_converted_is_reported(tmp_path: Path) -> None:
    root, target = tmp_path / "store", tmp_path / "new"
    topic = CompactedTopic(opened(root))
    for number in range(3):
        topic.add((b"k", b"%d" % number))
    topic.wait()
    topic.store.stop()
    write_topics(root)
    report = convert(root, target)
    [note] = [one for one in report.findings.kept if one.part is StorePart.COMPACTED]
    assert note.severity is Severity.NOTE and note.path.endswith("kafkacompaction/batched/0")
    assert report.messages == 3 and not report.left_out and not (target / "kafkacompaction").exists()
