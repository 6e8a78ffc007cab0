"""Checks of a tier: every object that is changed or missing is named, and status counts what is there."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.checking import check_tier, tier_status
from mqgateway.engine.tier.format.epochs import TierEpoch
from tests.support.engine.store.stores import Bench, batch, message
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.saving import NAMES, check, fill, save


def saved() -> MemoryObjects:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 40)
    bench.put(message("batched", 0, b"alone"))
    bench.store.put_inner_batch(message("batched", 0, batch(b"a", b"b", b"c"), {"UNIQ_KEY": "k"}))
    bench.store.dispatch()
    bench.store.stop()
    save(objects, bench.disk)
    return objects


OBJECTS = saved().objects


@pytest.fixture
def objects() -> MemoryObjects:
    made = MemoryObjects()
    made.objects = dict(OBJECTS)
    return made


def change(objects: MemoryObjects, name: str, at: int) -> None:
    data = objects.objects[name]
    objects.objects[name] = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def names_of(suffix: str) -> list[str]:
    return [name for name in OBJECTS if name.endswith(suffix)]


def test_tier_that_was_just_saved_is_intact(objects: MemoryObjects) -> None:
    report = check(objects)
    assert (report.damaged, report.unused, report.gaps, report.holes) == ([], [], [], [])
    assert (report.ranges, report.records) == (3, 52)
    assert report.queues == 10


@pytest.mark.parametrize("name", names_of(".seg"))
@pytest.mark.parametrize("part", range(9))
def test_changed_segment_is_named(objects: MemoryObjects, name: str, part: int) -> None:
    change(objects, name, part * (len(OBJECTS[name]) - 1) // 8)
    [found] = check(objects).damaged
    assert found.startswith(name)


@pytest.mark.parametrize("name", names_of(".idx"))
@pytest.mark.parametrize("part", range(9))
def test_changed_index_is_named(objects: MemoryObjects, name: str, part: int) -> None:
    change(objects, name, part * (len(OBJECTS[name]) - 1) // 8)
    report = check_tier(objects, NAMES, reads_records=False)
    assert report.damaged[0].startswith(name)
    assert report.unused == []


@pytest.mark.parametrize("name", names_of(".seg"))
def test_missing_segment_is_named(objects: MemoryObjects, name: str) -> None:
    del objects.objects[name]
    [found] = check_tier(objects, NAMES, reads_records=False).damaged
    assert found == f"{name} at byte 0: the segment is missing"


def test_segment_of_another_length_is_named(objects: MemoryObjects) -> None:
    name = names_of(".seg")[0]
    objects.objects[name] += b"x"
    [found] = check_tier(objects, NAMES, reads_records=False).damaged
    assert found.endswith(f"its index says {len(OBJECTS[name])}")


def test_missing_range_is_named(objects: MemoryObjects) -> None:
    del objects.objects[NAMES.range(1, 4096)]
    [found] = check(objects).damaged
    assert found.endswith("the range begins at 8192, the one before it ends at 4096")


def test_longer_index_is_named(objects: MemoryObjects) -> None:
    objects.objects[NAMES.range(1, 0)] += b"x"
    [found] = check(objects).damaged
    assert "does not match its digest" in found


def test_segments_of_no_range_are_unused(objects: MemoryObjects) -> None:
    end = check(objects).saved_to
    objects.objects[NAMES.epoch(2)] = TierEpoch(2, 4096, "00" * 8, 1, "/store").encode()
    report = check(objects)
    assert (report.ranges, report.saved_to, report.damaged) == (1, 4096, [])
    assert len(report.unused) == 2
    status = tier_status(objects, NAMES)
    assert (status.epochs, status.ranges, status.ignored, status.saved_to) == (2, 1, 2, 4096)
    assert end > 8192


def test_damaged_epoch_stops_the_check(objects: MemoryObjects) -> None:
    change(objects, NAMES.epoch(1), 30)
    with pytest.raises(CorruptFile):
        check(objects)


def test_status_counts_what_is_there(objects: MemoryObjects) -> None:
    status = tier_status(objects, NAMES)
    assert (status.epochs, status.ranges, status.ignored) == (1, 3, 0)
    assert (status.saved_from, status.saved_to) == (0, check(objects).saved_to)
    assert status.segments == 3
    assert status.bytes_by_class == {3: sum(len(OBJECTS[name]) for name in names_of(".seg"))}
    assert 0 < status.first_time < status.last_time


def test_status_of_an_empty_tier() -> None:
    status = tier_status(MemoryObjects(), NAMES)
    assert (status.ranges, status.saved_from, status.saved_to) == (0, -1, -1)
