"""A store restored from a backup: at its end, at a time or at an offset of the log."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.message import Message
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.state import Duplicate
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.upkeep.backup import back_up
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.manifest import write
from mqgateway.engine.upkeep.restore import Until, restore_store
from tests.engine.test_delays import Bench as DelayBench
from tests.support.engine.store.kafka_batches import fill_kafka, read_all, with_place
from tests.support.engine.store.producing import put_whole
from tests.support.engine.store.stores import Bench, batch, message, options
from tests.support.engine.timers.bench import START as TIMERS_START
from tests.support.engine.timers.bench import Bench as TimerBench
from tests.support.engine.upkeep.backups import NOW, Place
from tests.support.engine.upkeep.damage import change


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.table("topics.json", '{"topicConfigTable":{"orders":{},"late":{},"batched":{}}}')
    return place


def fill(place: Place, count: int = 30) -> list[int]:
    """Put messages a second apart; return the end of the log after each."""
    bench = place.open()
    ends = []
    for number in range(count):
        bench.put(message("orders", 0, b"%d" % number + b"x" * 300, {"UNIQ_KEY": f"id{number}"}))
        if number == 20:
            bench.put(message("late", 1, b"late"))
        ends.append(bench.store.max_physical_offset)
        place.clock.advance(1000)
    bench.store.stop()
    return ends


def offsets(place: Place, table: str = "consumerOffset.json") -> object:
    return loads((place.restored / "config" / table).read_bytes())["offsetTable"]


def is_sound(place: Place) -> bool:
    report = check_store(RealDisk(), options(store_path_root_dir=str(place.restored)))
    assert not report.findings.errors, report.findings.kept
    return report.is_sound


def test_it_is_what_the_backup_was(place: Place) -> None:
    ends = fill(place)
    place.table("consumerOffset.json", '{"offsetTable":{"orders@readers":{0:7}}}')
    report = place.restore(place.back_up())
    assert (report.cut.offset, report.moved_back) == (ends[-1], 0)
    assert is_sound(place)
    assert offsets(place) == {"orders@readers": {0: 7}}  # without quotes, as in RocketMQ
    assert place.bodies(place.restored) == place.bodies(place.root)


def test_moved_starts_and_producers_are_those_of_the_log(place: Place) -> None:
    bench = place.open()
    bench.put(*[message("orders", 0, b"%d" % number) for number in range(9)])
    assert bench.store.move_start("orders", 0, 4) is not None
    produced = ProducerBatch(7, 0, 0, 2)
    put_whole(bench.store, produced)
    bench.put(message("late", 1, b"late"))
    bench.store.stop()
    place.restore(place.back_up())
    again = Bench(disk=RealDisk(), store_path_root_dir=str(place.restored))  # type: ignore[arg-type]
    assert again.store.min_offset("orders", 0) == 4
    assert isinstance(again.store.producers.check("batched", 0, produced), Duplicate)


def test_store_continues_after_it(place: Place) -> None:
    fill(place)
    report = place.back_up()
    place.restore(report)
    bench = place.open(place.restored)
    assert bench.put(message("orders", 0, b"next")) == [30]
    bench.store.stop()
    assert place.bodies(place.restored)[-1] == b"next"
    assert len(place.bodies(place.root)) == 30


@pytest.mark.parametrize("last", [0, 5, 11, 12, 19, 29])
def test_a_point_in_the_log(place: Place, last: int) -> None:
    """Complete records up to it; consumers are at the ends of queues, and the broker's background work is
    repeated.
    """
    ends = fill(place)
    table = {"orders@readers": {0: 25}, "late@readers": {1: 1}, "T@CID_RMQ_SYS_TRANS": {0: 3}}
    place.table("consumerOffset.json", json.dumps({"offsetTable": table}))
    place.table("delayOffset.json", '{"offsetTable":{3:9}}')
    report = place.restore(place.back_up(), Until(offset=min(ends[last] + 10, ends[-1])))
    assert report.cut.offset == ends[last]
    assert is_sound(place)
    assert place.bodies(place.restored) == place.bodies(place.root)[: last + 1]
    kept = {"orders@readers": {"0": min(25, last + 1)}, "late@readers": {"1": int(last >= 20)}}
    if last == 29:
        kept["T@CID_RMQ_SYS_TRANS"] = {"0": 3}
    assert offsets(place) == kept
    assert (place.restored / "config" / "delayOffset.json").exists() is (last == 29)


def test_a_point_in_time(place: Place) -> None:
    began = place.clock.millis()
    ends = fill(place)
    report = place.restore(place.back_up(), Until(time=began + 9_500))
    assert (report.cut.offset, report.cut.timestamp) == (ends[9], began + 9_000)
    assert len(place.bodies(place.restored)) == 10


def test_record_batches_of_kafka_are_restored_as_they_were(place: Place) -> None:
    bench = place.open()
    sent = fill_kafka(bench, 3, 4)
    bench.store.stop()
    place.restore(place.back_up())
    assert is_sound(place)
    bench = place.open(place.restored)
    assert [bytes(one.data) for one in read_all(bench.store)] == list(map(with_place, sent, [0, 3]))
    bench.store.stop()


def test_points_that_the_backup_does_not_have(place: Place) -> None:
    began = place.clock.millis()
    ends = fill(place)
    report = place.back_up()
    with pytest.raises(StoreError, match="not up to"):
        place.restore(report, Until(offset=ends[-1] + 1))
    with pytest.raises(StoreError, match="first message"):
        place.restore(report, Until(time=began - 1))
    assert not place.restored.exists()
    assert not Path(f"{place.restored}.restoring").exists()


def test_queues_whose_messages_are_gone_continue_where_they_ended(place: Place) -> None:
    """Also if the first message of a queue is behind the point."""
    bench = place.open()
    bench.put(*(message("old", 2, b"%d" % number) for number in range(4)))
    bench.store.put_inner_batch(message("batched", 0, batch(b"one", b"two")))
    bench.store.dispatch()
    bench.put(*(message("orders", 0, b"x" * 400) for _ in range(20)))
    end = bench.store.max_physical_offset
    bench.put(message("old", 2, b"after"))
    bench.store.stop()
    (place.root / "commitlog" / f"{0:020d}").unlink()
    report = place.back_up()
    assert report.manifest.log_start == 4096
    place.restore(report, Until(offset=end))
    assert is_sound(place)
    bench = place.open(place.restored)
    assert bench.store.max_offset("old", 2) == 4
    assert bench.store.max_offset("batched", 0) == 2
    assert bench.put(message("old", 2, b"again")) == [4]
    bench.store.stop()


def test_a_store_without_messages(place: Place) -> None:
    place.open().store.stop()
    report = place.restore(place.back_up())
    assert report.rebuilt.records == 0
    assert place.bodies(place.restored) == []


def test_a_topic_that_was_created_meanwhile_and_is_in_no_table_yet(place: Place) -> None:
    """Its queues' directory shows that it exists."""
    bench = place.open()
    bench.put(message("new", 0, b"came"))
    bench.store.stop()
    ends = place.root / "consumequeue"
    ends.rename(place.root / "later")

    class Later(RealDisk):
        def subdirs(self, path: str) -> list[str]:
            if path.endswith("/consumequeue") and not ends.exists():
                (place.root / "later").rename(ends)
            return super().subdirs(path)

    report = place.restore(place.back_up(Later()))
    assert report.rebuilt.queues == 1
    assert place.bodies(place.restored, "new") == [b"came"]


