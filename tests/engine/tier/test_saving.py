"""Saving: complete tiers after every fault at every call, one history with several writers, and refusals."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError
from mqgateway.engine.tier import ranges, saving, survey
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.saving import WriterFenced
from tests.support.engine.store.stores import Bench
from tests.support.engine.tier.memory_objects import Killed, MemoryObjects, StoreFault
from tests.support.engine.tier.saving import (
    NAMES,
    check,
    collector_of,
    fill,
    local_log,
    log_records,
    save,
    saved_records,
)


def stopped(count: int = 40) -> Disk:
    bench = Bench()
    fill(bench, count)
    bench.store.stop()
    return bench.disk


@pytest.fixture(scope="module")
def disk() -> Disk:
    """A stopped store with three files of log."""
    return stopped()


def assert_whole(objects: MemoryObjects, disk: Disk) -> None:
    """Compare the tier with the log of a store."""
    objects.faults.clear()
    objects.before = lambda _: None
    report = check(objects)
    assert report.damaged == []
    assert (report.saved_from, report.saved_to) == (0, local_log(disk).limit)
    assert saved_records(objects) == log_records(disk)


def test_whole_log_is_saved(disk: Disk) -> None:
    objects = MemoryObjects()
    report = save(objects, disk)
    assert_whole(objects, disk)
    assert (report.epoch, report.saved_from, report.saved_to) == (1, 0, local_log(disk).limit)
    assert (report.ranges, report.records, report.left_out) == (3, 50, 10)
    assert report.objects == 6
    sizes = [len(data) for name, data in objects.objects.items() if not name.startswith(NAMES.epochs)]
    assert report.object_bytes == sum(sizes)
    assert check(objects).unused == []


def test_next_save_continues_in_an_epoch_of_its_own() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 10)
    bench.store.stop()
    first = save(objects, bench.disk)
    bench = bench.again()
    fill(bench, 30, "more")
    bench.store.stop()
    second = save(objects, bench.disk, 2)
    assert (second.epoch, second.saved_from) == (2, first.saved_to)
    assert_whole(objects, bench.disk)


def test_nothing_new_begins_no_epoch(disk: Disk) -> None:
    objects = MemoryObjects()
    first = save(objects, disk)
    before = dict(objects.objects)
    again = save(objects, disk, 2)
    assert (again.epoch, again.ranges, again.saved_to) == (-1, 0, first.saved_to)
    assert objects.objects == before


def test_store_without_messages_has_nothing_to_save() -> None:
    bench, objects = Bench(), MemoryObjects()
    bench.store.stop()
    assert save(objects, bench.disk).ranges == 0
    assert objects.objects == {}


CALLS = 24
"""More calls than a save of the log makes."""


def test_number_of_calls_is_covered(disk: Disk) -> None:
    objects = MemoryObjects()
    save(objects, disk)
    assert 12 < objects.calls < CALLS


@pytest.mark.parametrize("call", range(1, CALLS))
@pytest.mark.parametrize("fault", [StoreFault.KILL_BEFORE, StoreFault.KILL_AFTER])
def test_save_after_a_kill_completes_the_tier(disk: Disk, call: int, fault: StoreFault) -> None:
    objects = MemoryObjects()
    objects.faults[call] = fault
    try:
        save(objects, disk)
    except Killed:
        save(objects, disk, 2)
    assert_whole(objects, disk)


def test_segments_of_a_killed_writer_are_found(disk: Disk) -> None:
    objects = MemoryObjects()
    save(objects, disk)
    commit = next(number for number in range(1, CALLS) if _is_commit(disk, number))
    objects = MemoryObjects()
    objects.faults[commit] = StoreFault.KILL_BEFORE
    with pytest.raises(Killed):
        save(objects, disk)
    left = [name for name in objects.objects if name.startswith(NAMES.data)]
    save(objects, disk, 2)
    assert [name for name, _ in check(objects).unused] == left != []


def _is_commit(disk: Disk, call: int) -> bool:
    """Return True if a call of a save creates an index."""
    objects, found = MemoryObjects(), []

    def look(number: int) -> None:
        if number == call + 1:
            found.append(any(name.endswith(".idx") for name in objects.objects))

    objects.before = look
    save(objects, disk)
    return found == [True]


@pytest.mark.parametrize("call", range(1, CALLS))
@pytest.mark.parametrize("fault", [StoreFault.AWAY, StoreFault.LOST])
def test_store_that_is_away_stops_the_save(disk: Disk, call: int, fault: StoreFault) -> None:
    objects = MemoryObjects()
    objects.faults[call] = fault
    try:
        save(objects, disk)
    except ObjectStoreUnavailable:
        save(objects, disk, 2)
    assert_whole(objects, disk)


@pytest.mark.parametrize("call", range(1, CALLS))
def test_creation_whose_answer_was_lost_counts(disk: Disk, call: int) -> None:
    """The store's client repeats it, and is refused."""
    objects = MemoryObjects()
    objects.faults[call] = StoreFault.REPEATED
    assert save(objects, disk).epoch == 1
    assert_whole(objects, disk)


@pytest.mark.parametrize("call", range(1, CALLS))
def test_two_writers_make_one_history(disk: Disk, call: int) -> None:
    """The second one saves everything before a call of the first."""
    objects = MemoryObjects()

    def interfere(number: int) -> None:
        if number == call:
            objects.before = lambda _: None
            save(objects, disk, 2)

    objects.before = interfere
    with contextlib.suppress(WriterFenced):
        save(objects, disk)
    assert_whole(objects, disk)


