"""Loss of any one file of a store: a start serves all that the others contain, or refuses and changes
nothing.

Derived files are rebuilt, and a deleted topic stays deleted.
"""

import logging

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.log_files import MissingLogFiles
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut
from tests.support.engine.store.stores import Bench, batch, drain, message

COUNT = 70
QUEUE = "/store/consumequeue/orders/0"


def lived(clean: bool, **changes: object) -> Bench:
    """Return a store with queues of three files and of two, one exactly full, one of batches, five index
    files, and a deleted topic.
    """
    bench = Bench(mapper_file_size_batch_consume_queue=460, **changes)  # type: ignore[arg-type]
    bench.put(message("gone", body=b"gone"))
    for i in range(COUNT):
        bench.clock.advance(100)
        bench.put(message(queue_id=i % 3, body=b"%d " % i + b"x" * 60, properties={"KEYS": f"k{i}"}))
        bench.put(message("batched", queue_id=i % 2, body=b"b%d" % i, properties={"KEYS": f"b{i}"}))
        if i < 20:
            bench.put(message("letters", body=b"l%d" % i, properties={"KEYS": f"l{i}"}))
    bench.store.admin.delete_topics(["gone"])
    for _ in range(3):
        bench.clock.advance(60_000)
        bench.store.tick()
    if clean:
        bench.store.stop()
    return bench


def what_is_there(bench: Bench) -> dict[str, list[bytes]]:
    """Return bodies by queue, after a check of offsets, and the results of the index."""
    found = {}
    for topic, queue_id in [("orders", 0), ("orders", 1), ("orders", 2), ("batched", 0), ("batched", 1)]:
        each = drain(bench.store, topic, queue_id)
        first = each[0].queue_offset if each else 0
        assert [one.queue_offset for one in each] == list(range(first, first + len(each)))
        found[f"{topic}{queue_id}"] = [one.body for one in each]
    found["letters"] = [one.body for one in drain(bench.store, "letters")]
    found["gone"] = [one.body for one in drain(bench.store, "gone")]
    for topic, letter, count in (("orders", "k", COUNT), ("batched", "b", COUNT), ("letters", "l", 20)):
        queried = [bench.store.query(topic, f"{letter}{i}", 9, 0, 1 << 60).records for i in range(count)]
        found[f"{topic} keys"] = [record for records in queried for record in records]
    return found


def state(disk: CrashDisk) -> dict[str, bytes]:
    return {path: disk.read_bytes(path) for path in disk.files("/store")}


def paths(clean: bool) -> list[str]:
    return lived(clean).disk.files("/store")


@pytest.mark.parametrize("clean", [True, False])
def test_whichever_file_is_lost_the_others_are_served_or_left_alone(clean: bool) -> None:
    whole = what_is_there(lived(clean).kill())
    assert whole["gone"] == [] and len(whole["orders keys"]) == COUNT
    refused = []
    for path in paths(clean):
        bench = lived(clean)
        bench.disk.lose(path)
        before = state(bench.disk)
        try:
            again = bench.kill()
        except MissingLogFiles as refusal:
            assert path in str(refusal)
            assert state(bench.disk) == before
            refused.append(path)
            continue
        if path.endswith(f"commitlog/{file_name(0)}"):
            continue  # as retention leaves it; see below
        left = what_is_there(again)
        if path == "/store/checkpoint" and not clean:
            left["gone"] = []  # may be back after a crash, as nothing newer was put into it
        assert left == whole, path
        assert again.put(message(queue_id=0), message("letters")) == [24, 20], path
    logs = [path for path in paths(clean) if "commitlog" in path]
    assert refused == logs[1:]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("size", [0, 20, 110, 199])
@pytest.mark.parametrize("start", [0, 200, 400])
def test_a_queue_file_that_was_cut_short_is_made_whole(start: int, size: int, clean: bool) -> None:
    whole = what_is_there(lived(clean).kill())
    bench = lived(clean)
    bench.disk.open(f"{QUEUE}/{file_name(start)}").truncate(size)
    again = bench.kill()
    assert what_is_there(again) == whole
    again.store.stop()
    assert bench.disk.size(f"{QUEUE}/{file_name(start)}") == 200


def test_rebuilt_units_are_logged_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench = lived(True)
    bench.disk.open(f"{QUEUE}/{file_name(200)}").truncate(60)
    bench.again()
    assert f"{QUEUE}/{file_name(200)}: the file has 60 bytes" in caplog.text
    assert "truncated in /" in caplog.text and "units of consume queues were rebuilt" in caplog.text
    caplog.clear()
    lived(True).again()
    assert "rebuilt" not in caplog.text and "may lack" not in caplog.text.replace(
        "1 consume queues may lack", ""
    )


def test_lost_files_are_found_after_retention_too() -> None:
    """The log begins late, and so do queues: only data in its remaining files counts as missing."""

    def expired() -> Bench:
        bench = lived(True)
        for name in bench.disk.listdir("/store/commitlog")[:3]:
            bench.disk.lose(f"/store/commitlog/{name}")
        again = bench.again()
        again.clock.advance(10_000)
        again.store.tick()
        again.clock.advance(10_000)
        again.store.tick()
        again.store.stop()
        return again

    whole = what_is_there(expired().again())
    names = expired().disk.listdir(QUEUE)
    assert 0 < len(whole["orders0"]) < 24 and names[0] != file_name(0)
    for name in names:
        bench = expired()
        bench.disk.lose(f"{QUEUE}/{name}")
        assert what_is_there(bench.again()) == whole, name


def test_power_cut_while_units_are_rebuilt_costs_nothing() -> None:
    whole, cuts = what_is_there(lived(True).kill()), 0
    for path in (f"{QUEUE}/{file_name(0)}", f"{QUEUE}/{file_name(200)}", f"{QUEUE}/{file_name(400)}"):
        for cut in range(1, 400, 3):
            bench = lived(True)
            bench.disk.lose(path)
            bench.disk.cut_at = bench.disk.operations + cut
            try:
                bench.again()
            except PowerCut:
                cuts += 1
            else:
                break
            left = what_is_there(bench.crash(cut))
            # A deleted topic may be back after a crash.
            assert {**left, "gone": []} == whole, (path, cut)
    assert cuts > 10


def test_an_empty_folder_of_a_queue_goes() -> None:
    bench = lived(True)
    bench.disk.makedirs("/store/consumequeue/orders/7")
    assert 7 not in bench.again().store.queues()["orders"]
    assert not bench.disk.exists("/store/consumequeue/orders/7")


def test_files_of_another_length_are_refused_as_a_wrong_setting() -> None:
    bench = lived(True)
    with pytest.raises(CorruptFile, match="the settings say 400"):
        Bench(bench.disk, bench.clock, mapped_file_size_consume_queue=400)


def test_a_batch_queue_is_made_whole() -> None:
    bench = Bench(mapper_file_size_batch_consume_queue=460)
    for _ in range(25):
        bench.store.put_inner_batch(message("batched", body=batch(b"1", b"2", b"3")))
    bench.store.dispatch()
    bench.store.stop()
    folder = "/store/batchconsumequeue/batched/0"
    names = bench.disk.listdir(folder)
    assert len(names) == 3
    for name in names:
        data = bench.disk.read_bytes(f"{folder}/{name}")
        bench.disk.lose(f"{folder}/{name}")
        again = bench.again()
        assert again.store.max_offset("batched", 0) == 75 and again.store.min_offset("batched", 0) == 0
        again.store.stop()
        assert bench.disk.read_bytes(f"{folder}/{name}") == data
