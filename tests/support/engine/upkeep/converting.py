"""Stores with a topic of Kafka, before and after they are converted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.upkeep.convert import ConvertReport, convert_store
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.stores import GIB, HOST, Bench, options

KAFKA_ATTRIBUTES = {
    "queue.type": "BatchCQ",
    "message.format": "kafka",
    "kafka.topic.id": "x",
    "kafka.retention.ms": "7",
    "message.type": "NORMAL",
}


def opened(root: Path, **changes: Any) -> Bench:
    """Open a store on the real disk, in which `batched` is a topic of Kafka."""
    return Bench(
        disk=RealDisk(),  # type: ignore[arg-type]
        clock=ManualClock(1_700_000_000_000),
        store_path_root_dir=str(root),
        **changes,
    )


def converted_store(root: Path, **changes: Any) -> MessageStore:
    """Open a store that has no queues of batches."""
    store = MessageStore(
        options(store_path_root_dir=str(root), **changes),
        disk=RealDisk(),
        clock=ManualClock(1_800_000_000_000),
        worker=InlineWorker(),
        store_host=HOST,
        memory=GIB,
    )
    store.start()
    return store


def write_topics(root: Path) -> None:
    """Write the table of topics: one of Kafka, one of RocketMQ, and that of offsets."""
    topics = {
        "batched": {"topicName": "batched", "readQueueNums": 2, "attributes": dict(KAFKA_ATTRIBUTES)},
        "orders": {"topicName": "orders", "readQueueNums": 1, "attributes": {"kafka.retention.ms": "5"}},
        "__consumer_offsets": {"topicName": "__consumer_offsets", "attributes": dict(KAFKA_ATTRIBUTES)},
    }
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "topics.json").write_text(json.dumps({"topicConfigTable": topics, "dataVersion": {}}))


def convert(root: Path, target: Path, **changes: Any) -> ConvertReport:
    """Convert a store on the real disk."""
    return convert_store(RealDisk(), options(store_path_root_dir=str(root), **changes), str(target))
