"""Stores with batches of Kafka become stores of ordinary messages: the same ones, at the same offsets."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.disk import File
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.message import StoredMessage, SysFlag
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.convert import CONVERTING, convert_store
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk
from tests.support.engine.store.kafka_batches import kafka_batch, put_kafka
from tests.support.engine.store.kafka_records import put_batch
from tests.support.engine.store.stores import Bench, drain, message, options
from tests.support.engine.upkeep.converting import convert, converted_store, opened, write_topics

QUEUES = (("batched", 0), ("batched", 1), ("orders", 0))


def fill(bench: Bench, seed: int, count: int = 60) -> None:
    """Put batches of Kafka, and messages of RocketMQ, of all kinds."""
    chosen = random.Random(seed)
    for number in range(count):
        topic, queue_id = chosen.choice(QUEUES)
        if topic == "orders" or chosen.random() < 0.3:
            bench.put(message(topic, queue_id, b"m%d" % number, {"KEYS": f"key{number}", "TAGS": "t"}))
            continue
        records = [
            Record(
                chosen.choice((None, b"", b"k%d" % number, b"\xff")),
                chosen.choice((None, b"", b"v%d-%d" % (number, index))),
                chosen.choice(([], [("TAGS", b"x")], [("a", b"b"), ("a", None)])),
                index,
                index,
            )
            for index in range(chosen.randint(1, 12))
        ]
        put_batch(bench.store, records, queue_id=queue_id, compression=chosen.choice(list(CompressionType)))
        bench.clock.advance(chosen.randint(0, 5))


def fields(store: MessageStore, topic: str, queue_id: int) -> list[tuple[object, ...]]:
    """Return the messages of a queue without their positions and checksums."""
    found: list[tuple[object, ...]] = []
    for each in drain(store, topic, queue_id):
        properties = {name: text for name, text in each.properties.items() if name != "__CRC32#"}
        hosts = each.born_host, each.store_host
        times = each.born_timestamp, each.store_timestamp
        found.append((each.queue_offset, each.body, properties, *times, *hosts, each.sys_flag, each.flag))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_random_store_has_the_same_messages_at_the_same_offsets(seed: int, tmp_path: Path) -> None:
    changes = {"enabled_append_prop_crc": seed % 3 == 0, "mapped_file_size_commit_log": 4096 << seed % 2}
    root, target = tmp_path / "store", tmp_path / "new"
    bench = opened(root, **changes)
    fill(bench, seed)
    bench.store.stop()
    write_topics(root)
    if seed % 4 == 1:
        min(path for path in (root / "commitlog").iterdir()).unlink()
    bench = opened(root, **changes)
    before = {key: fields(bench.store, *key) for key in QUEUES}
    starts = {key: bench.store.min_offset(*key) for key in QUEUES}
    bench.store.stop()

    report = convert(root, target, **changes)
    assert not report.damaged
    assert not report.lost
    assert not report.findings.errors, report.findings.kept
    assert not (target / "batchconsumequeue").exists()
    store = converted_store(target, **changes)
    assert {key: fields(store, *key) for key in QUEUES} == before
    assert {key: store.min_offset(*key) for key in QUEUES} == starts
    for topic, queue_id in QUEUES:
        end = store.max_offset(topic, queue_id)
        assert store.put(message(topic, queue_id)).queue_offset == end
        store.dispatch()
    found = {key: drain(store, *key) for key in QUEUES}
    assert all(not each.sys_flag & SysFlag.INNER_BATCH for each in found["batched", 0])
    store.stop()
    for key, messages in found.items():
        check_units(target, *key, messages)
    assert check_store(RealDisk(), options(store_path_root_dir=str(target), **changes)).is_sound


def check_units(target: Path, topic: str, queue_id: int, messages: list[StoredMessage]) -> None:
    """Check that a queue has an ordinary unit for each message, number by number."""
    folder = target / "consumequeue" / topic / str(queue_id)
    files = {int(path.name): path.read_bytes() for path in folder.iterdir()}
    for each in messages:
        at = each.queue_offset * UNIT_SIZE
        start = max(name for name in files if name <= at)
        position, size, _ = UNIT.unpack_from(files[start], at - start)
        assert (position, size) == (each.physical_offset, each.size)


def test_records_of_a_batch_are_found_by_key_after_conversion(tmp_path: Path) -> None:
    bench = opened(tmp_path / "store")
    put_batch(bench.store, [Record(b"the-key", b"v", (), 0, 0)])
    bench.store.stop()
    write_topics(tmp_path / "store")
    convert(tmp_path / "store", tmp_path / "new")
    store = converted_store(tmp_path / "new")
    assert len(store.query("batched", "the-key", 10, 0, 1 << 62).records) == 1
    store.stop()


@pytest.fixture
def settled(tmp_path: Path) -> Path:
    """A stopped store with three batches, of which the second is not one."""
    bench = opened(tmp_path / "store")
    put_kafka(bench.store, kafka_batch(b"a", b"b"))
    broken = bytearray(kafka_batch(b"c", b"d", b"e"))
    broken[61] = 0xFF
    put_kafka(bench.store, bytes(broken))
    put_kafka(bench.store, kafka_batch(b"f"))
    bench.store.stop()
    write_topics(tmp_path / "store")
    return tmp_path / "store"


def test_damaged_batch_is_named_and_counted_and_keeps_its_offsets(settled: Path, tmp_path: Path) -> None:
    report = convert(settled, tmp_path / "new")
    assert (report.batches, report.messages, report.lost, report.damaged) == (3, 3, 3, 1)
    (finding,) = [each for each in report.findings.kept if each.severity == "error"]
    assert finding.path.endswith("commitlog/00000000000000000000")
    assert "batch of batched queue 0 from offset 2 on: " in finding.what
    assert "3 of its offsets have an empty message" in finding.what
    store = converted_store(tmp_path / "new")
    found = drain(store, "batched", 0)
    assert [(each.queue_offset, each.body) for each in found] == [
        (0, b"a"),
        (1, b"b"),
        (2, b""),
        (3, b""),
        (4, b""),
        (5, b"f"),
    ]
    store.stop()


@pytest.mark.parametrize("keeps_batches", [True, False])
def test_member_of_a_group_keeps_its_batches_only_if_that_is_chosen(
    keeps_batches: bool, tmp_path: Path
) -> None:
    bench = Bench(clock=ManualClock(1_700_000_000_000))
    put_kafka(bench.store, kafka_batch(b"a", b"b"))
    bench.put(message("batched", 0, b"c"))
    bench.store.stop()
    settings = onto_real_disk(into_ledger(bench.disk), tmp_path)
    write_topics(tmp_path / "store")
    target = tmp_path / "new"
    report = convert_store(RealDisk(), settings, str(target), keeps_batches=keeps_batches)
    assert report.member == "dledger-n0"
    assert (report.batches, report.messages) == ((0, 0) if keeps_batches else (1, 2))
    store = opened(target).store if keeps_batches else converted_store(target)
    assert [each.body for each in drain(store, "batched", 0)] == [b"a", b"b", b"c"]
    assert bool(store.batches.get("batched", 0, 0, 1 << 20).spans) is True
    store.stop()


def test_running_store_is_refused(settled: Path, tmp_path: Path) -> None:
    class HeldDisk(RealDisk):
        def lock(self, path: str) -> File:
            raise BlockingIOError

    with pytest.raises(StoreUnavailable, match=r"a broker has .* open: stop it first"):
        convert_store(HeldDisk(), options(store_path_root_dir=str(settled)), str(tmp_path / "new"))
    assert not (tmp_path / ("new" + CONVERTING)).exists()


def test_damaged_log_is_refused_with_the_file(settled: Path, tmp_path: Path) -> None:
    path = settled / "commitlog" / f"{0:020d}"
    content = bytearray(path.read_bytes())
    content[95] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match=r"00000000000000000000: .* restore the file from a copy"):
        convert(settled, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_unclean_stop_is_reported(settled: Path, tmp_path: Path) -> None:
    (settled / "abort").write_text("1")
    report = convert(settled, tmp_path / "new")
    assert any("was not stopped cleanly" in each.what for each in report.findings.kept)


def test_other_choice_for_a_begun_conversion_is_refused(settled: Path, tmp_path: Path) -> None:
    begun = tmp_path / ("new" + CONVERTING)
    (begun / "commitlog").mkdir(parents=True)
    noted = {
        "source": str(settled),
        "file_size": 4096,
        "first_file": 0,
        "keeps_batches": True,
        "next_file": 0,
        "end": 0,
    }
    (begun / "converting").write_text(json.dumps(noted))
    with pytest.raises(StoreUnavailable, match="another choice of --keep-batches"):
        convert(settled, tmp_path / "new")