def test_a_changed_backup_is_refused(place: Place) -> None:
    fill(place)
    report = place.back_up(is_copy=True)
    change(RealDisk(), f"{report.folder}/store/commitlog/{0:020d}", 200, b"?")
    with pytest.raises(StoreError, match="SHA-256"):
        place.restore(report)
    assert not place.restored.exists()


def test_a_folder_that_is_in_use_is_refused(place: Place) -> None:
    fill(place)
    report = place.back_up()
    place.restored.mkdir()
    (place.restored / "something").write_text("")
    with pytest.raises(StoreUnavailable, match="not empty"):
        place.restore(report)


def test_timers_are_read_from_the_first_there_is(place: Place) -> None:
    bench = place.open()
    bench.put(*(message("rmq_sys_wheel_timer", 0, b"x" * 400) for _ in range(20)))
    bench.store.stop()
    (place.root / "commitlog" / f"{0:020d}").unlink()
    place.restore(place.back_up())
    check_point = (place.restored / "config" / "timercheck").read_bytes()
    assert int.from_bytes(check_point[16:24], "big") == 7
    assert is_sound(place)


# Background work of the broker after the point is repeated, and nothing is skipped.


def copy_folder(source: Disk, folder: str, disk: Disk, target: str) -> None:
    """Copy a directory to another disk."""
    disk.makedirs(target)
    for name in source.listdir(folder):
        if source.is_dir(f"{folder}/{name}"):
            copy_folder(source, f"{folder}/{name}", disk, f"{target}/{name}")
        else:
            write(disk, f"{target}/{name}", source.read_bytes(f"{folder}/{name}"))


