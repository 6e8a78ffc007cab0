"""Topics, queues without messages and the topic of offsets, after a store was converted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.engine.store.kafka_batches import kafka_batch, put_kafka
from tests.support.engine.store.stores import message
from tests.support.engine.upkeep.converting import convert, converted_store, opened, write_topics


def test_topics_of_kafka_become_ordinary_topics(tmp_path: Path) -> None:
    root, target = tmp_path / "store", tmp_path / "new"
    bench = opened(root)
    put_kafka(bench.store, kafka_batch(b"a"))
    bench.store.stop()
    write_topics(root)
    (root / "config" / "topics.json.bak").write_text("{}")
    (root / "config" / "consumerOffset.json").write_text('{"offsetTable":{"batched@g":{"0":1}}}')
    (root / "producers").write_text("x")
    (root / "epochFileCheckpoint").write_text("x")
    before = (root / "config" / "topics.json").read_bytes()
    report = convert(root, target)
    topics = json.loads((target / "config" / "topics.json").read_text())["topicConfigTable"]
    assert {name: config.get("attributes") for name, config in topics.items()} == {
        "batched": {"message.type": "NORMAL"},
        "orders": {},
    }
    assert sorted(path.name for path in (target / "config").iterdir()) == [
        "consumerOffset.json",
        "topics.json",
    ]
    assert (root / "config" / "topics.json").read_bytes() == before
    assert report.left_out == ["epochFileCheckpoint"]


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_records_of_coordinators_of_kafka_are_left_out(tmp_path: Path, topic: str) -> None:
    bench = opened(tmp_path / "store")
    bench.put(message(topic, 0, b"secret"), message("orders", 0, b"kept"))
    bench.store.stop()
    write_topics(tmp_path / "store")
    convert(tmp_path / "store", tmp_path / "new")
    assert not (tmp_path / "new" / "consumequeue" / topic).exists()
    logs = b"".join(path.read_bytes() for path in (tmp_path / "new" / "commitlog").iterdir())
    assert b"secret" not in logs
    assert b"kept" in logs


def test_queue_of_batches_without_messages_ends_where_it_ended(tmp_path: Path) -> None:
    root, target = tmp_path / "store", tmp_path / "new"
    bench = opened(root)
    for number in range(7):
        put_kafka(bench.store, kafka_batch(*[b"%d" % number] * 9), queue_id=1)
    bench.put(*[message("orders", 0, bytes(1000)) for _ in range(12)])
    bench.store.stop()
    write_topics(root)
    for name in (0, 4096):
        (root / "commitlog" / f"{name:020d}").unlink()
    convert(root, target)
    store = converted_store(target)
    assert (store.min_offset("batched", 1), store.max_offset("batched", 1)) == (63, 63)
    assert store.put(message("batched", 1)).queue_offset == 63
    store.stop()
