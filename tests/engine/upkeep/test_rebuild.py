"""A rebuild restores derived files byte for byte, repairs all damage of them, and may be interrupted
anywhere.
"""

import errno
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.disk import File
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.rebuild import ASIDE, REPLACED, RebuildReport, rebuild_store
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import Bench, batch, drain, message, options
from tests.support.engine.upkeep.damage import change
from tests.support.engine.upkeep.ending import EndingDisk, Interrupted


def settings(root: Path) -> dict[str, Any]:
    return {"store_path_root_dir": str(root), "mapper_file_size_batch_consume_queue": 460}


def store(root: Path, count: int = 25, messages: bool = True) -> Bench:
    """Return an open store on the real disk."""
    bench = Bench(disk=RealDisk(), **settings(root))  # type: ignore[arg-type]
    for number in range(count if messages else 0):
        bench.put(
            message("orders", number % 2, b"body %d" % number, {"UNIQ_KEY": f"id{number}", "TAGS": "t"})
        )
        if number % 10 == 0:
            bench.store.put_inner_batch(message("batched", 0, batch(b"one", b"two")))
            bench.put(message("SCHEDULE_TOPIC_XXXX", 2, properties={"DELAY": "3"}))
    return bench


def files(root: Path) -> dict[str, bytes]:
    """Return all derived files, index files by number as their names are times."""
    found = {}
    for folder in ("consumequeue", "batchconsumequeue", "index"):
        for number, path in enumerate(sorted((root / folder).rglob("*"))):
            if path.is_file():
                name = f"index {number}" if folder == "index" else str(path.relative_to(root))
                found[name] = path.read_bytes()
    return found


def rebuild(root: Path, disk: RealDisk | None = None, **more: Any) -> RebuildReport:
    return rebuild_store(disk or RealDisk(), options(**settings(root)), **more)


def is_sound(root: Path) -> bool:
    return check_store(RealDisk(), options(**settings(root))).is_sound


def test_it_writes_what_the_store_wrote(tmp_path: Path) -> None:
    store(tmp_path).store.stop()
    before = files(tmp_path)
    log = {path.name: path.read_bytes() for path in (tmp_path / "commitlog").iterdir()}
    report = rebuild(tmp_path)
    assert files(tmp_path) == before
    assert {path.name: path.read_bytes() for path in (tmp_path / "commitlog").iterdir()} == log
    assert (report.records, report.queues) == (31, 4)
    assert report.findings.kept == []
    assert [Path(name).name for name in report.replaced] == [
        "consumequeue.replaced",
        "batchconsumequeue.replaced",
        "index.replaced",
    ]


def test_the_old_folders_are_kept_each_time_or_discarded(tmp_path: Path) -> None:
    store(tmp_path).store.stop()
    rebuild(tmp_path)
    again = rebuild(tmp_path)
    assert f"{tmp_path}/consumequeue{REPLACED}-2" in again.replaced
    report = rebuild(tmp_path, discard=True)
    assert report.replaced == []
    assert not (tmp_path / f"consumequeue{REPLACED}-3").exists()
    assert (tmp_path / f"consumequeue{REPLACED}").exists()


def test_lost_folders_come_back(tmp_path: Path) -> None:
    """The topics table has the topics with batch queues."""
    store(tmp_path).store.stop()
    before = files(tmp_path)
    for folder in ("consumequeue", "batchconsumequeue", "index"):
        RealDisk().rmtree(str(tmp_path / folder))
    config = tmp_path / "config"
    config.mkdir()
    (config / "topics.json").write_text(
        '{"topicConfigTable":{"batched":{"attributes":{"queue.type":"BatchCQ"}},"orders":{}}}'
    )
    rebuild(tmp_path)
    assert files(tmp_path) == before


@pytest.mark.parametrize("place", [5, 45, 190])
def test_damaged_units_are_made_good(tmp_path: Path, place: int) -> None:
    store(tmp_path).store.stop()
    change(RealDisk(), f"{tmp_path}/consumequeue/orders/0/{0:020d}", place, b"\x81\x82")
    assert not is_sound(tmp_path)
    rebuild(tmp_path)
    assert is_sound(tmp_path)


def test_store_continues_after_it(tmp_path: Path) -> None:
    store(tmp_path).store.stop()
    rebuild(tmp_path, discard=True)
    bench = store(tmp_path, messages=False)
    assert len(drain(bench.store, "orders", 0)) == 13
    assert bench.put(message("orders", 0, b"next")) == [13]
    assert [stored.body for stored in drain(bench.store, "orders", 0)][-1] == b"next"
    bench.store.stop()
    assert is_sound(tmp_path)


def test_a_killed_store_is_rebuilt_and_recovers(tmp_path: Path) -> None:
    """Messages that were stored and not dispatched are in the new queues; the start resumes from there."""
    bench = store(tmp_path)
    lock = bench.store._lock
    assert lock is not None
    lock.close()
    rebuild(tmp_path)
    again = store(tmp_path, messages=False)
    assert len(drain(again.store, "orders", 1)) == 12
    again.store.stop()
    assert is_sound(tmp_path)


def test_queues_whose_messages_have_gone_continue_where_they_ended(tmp_path: Path) -> None:
    bench = store(tmp_path, 3)
    for number in range(100):
        bench.put(message("other", 0, b"%d" % number))
    bench.store.stop()
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    report = rebuild(tmp_path, discard=True)
    assert report.kept_ends == 4
    again = store(tmp_path, messages=False)
    assert again.put(message("orders", 0)) == [2]
    assert again.put(message("SCHEDULE_TOPIC_XXXX", 2)) == [1]
    result = again.store.put_inner_batch(message("batched", 0, batch(b"one", b"two")))
    assert result.queue_offset == 2
    assert again.store.min_offset("orders", 0) == 2
    again.store.stop()