def test_planted_fault_of_no_epoch_check_is_found(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of two writers fails if ranges of old epochs count."""

    def every_range(_: object, found: list[RangeKey]) -> list[RangeKey]:
        return sorted(found, key=lambda each: (each.begin, each.epoch))

    monkeypatch.setattr(survey, "ranges_that_count", every_range)
    failures = 0
    for call in range(1, CALLS):
        try:
            test_two_writers_make_one_history(disk, call)
        except (AssertionError, StoreError):
            failures += 1
    assert failures > 0
    assert ranges.ranges_that_count is not every_range


def test_writer_stops_once_a_later_epoch_has_begun(disk: Disk) -> None:
    objects = MemoryObjects()
    local = local_log(disk)
    old = saving.TierWriter(objects, NAMES, f"{1:016x}", 1)
    assert old.begin(local) == 0
    save(objects, disk, 2)
    before = dict(objects.objects)
    with pytest.raises(WriterFenced, match="a later writer has begun"):
        old.save_range(collector_of(disk, local).collect(0, local.limit), local)
    assert objects.objects == before


def forked(shared: int, *texts: str) -> list[Disk]:
    """Return stores whose logs are the same for some messages, and part then."""
    found: list[Disk] = []
    for text in texts:
        bench = Bench()
        fill(bench, shared)
        fill(bench, 30, text)
        bench.store.stop()
        found.append(bench.disk)
    return found


def test_ranges_that_another_log_replaced_are_cut() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 30)
    bench.store.stop()
    first = save(objects, bench.disk)
    old, new = forked(30, "old", "new")
    assert save(objects, old, 2).saved_from == first.saved_to
    report = save(objects, new, 3)
    assert (report.cut_ranges > 0, report.saved_from) == (True, first.saved_to)
    assert_whole(objects, new)


def test_another_log_is_refused(disk: Disk) -> None:
    objects = MemoryObjects()
    save(objects, disk)
    before = dict(objects.objects)
    bench = Bench()
    fill(bench, 50, "other")
    bench.store.stop()
    with pytest.raises(StoreError, match="has another log than /store"):
        save(objects, bench.disk, 2)
    assert objects.objects == before


def test_shorter_log_saves_nothing(disk: Disk) -> None:
    objects = MemoryObjects()
    saved = save(objects, disk).saved_to
    before = dict(objects.objects)
    report = save(objects, stopped(20), 2)
    assert (report.ranges, report.saved_to) == (0, saved)
    assert objects.objects == before


def test_deleted_files_leave_a_gap_only_if_it_is_accepted() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 3)
    bench.store.stop()
    end = save(objects, bench.disk).saved_to
    bench = bench.again()
    fill(bench, 40)
    bench.store.stop()
    bench.disk.unlink(f"/store/commitlog/{0:020d}")
    with pytest.raises(StoreError, match=f"begins at 4096, the tier ends at {end}"):
        save(objects, bench.disk, 2)
    report = save(objects, bench.disk, 3, accepts_gap=True)
    assert (report.saved_from, report.skipped) == (4096, 4096 - end)
    found = check(objects)
    assert (found.damaged, found.gaps) == ([], [(end, 4096)])
    assert save(objects, bench.disk, 4).ranges == 0


def test_holes_are_reported() -> None:
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 40)
    bench.store.stop()
    file = bench.disk.open(f"/store/commitlog/{0:020d}")
    size = int.from_bytes(file.read(0, 4), "big")
    file.write(size + 10, b"\xff")
    report = save(objects, bench.disk)
    assert [begin for begin, _ in report.holes] == [size]
    assert check(objects).damaged == []


def test_segments_are_bounded_and_of_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "SEGMENT_MAX", 1500)
    bench, objects = Bench(), MemoryObjects()
    fill(bench, 40)
    bench.store.stop()
    config = '{"topicConfigTable":{"pay":{"topicName":"pay","attributes":{"reserve.time":"24"}}}}'
    bench.disk.makedirs("/store/config")
    bench.disk.open("/store/config/topics.json", create=True).write(0, config.encode())
    monkeypatch.setattr("mqgateway.engine.tier.collect.BLOCK_MAX", 500)
    save(objects, bench.disk)
    assert_whole(objects, bench.disk)
    found = [NAMES.segment_of(name) for name in objects.objects if name.startswith(NAMES.data)]
    assert {each.days for each in found if each} == {1, 3}
    assert max(len(objects.objects[NAMES.segment(each)]) for each in found if each) <= 1516


FAULTS = st.dictionaries(st.integers(1, 40), st.sampled_from(StoreFault), max_size=3)


@given(st.lists(st.tuples(st.integers(1, 12), FAULTS), min_size=1, max_size=5))
def test_history_of_writers_and_faults_is_whole(turns: list[tuple[int, dict[int, StoreFault]]]) -> None:
    """The log grows, and each turn another writer saves it until it fails."""
    bench, objects = Bench(), MemoryObjects()
    for number, (count, faults) in enumerate(turns):
        fill(bench, count, f"turn {number} ")
        bench.store.stop()
        objects.calls, objects.faults = 0, faults
        with contextlib.suppress(Killed, ObjectStoreUnavailable):
            save(objects, bench.disk, number + 1)
        bench = bench.again()
    bench.store.stop()
    objects.faults = {}
    save(objects, bench.disk, 99)
    assert_whole(objects, bench.disk)
