"""Content of a tier: epochs, ranges and headers, and brokers by their objects' names."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.epochs import TierEpoch
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.survey import brokers_in, read_header, survey, tables_in
from tests.support.engine.store.stores import Bench
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.saving import NAMES, fill, save


def test_epochs_and_ranges_are_read() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 40)
    bench.store.stop()
    report = save(objects, bench.disk)
    objects.objects[NAMES.range(1, report.saved_to)] = b"of an old writer"
    later = TierEpoch(2, report.saved_to, "00" * 8, 1, "/store")
    objects.objects[NAMES.epoch(2)] = later.encode()
    objects.objects[NAMES.epochs + "notes"] = b"of people"
    found = survey(objects, NAMES)
    assert (found.epochs[2], found.epochs[1].start) == (later, 0)
    assert [key.begin for key in found.ranges] == [0, 4096, 8192]
    assert list(found.all_ranges) == [*found.ranges, RangeKey(1, report.saved_to)]
    assert read_header(objects, NAMES, found.ranges[-1]).end == report.saved_to


def test_objects_under_other_names_are_rejected() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 3)
    bench.store.stop()
    save(objects, bench.disk)
    objects.objects[NAMES.range(1, 5)] = objects.objects[NAMES.range(1, 0)]
    with pytest.raises(CorruptFile, match="the index is that of 0 in epoch 1"):
        read_header(objects, NAMES, RangeKey(1, 5))
    objects.objects[NAMES.epoch(2)] = objects.objects[NAMES.epoch(1)]
    with pytest.raises(CorruptFile, match="the object begins epoch 1"):
        survey(objects, NAMES)


def test_epoch_that_is_deleted_after_it_was_listed_is_left_out() -> None:
    objects = MemoryObjects()
    for number in (1, 2):
        objects.objects[NAMES.epoch(number)] = TierEpoch(number, 0, "00" * 8, 1, "/store").encode()

    def delete(call: int) -> None:
        if call == 2:
            del objects.objects[NAMES.epoch(1)]

    objects.before = delete
    assert list(survey(objects, NAMES).epochs) == [2]


def test_tables_are_listed_by_epoch_and_time() -> None:
    objects = MemoryObjects()
    for key in ((2, 5), (1, 9), (10, 1)):
        objects.objects[NAMES.tables_at(*key)] = b""
    objects.objects[NAMES.tables + "notes"] = b"of people"
    assert tables_in(objects, NAMES) == [(1, 9), (2, 5), (10, 1)]


def test_brokers_are_found_by_their_objects() -> None:
    objects = MemoryObjects()
    expected = [TierNames("a", "b"), TierNames("a", "b-2"), TierNames("a-c", "x.y"), TierNames("ä/b", ".z")]
    for names in expected:
        for number in range(3):
            objects.objects[names.epoch(number)] = objects.objects[names.range(1, number)] = b""
    for name in ("0", "self-test/01/once", "self-test/02/list/a", "zz"):
        objects.objects[name] = b""
    found = brokers_in(objects)
    assert sorted((names.cluster, names.broker) for names in found) == sorted(
        (names.cluster, names.broker) for names in expected
    )