def test_a_damaged_record_leaves_a_blank_unit(tmp_path: Path) -> None:
    store(tmp_path).store.stop()
    path = tmp_path / "commitlog" / f"{0:020d}"
    at = path.read_bytes().index(b"body 4")
    change(RealDisk(), str(path), at, b"X")
    report = rebuild(tmp_path)
    assert report.findings.errors == 1
    unit = (tmp_path / "consumequeue" / "orders" / "0" / f"{0:020d}").read_bytes()[40:60]
    assert unit.hex() == "00000000000000007fffffff0000000000000000"
    again = store(tmp_path, messages=False)
    assert len(drain(again.store, "orders", 0)) == 12
    assert again.store.max_offset("orders", 0) == 13


@pytest.mark.parametrize("offset", [1, 700, 1 << 40])
def test_a_record_with_a_wrong_queue_offset_spoils_no_others(tmp_path: Path, offset: int) -> None:
    """No CRC covers the offset: it must be consistent with those around it."""
    store(tmp_path).store.stop()
    path = tmp_path / "commitlog" / f"{0:020d}"
    at = path.read_bytes().index(b"body 6") - 88
    change(RealDisk(), str(path), at + 20, offset.to_bytes(8, "big"))
    report = rebuild(tmp_path)
    assert f"message {offset} of orders queue 0, message 3 is expected" in report.findings.kept[0].what
    again = store(tmp_path, messages=False)
    assert [stored.body for stored in drain(again.store, "orders", 0)] == [
        b"body %d" % number for number in range(0, 25, 2) if number != 6
    ]


def test_ended_at_any_moment_it_can_be_done_again(tmp_path: Path) -> None:
    """The queues are the old ones, the new ones, or made by the next rebuild; the log is never changed."""
    root = tmp_path / "sound"
    store(root, 3).store.stop()
    before = files(root)
    counting = EndingDisk()
    rebuild(root, counting, discard=True)
    assert counting.changes > 20
    # The swap is last; of the writes before it, a sample is enough.
    moments = {*range(1, counting.changes, 5), *range(counting.changes - 15, counting.changes + 1)}
    for end_at in sorted(moments):
        with pytest.raises(Interrupted):
            rebuild(root, EndingDisk(end_at), discard=True)
        report = rebuild(root, discard=True)
        assert files(root) == before, f"ended at {end_at}"
        assert report.findings.kept == []
        assert not list(root.glob(f"*{ASIDE}"))


def test_table_of_old_queue_ends_is_removed(tmp_path: Path) -> None:
    bench = Bench(disk=RealDisk(), queue_table_from=1, **settings(tmp_path))  # type: ignore[arg-type]
    bench.put(message("orders", 0))
    bench.store.stop()
    assert (tmp_path / "queuetable").exists()
    rebuild(tmp_path)
    assert not (tmp_path / "queuetable").exists()


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    class FullDisk(RealDisk):
        def open(self, path: str, create: bool = False) -> File:
            if create and ASIDE in path and "orders" in path:
                raise OSError(errno.ENOSPC, "No space left on device", path)
            return super().open(path, create)

    store(tmp_path).store.stop()
    before = files(tmp_path)
    with pytest.raises(OSError, match="No space"):
        rebuild(tmp_path, FullDisk())
    assert files(tmp_path) == before
    assert not list(tmp_path.glob(f"*{ASIDE}"))


def test_a_store_in_use_is_refused(tmp_path: Path) -> None:
    bench = Bench()
    with pytest.raises(StoreUnavailable, match="stop it first"):
        rebuild_store(bench.disk, options())


def test_it_says_how_far_it_is(tmp_path: Path) -> None:
    store(tmp_path).store.stop()
    said: list[tuple[str, int, int]] = []
    rebuild(tmp_path, progress=lambda *each: said.append(each))
    assert {stage for stage, _, _ in said} == {"reading", "syncing"}
    assert all(done <= total for _, done, total in said)
    assert said[-1][1] == said[-1][2]


@pytest.mark.parametrize("again", [1, 2, 9])
def test_a_topic_that_was_deleted_and_created_again(tmp_path: Path, again: int) -> None:
    """Only its new messages are in the queues, as they were."""
    bench = store(tmp_path)
    bench.store.admin.delete_topics(["orders"])
    for number in range(again):
        bench.put(message("orders", 0, b"new %d" % number, {"UNIQ_KEY": f"new{number}"}))
    bench.store.stop()
    before = files(tmp_path)
    report = rebuild(tmp_path)
    assert report.findings.kept == []
    after = files(tmp_path)
    # That of the deleted queue is made too, as nothing shows that it should not be.
    gone = "consumequeue/orders/1/"
    assert {name: content for name, content in after.items() if not name.startswith(gone)} == before


def test_a_topic_that_was_deleted_stays_so(tmp_path: Path) -> None:
    bench = store(tmp_path)
    bench.store.admin.delete_topics(["orders"])
    bench.store.stop()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topics.json").write_text('{"topicConfigTable":{"batched":{}}}')
    before = files(tmp_path)
    rebuild(tmp_path)
    assert files(tmp_path) == before


def test_queues_of_record_batches_of_kafka_are_written_as_the_store_wrote_them(tmp_path: Path) -> None:
    bench = store(tmp_path, 3)
    fill_kafka(bench, 3, 1, 40)
    bench.store.stop()
    before = files(tmp_path)
    rebuild(tmp_path)
    assert files(tmp_path) == before
    assert is_sound(tmp_path)
