"""Compacted queues: compared with a model through restarts, crashes and disk faults."""

import os
import random

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.compaction import Compaction
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import GetStatus
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from mqgateway.engine.worker import InlineWorker, MemoryWorker
from tests.support.engine.store.compacting import TOPIC, Bench, Queue, compaction_options
from tests.support.engine.store.stores import HOST, message, records

SEEDS = range(int(os.environ.get("MQGATEWAY_COMPACTION_SEEDS", "25")))


def newest(queue: Queue) -> dict[str, tuple[int, bytes]]:
    """Return the offset and body of the newest message by key."""
    found = {}
    for each in queue.messages:
        message = decode(each)
        found[message.properties["KEYS"]] = (message.queue_offset, message.body)
    return found


def check(bench: Bench) -> None:
    """Check that the newest message of each key exists, and nothing that was not put."""
    kept = bench.kept()
    offsets = [offset for offset, _, _ in kept]
    assert offsets == sorted(set(offsets))
    for offset, key, body in kept:
        put = decode(bench.queue.messages[offset])
        assert (put.properties["KEYS"], put.body) == (key, body)
    left = {(key, offset) for offset, key, _ in kept}
    assert [
        key for key, (offset, body) in newest(bench.queue).items() if body and (key, offset) not in left
    ] == []


def put_some(bench: Bench, choose: random.Random, count: int = 30) -> None:
    for _ in range(choose.randint(1, count)):
        body = b"" if choose.random() < 0.15 else choose.randbytes(choose.randint(1, 300))
        bench.queue.put(f"key{choose.randint(0, 12)}", body)


def test_of_each_key_the_newest_message_stays() -> None:
    bench = Bench()
    for number in range(100):
        bench.queue.put(f"key{number % 4}", b"%d" % number)
    bench.compact()
    kept = bench.kept()
    assert [offset for offset, _, _ in kept][-4:] == [96, 97, 98, 99]
    assert len(kept) < 20  # the last file is not compacted yet
    check(bench)


def test_an_empty_body_deletes_its_key() -> None:
    bench = Bench()
    bench.queue.put("gone", b"something")
    bench.queue.put("gone", b"")
    for number in range(40):
        bench.queue.put("stays", b"%d" % number)
    bench.compact()
    assert {key for _, key, _ in bench.kept()} == {"stays"}


def test_compacted_messages_survive_their_deletion_from_log() -> None:
    bench = Bench()
    for number in range(60):
        bench.queue.put(f"key{number}", b"%d" % number)
    bench.compact()
    bench.queue.begin = 60
    assert len(bench.again(clean=True).kept()) == 60


def test_nothing_is_compacted_before_its_time() -> None:
    bench = Bench()
    for number in range(60):
        bench.queue.put("key", b"%d" % number)
    bench.compaction.tick()
    bench.clock.advance(9_000)
    bench.compaction.tick()
    assert len(bench.kept()) == 60


def test_nothing_is_compacted_before_the_log_is_on_the_disk() -> None:
    bench = Bench()
    for number in range(60):
        bench.queue.put("key", b"%d" % number)
    bench.compaction.tick()
    bench.clock.advance(25_000)
    bench.compaction.tick()
    assert len(bench.kept()) == 60
    bench.queue.flushed_offset = 60
    bench.compaction.tick()
    assert len(bench.kept()) < 20


def test_unread_queues_are_copied_too() -> None:
    bench = Bench()
    bench.queue.put("key")
    bench.compaction.tick()
    assert bench.disk.listdir(f"/store/compaction/compactionLog/{TOPIC}") == ["0"]


def test_a_queue_without_messages_is_none() -> None:
    bench = Bench()
    assert bench.get().status is GetStatus.NO_MATCHED_LOGIC_QUEUE
    assert bench.compaction.get(TOPIC, 3, 0, 1, None, None).status is GetStatus.NO_MATCHED_LOGIC_QUEUE


def test_reads_continue_while_a_worker_compacts() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker)
    for number in range(60):
        bench.queue.put(f"key{number % 3}", b"%d" % number)
    bench.compact()
    bench.queue.put("key0", b"meanwhile")
    check(bench)
    worker.perform_all()
    check(bench)
    assert len(bench.kept()) < 20


def test_deleted_topic_starts_over() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker)
    for number in range(60):
        bench.queue.put("key", b"%d" % number)
    bench.compact()
    bench.compaction.delete_topic(TOPIC)
    worker.perform_all()
    bench.queue.messages.clear()
    bench.queue.put("key", b"new")
    assert [body for _, _, body in bench.kept()] == [b"new"]
    assert [body for _, _, body in bench.again().kept()] == [b"new"]


