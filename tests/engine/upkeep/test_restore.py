"""A store that was made of a backup: as it was at its end, at a time or at an offset of the log."""

import json
from pathlib import Path

import pytest

from mqgateway.engine.disk import RealDisk
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.restore import Until
from tests.support.engine.store.stores import batch, message, options
from tests.support.engine.upkeep.backups import Place
from tests.support.engine.upkeep.damage import change


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.table("topics.json", '{"topicConfigTable":{"orders":{},"late":{},"batched":{}}}')
    return place


def fill(place: Place, count: int = 30) -> list[int]:
    """Messages a second apart; where the log ended after each."""
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
    assert offsets(place) == {"orders@readers": {0: 7}}  # without quotes, as the standard has it
    assert place.bodies(place.restored) == place.bodies(place.root)


def test_the_store_goes_on_after_it(place: Place) -> None:
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
    """Whole records up to it; consumers are where the queues end, and what the broker did is done again."""
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


def test_queues_whose_messages_are_gone_go_on_where_they_ended(place: Place) -> None:
    """Also where the first message of a queue lies behind the point."""
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