def put_back(disk: CrashDisk, end: int, wanted: StoreOptions, folder: Path) -> None:
    """Replace the store in memory by one restored from its backup up to an offset."""
    copy_folder(disk, "/store", RealDisk(), f"{folder}/store")
    options = replace(wanted, store_path_root_dir=f"{folder}/store")
    report = back_up(RealDisk(), options, f"{folder}/backups", NOW)
    options = replace(wanted, store_path_root_dir=f"{folder}/restored")
    restore_store(RealDisk(), report.folder, options, Until(offset=end))
    disk.rmtree("/store")
    copy_folder(RealDisk(), f"{folder}/restored", disk, "/store")


def delayed(level: int, body: bytes) -> Message:
    return message("orders", 2, body, {"DELAY": str(level), "UNIQ_KEY": body.decode()})


def test_delayed_messages_that_were_delivered_after_the_point_are_delivered_again(tmp_path: Path) -> None:
    bench = DelayBench()
    write_table(bench.disk, "/store/config/topics.json", b'{"topicConfigTable":{"orders":{}}}')
    bench.send(delayed(1, b"first"), delayed(2, b"second"), delayed(3, b"third"))
    bench.pass_time(1_500)
    end = bench.store.max_physical_offset
    bench.pass_time(5_000)
    bench.schedule.persist()
    bench.store.stop()
    bench.schedule.close()
    assert bench.bodies() == [b"first", b"second"]
    put_back(bench.disk, end, bench.options, tmp_path)
    again = DelayBench(bench.disk, bench.clock.millis())
    assert again.bodies() == [b"first"]
    again.pass_time(0)
    assert again.bodies() == [b"first", b"second"]
    again.pass_time(10_000)
    assert again.bodies() == [b"first", b"second", b"third"]


def test_timers_that_were_delivered_after_the_point_are_delivered_again(tmp_path: Path) -> None:
    bench = TimerBench()
    write_table(bench.disk, "/store/config/topics.json", b'{"topicConfigTable":{"orders":{}}}')
    for seconds in (2, 4, 30):
        bench.set_at(b"%d" % seconds, TIMERS_START + 1000 * seconds, f"k{seconds}")
    bench.pass_time(3_000)
    end = bench.store.max_physical_offset
    bench.pass_time(3_000)
    assert bench.bodies() == [b"2", b"4"]
    bench.stop()
    put_back(bench.disk, end, bench.options, tmp_path)
    again = bench.again(bench.disk)
    again.pass_time(1_000)
    assert again.bodies() == [b"2", b"4"]
    again.pass_time(30_000)
    assert again.bodies() == [b"2", b"4", b"30"]