def test_files_of_another_length_are_refused() -> None:
    bench = Bench()
    bench.queue.put("key")
    bench.kept()
    bench.compaction.stop()
    with pytest.raises(CorruptFile):
        Bench(bench.disk, bench.queue, compaction_cq_mapped_file_size=920)


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_with_restarts_and_power_cuts(seed: int) -> None:
    choose = random.Random(seed)
    bench = Bench()
    for _ in range(12):
        put_some(bench, choose)
        what = choose.random()
        if what < 0.4:
            bench.compact()
        elif what < 0.6:
            bench.compaction.stop()
            bench.queue.flushed_offset = len(bench.queue.messages)
            bench = bench.again(clean=True)
        elif what < 0.8:
            bench.kept()
            bench = bench.again(bench.disk.crash(choose.randint(0, 1 << 30)))
        else:
            # Messages that the commit log lost are replaced by others, at the same offsets.
            bench.kept()
            bench = lose_some(bench, choose)
        check(bench)


def lose_some(bench: Bench, choose: random.Random) -> Bench:
    """Cut the power, so that the commit log loses its last messages."""
    disk = bench.disk.crash(choose.randint(0, 1 << 30))
    kept = max(bench.queue.flushed_offset, len(bench.queue.messages) - choose.randint(1, 3))
    del bench.queue.messages[kept:]
    return bench.again(disk)


@pytest.mark.parametrize("seed", range(3))
def test_a_power_cut_at_any_step_of_a_compaction(seed: int) -> None:
    """The old files exist or the new ones, and the newest of each key in any case."""
    choose = random.Random(seed)
    bench = Bench()
    while len(bench.queue.messages) < 60:
        put_some(bench, choose)
    bench.kept()
    bench.compaction.stop()
    bench = bench.again(clean=True)
    cuts: list[tuple[Operation, CrashDisk]] = []
    bench.disk.watch = lambda operation: cuts.append(
        (operation, bench.disk.crash(choose.randint(0, 1 << 30)))
    )
    bench.compact()
    bench.disk.watch = None
    assert {"write", "sync", "rename", "unlink", "sync_dir"} <= {operation.call for operation, _ in cuts}
    # Compacted messages do not come again from the commit log.
    bench.queue.begin = len(bench.queue.messages)
    for operation, disk in cuts:
        left = bench.again(disk)
        try:
            check(left)
        except AssertionError as failure:
            raise AssertionError(f"power cut at {operation}") from failure


@pytest.mark.parametrize("call", ["write", "sync", "rename", "unlink", "sync_dir", "open"])
def test_a_sick_disk_loses_nothing(call: str) -> None:
    bench = Bench()
    choose = random.Random(call)
    for skip in (0, 1, 3, 9):
        put_some(bench, choose)
        bench.disk.fail_next(call, "compaction", skip=skip)
        bench.compact()
        bench.compact()
        bench.disk.heal()
        bench.compact()
        check(bench)
    check(bench.again(clean=True))


def bodies(store: MessageStore) -> list[bytes]:
    """Return the bodies of all remaining messages."""
    found: list[bytes] = []
    offset = 0
    while (result := store.get(TOPIC, 0, offset, 32)).status is GetStatus.FOUND:
        found += [each.body for each in records(result)]
        offset = result.next_offset
    return found


def test_a_store_serves_compacted_topics_from_their_files() -> None:
    disk, clock = CrashDisk(), ManualClock()

    def started() -> MessageStore:
        settings = compaction_options()
        store = MessageStore(
            settings, disk=disk, clock=clock, worker=InlineWorker(), store_host=HOST, memory=1 << 30
        )
        store.compact_with(
            Compaction(
                settings,
                disk=disk,
                clock=clock,
                worker=InlineWorker(),
                root="/store",
                source=store,
                topics=lambda: [(TOPIC, 1)],
                is_compacted=lambda topic: topic == TOPIC,
            )
        )
        store.start()
        return store

    store = started()
    for number in range(60):
        store.put(message(TOPIC, 0, b"%d" % number, {"KEYS": f"key{number % 3}"}))
        store.put(message("plain", 0, b"%d" % number, {"KEYS": "key"}))
    store.dispatch()
    for _ in range(4):
        clock.advance(8_000)
        store.tick()
    left = bodies(store)
    assert len(left) < 20
    assert left[-3:] == [b"57", b"58", b"59"]
    assert store.get("plain", 0, 0, 100).count == 60
    store.stop()
    store = started()
    assert bodies(store) == left
    store.admin.delete_topics([TOPIC])
    assert store.get(TOPIC, 0, 0, 32).status is GetStatus.NO_MATCHED_LOGIC_QUEUE
    assert not disk.exists(f"/store/compaction/compactionLog/{TOPIC}")
