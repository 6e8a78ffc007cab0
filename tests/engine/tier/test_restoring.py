"""A store restored from its tier: equal to what was saved, after faults at every request and every change of
the disk, fenced from other writers, and saved on."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from mqgateway.engine.tier.restoring import LIVE_MILLIS, STATE
from mqgateway.engine.tier.saving import WriterFenced
from mqgateway.engine.tier.survey import survey
from tests.support.engine.store.stores import batch, drain, message
from tests.support.engine.tier.continuous import HOUR, MASTER
from tests.support.engine.tier.memory_objects import Killed, StoreFault
from tests.support.engine.tier.restoring import LostStore, rows
from tests.support.engine.tier.saving import NAMES, check, fill, saved_records
from tests.support.engine.upkeep.ending import EndingDisk, Interrupted

QUEUES = (("orders", 0), ("orders", 1), ("pay", 1))
TOPICS = ("orders", "pay", "batched")


def saved(folder: Path, count: int = 40, *, lazy: bool = False) -> LostStore:
    """Return a store whose log is saved up to its end, and the form of its restore."""
    lost = LostStore(folder, lazy=lazy)
    lost.set_topics(*TOPICS)
    lost.put(count)
    lost.save_all()
    return lost


@pytest.fixture(params=[False, True], ids=["whole", "lazy"])
def lazy(request: pytest.FixtureRequest) -> bool:
    """True for the form in which messages stay in the tier."""
    return bool(request.param)


@pytest.fixture
def lost(tmp_path: Path, lazy: bool) -> LostStore:
    return saved(tmp_path, lazy=lazy)


def assert_restored(lost: LostStore, queues: tuple[tuple[str, int], ...] = QUEUES) -> None:
    """Assert that the restored store is sound, and has what was saved: by queue, by key and by time."""
    assert lost.findings() == []
    bench = lost.open()
    expected = rows(lost.bench, queues)
    assert rows(bench, queues) == expected
    for (topic, queue_id), found in expected.items():
        for _, offset, time, _, properties in found[::7]:
            assert bench.store.offset_by_time(
                topic, queue_id, time, False
            ) == lost.bench.store.offset_by_time(topic, queue_id, time, False)
            if key := properties.get("UNIQ_KEY"):
                records = bench.store.query(topic, key, 9, 0, 1 << 60, "U").records
                assert records == lost.bench.store.query(topic, key, 9, 0, 1 << 60, "U").records
                assert len(records) == 1, offset
    bench.store.stop()


def test_restored_store_has_what_was_saved(lost: LostStore) -> None:
    report = lost.restore()
    assert_restored(lost)
    assert (report.records, report.left_out, report.damaged, report.gaps) == (50, 10, [], [])
    assert report.lazy == lost.lazy
    assert not lost.root.with_name("restored.restoring").exists()
    assert not (lost.root / STATE).exists()


def test_log_of_the_lazy_form_begins_after_the_tier(tmp_path: Path) -> None:
    """It has one record, the marker, and no object with messages is read."""
    lost = saved(tmp_path, lazy=True)
    end = survey(lost.objects, NAMES).ranges[-1].begin
    asked = list[str]()
    plain = lost.objects.get_range
    lost.objects.get_range = (  # type: ignore[method-assign]
        lambda name, start, length: asked.append(name) or plain(name, start, length)
    )
    report = lost.restore()
    [file] = (lost.root / "commitlog").iterdir()
    assert report.log_start == int(file.name) == (end // 4096 + 1) * 4096
    assert report.rebuilt is not None and report.rebuilt.records == 1
    assert asked and not any(name.startswith(NAMES.data) for name in asked)
    ends = [lost.bench.store.max_offset(*queue) for queue in QUEUES]
    bench = lost.open()
    assert [bench.store.min_offset(*queue) for queue in QUEUES] == [0, 0, 0]
    assert [bench.store.max_offset(*queue) for queue in QUEUES] == ends
    bench.store.stop()
    lost.lazy = False  # without the tier
    bench = lost.open()
    assert [bench.store.min_offset(*queue) for queue in QUEUES] == ends
    bench.store.stop()


def test_tier_that_ends_with_a_file_is_continued_without_a_gap(tmp_path: Path) -> None:
    lost = LostStore(tmp_path, lazy=True)
    lost.set_topics(*TOPICS)
    lost.put(40)
    end = lost.look().saved_to
    assert end == 2 * 4096 < lost.bench.store.max_physical_offset
    report = lost.restore()
    assert report.log_start == end
    bench = lost.open()
    found = rows(bench, QUEUES)
    assert all(place < end for queue in found.values() for place, *_ in queue)
    assert sum(map(len, found.values())) == report.records == len(saved_records(lost.objects))
    bench.store.stop()


def test_messages_continue_at_the_offsets_of_the_tier(lost: LostStore) -> None:
    lost.restore()
    bench = lost.open()
    assert bench.put(message("orders", 0, b"next")) == [20]
    assert [each.body for each in drain(bench.store, "orders", 0)][-2:] == [
        drain(lost.bench.store, "orders", 0)[-1].body,
        b"next",
    ]
    bench.store.stop()


def test_batches_and_their_topics_are_restored(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    lost.set_topics(*TOPICS)
    lost.bench.put(message("batched", 0, batch(b"a", b"b"), flag=0))
    lost.put(4)
    lost.save_all()
    lost.restore()
    bench = lost.open()
    assert rows(bench, (("batched", 0),)) == rows(lost.bench, (("batched", 0),))
    bench.store.stop()
    assert lost.findings() == []


def test_tables_are_those_that_were_saved_last(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    lost.set_topics(*TOPICS)
    lost.table("subscriptionGroup.json", {"subscriptionGroupTable": {"readers": {"groupName": "readers"}}})
    lost.table("consumerOffset.json", {"offsetTable": {"orders@readers": {"0": 7, "1": 1000}}})
    lost.table("delayOffset.json", {"offsetTable": {"3": 9}})
    lost.put(40)
    lost.save_all()
    report = lost.restore()
    config = lost.root / "config"
    assert loads((config / "subscriptionGroup.json").read_bytes())["subscriptionGroupTable"]["readers"]
    assert loads((config / "consumerOffset.json").read_bytes())["offsetTable"] == {
        "orders@readers": {"0": 7, "1": 20}
    }
    assert report.moved_back == 1
    assert report.tables_made > 0
    assert not (config / "delayOffset.json").exists()


def test_topic_that_is_younger_than_the_tables_is_readable(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    lost.set_topics("orders")
    lost.put(1)
    lost.look()
    lost.put(40)
    lost.save_all()
    lost.restore()
    bench = lost.open()
    assert rows(bench, QUEUES) == rows(lost.bench, QUEUES)
    bench.store.stop()


def test_saving_continues_where_it_ended(lost: LostStore) -> None:
    lost.restore()
    before = dict(lost.objects.objects)
    saver = lost.new_restored_saver()
    state = lost.look(MASTER, saver)
    assert state.failure == ""
    bench = lost.open()
    fill(bench, 40, "after")
    bench.store.stop()
    lost.clock.advance(2 * HOUR)
    assert lost.look(MASTER, saver).failure == ""
    kept = {name: data for name, data in before.items() if not name.startswith(NAMES.tables)}
    assert kept.items() <= lost.objects.objects.items()
    assert check(lost.objects).damaged == []
    assert check(lost.objects).unused == []
    records = saved_records(lost.objects)
    assert len(records) == 100
    found = survey(lost.objects, NAMES)
    assert len({key.begin for key in found.ranges}) == len(found.ranges) == len(found.all_ranges)


def test_broker_that_was_started_without_new_messages_saves_on(lost: LostStore) -> None:
    """The checkpoint names the last record that has entered a queue, which is before the marker."""
    end = lost.restore().log_end
    lost.open().store.stop()
    state = lost.look(MASTER, lost.new_restored_saver())
    assert (state.failure, state.saved_to) == ("", end)


def test_restored_store_is_restored_again(lost: LostStore) -> None:
    lost.restore()
    first = lost.open()
    expected = rows(first, QUEUES)
    first.store.stop()
    lost.root = lost.root.with_name("again")
    lost.restore(writer="0" * 16, hours=2)
    assert_restored(lost)
    bench = lost.open()
    assert rows(bench, QUEUES) == expected
    bench.store.stop()


# Other writers.


def test_lost_broker_that_wakes_is_fenced(lost: LostStore) -> None:
    old = lost.saver
    lost.restore()
    end = survey(lost.objects, NAMES).ranges[-1]
    lost.put(40, "of the lost broker")
    lost.clock.advance(2 * HOUR)
    assert "a later writer has begun" in lost.look(MASTER, old).failure
    assert survey(lost.objects, NAMES).ranges[-1] == end


@pytest.mark.parametrize("has_more", [False, True])
def test_lost_broker_that_is_started_again_does_not_take_the_tier_back(
    lost: LostStore, has_more: bool
) -> None:
    lost.restore()
    before = dict(lost.objects.objects)
    lost.set_topics("orders", "changed")
    if has_more:
        lost.put(40, "of the lost broker")
    lost.clock.advance(2 * HOUR)
    saver = lost.new_saver()
    for _ in range(5):
        failure = lost.look(MASTER, saver).failure
        assert "/store is the store that was lost: stop this broker" in failure
        lost.clock.advance(100_000)
    assert lost.objects.objects == before
    assert lost.look(MASTER, lost.new_restored_saver()).failure == ""


def test_broker_that_may_run_is_refused_without_the_option(lost: LostStore) -> None:
    limit = LIVE_MILLIS / HOUR
    with pytest.raises(StoreUnavailable, match="may be running: stop it"):
        lost.restore(hours=limit - 0.01)
    assert not lost.root.exists()
    assert max(survey(lost.readers(), NAMES).epochs) == 1
    lost.restore(hours=limit - 0.01, takes_over=True)
    assert_restored(lost)


def test_running_broker_saves_tables_more_often_than_it_counts_as_alive(lost: LostStore) -> None:
    for _ in range(8):
        lost.clock.advance(60_000)
        lost.look()
    with pytest.raises(StoreUnavailable, match="may be running"):
        lost.restore(hours=0.1)


def test_of_two_restores_into_two_folders_one_fails(lost: LostStore) -> None:
    other = lost.root.with_name("other")

    def begin(number: int) -> None:
        if number == lost.objects.calls and number > first + 20:
            lost.objects.before = lambda _: None
            first_root, lost.root = lost.root, other
            lost.restore(writer="1" * 16, takes_over=True)
            lost.root = first_root

    first = lost.objects.calls
    lost.objects.before = begin
    with pytest.raises(WriterFenced, match="a later writer has begun"):
        lost.restore()
    assert not lost.root.exists()
    assert check(lost.readers()).damaged == []
    lost.root = other
    assert_restored(lost)


def test_lost_broker_that_runs_during_a_restore_is_refused(lost: LostStore) -> None:
    failures = list[str]()

    def wake(number: int) -> None:
        if number == lost.objects.calls and number > first + 20:
            lost.objects.before = lambda _: None
            lost.put(40, "more")
            failures.append(lost.look(MASTER, lost.new_saver()).failure)

    expected = rows(lost.bench, QUEUES)
    first = lost.objects.calls
    lost.objects.before = wake
    lost.restore()
    assert "is the store that was lost" in failures[0]
    bench = lost.open()
    assert rows(bench, QUEUES) == expected
    bench.store.stop()
    assert check(lost.readers()).damaged == []


def test_two_restores_into_one_folder_exclude_each_other(
    lost: LostStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError

    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable, match="another restore is writing"):
        patch.setattr(RealDisk, "lock", refuse)
        lost.restore()
    lost.restore()
    assert_restored(lost)


# What cannot be restored.


def test_folder_with_a_store_is_refused(lost: LostStore) -> None:
    lost.root.mkdir()
    (lost.root / "x").write_text("")
    with pytest.raises(StoreUnavailable, match="is not empty"):
        lost.restore()
    assert max(survey(lost.objects, NAMES).epochs) == 1


def test_tier_without_ranges_is_refused(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    with pytest.raises(StoreError, match="nothing is saved of broker-a of DefaultCluster"):
        lost.restore()


def test_disk_without_space_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = saved(tmp_path)
    monkeypatch.setattr(RealDisk, "usage", lambda *_: (1 << 40, 1000))
    with pytest.raises(StoreUnavailable, match="1000 are free"):
        lost.restore()


def test_lazy_form_is_refused_after_transactions_of_kafka(tmp_path: Path) -> None:
    """Transactions that were aborted are known from the whole log only."""
    lost = LostStore(tmp_path, lazy=True)
    lost.set_topics(*TOPICS)
    lost.bench.put(message("__transaction_state", 3, b"state"))
    lost.put(20)
    lost.save_all()
    with pytest.raises(StoreError, match=r"clients of Kafka have used transactions: .* without lazy"):
        lost.restore()
    assert max(survey(lost.objects, NAMES).epochs) == 1
    lost.lazy = False
    lost.restore()
    assert_restored(lost)


def test_expired_messages_are_left_out_and_offsets_continue(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    lost.table(
        "topics.json",
        {
            "topicConfigTable": {
                "orders": {"topicName": "orders", "attributes": {"reserve.time": "720"}},
                "pay": {"topicName": "pay", "attributes": {"reserve.time": "24"}},
            }
        },
    )
    lost.put(40)
    lost.save_all()
    lost.clock.advance(30 * HOUR)
    for _ in range(4):
        assert lost.look().failure == ""
        lost.clock.advance(2 * HOUR)
    report = lost.restore()
    assert report.expired == (0 if lazy else 3)
    assert lost.findings() == []
    bench = lost.open()
    assert rows(bench, QUEUES[:2]) == rows(lost.bench, QUEUES[:2])
    assert rows(bench, QUEUES[2:])["pay", 1] == []
    bench.store.stop()


def test_queue_whose_messages_have_expired_continues_at_its_end(tmp_path: Path, lazy: bool) -> None:
    lost = LostStore(tmp_path, lazy=lazy)
    lost.set_topics("orders", "pay")
    lost.put(40)
    lost.save_all()
    for _ in range(60):
        lost.bench.put(message("orders", 0, b"x" * 300))
    lost.bench = lost.bench.restart()
    lost.clock.advance(70 * HOUR)
    lost.look()
    for _ in range(60):
        lost.bench.put(message("orders", 0, b"y" * 300))
    lost.bench = lost.bench.restart()
    for _ in range(8):
        lost.clock.advance(2 * HOUR)
        assert lost.look().failure == ""
    report = lost.restore()
    assert report.log_start > 0
    bench = lost.open()
    assert bench.store.min_offset("pay", 1) == bench.store.max_offset("pay", 1) == 10
    assert bench.put(message("pay", 1)) == [10]
    bench.store.stop()


def test_damaged_index_and_segment_are_reported(tmp_path: Path) -> None:
    lost = saved(tmp_path)
    found = survey(lost.objects, NAMES)
    index = NAMES.range(*found.ranges[0])
    data = lost.objects.objects[index]
    lost.objects.objects[index] = data[:200] + bytes([data[200] ^ 1]) + data[201:]
    segment = next(name for name in lost.objects.objects if "/data/" in name and "04096" in name)
    del lost.objects.objects[segment]
    report = lost.restore()
    assert any("index cannot be read" in each for each in report.damaged)
    assert any(segment in each for each in report.damaged)
    bench = lost.open()
    assert 0 < len(rows(bench, QUEUES[:1])["orders", 0]) < 20
    bench.store.stop()


def test_files_of_another_length_are_refused(tmp_path: Path) -> None:
    lost = LostStore(tmp_path)
    lost.put(40)
    lost.save_all()
    lost.settings = lambda **_: LostStore.settings(  # type: ignore[method-assign]
        lost, mapped_file_size_commit_log=3000
    )
    with pytest.raises(StoreError, match="Set mappedFileSizeCommitLog to that length"):
        lost.restore()


# Faults.

CALLS = {False: 60, True: 35}
"""More calls than a restore makes, for each form."""
CHANGES = {False: 70, True: 55}
"""More changes of names and syncs of them than a restore makes, for each form."""


def all_of(most: dict[bool, int]) -> list[tuple[bool, int]]:
    """Return the numbers below `most` for each form."""
    return [(lazy, number) for lazy, count in most.items() for number in range(1, count)]


def test_number_of_calls_and_changes_is_covered(lost: LostStore) -> None:
    disk = EndingDisk()
    before = lost.objects.calls
    lost.restore(disk)
    assert CALLS[lost.lazy] // 2 < lost.objects.calls - before < CALLS[lost.lazy]
    assert CHANGES[lost.lazy] // 2 < disk.changes < CHANGES[lost.lazy]


def assert_continues(lost: LostStore) -> None:
    """Assert that nothing is opened as whole, and that the next restore ends well with another id."""
    lost.objects.faults.clear()
    if not lost.root.exists():
        lost.restore(writer="2" * 16)
    assert_restored(lost)
    assert check(lost.objects).damaged == []
    assert lost.look(MASTER, lost.new_restored_saver()).failure == ""


@pytest.mark.parametrize("fault", [StoreFault.KILL_AFTER, StoreFault.AWAY, StoreFault.REPEATED])
@pytest.mark.parametrize(("lazy", "call"), all_of(CALLS))
def test_restore_with_a_fault_at_a_request_is_continued(
    tmp_path: Path, lazy: bool, call: int, fault: StoreFault
) -> None:
    lost = saved(tmp_path, 24, lazy=lazy)
    lost.objects.faults[lost.objects.calls + call] = fault
    try:
        lost.restore()
    except (Killed, ObjectStoreUnavailable):
        assert not lost.root.exists()
    assert_continues(lost)


@pytest.mark.parametrize(("lazy", "change"), all_of(CHANGES))
def test_restore_that_is_killed_at_a_change_is_continued(tmp_path: Path, lazy: bool, change: int) -> None:
    lost = saved(tmp_path, 24, lazy=lazy)
    with contextlib.suppress(Interrupted):
        lost.restore(EndingDisk(change))
    assert_continues(lost)


@pytest.mark.parametrize(("lazy", "change"), all_of(CHANGES)[::6])
def test_restore_continues_in_the_other_form(tmp_path: Path, lazy: bool, change: int) -> None:
    """It begins again, in an epoch of its own, and does not count its own first attempt as a sign of life."""
    lost = saved(tmp_path, 24, lazy=lazy)
    with contextlib.suppress(Interrupted):
        lost.restore(EndingDisk(change))
    lost.lazy = lost.lazy if lost.root.exists() else not lazy
    assert_continues(lost)


def test_continued_restore_reads_only_what_is_not_durable(tmp_path: Path) -> None:
    lost = saved(tmp_path)
    state = lost.root.with_name("restored.restoring") / STATE

    def end(_: int) -> None:
        if state.exists() and loads(state.read_bytes())["durable"] >= 4096:
            raise Killed

    lost.objects.before = end
    with pytest.raises(Killed):
        lost.restore()
    lost.objects.before = lambda _: None
    asked = list[str]()
    plain = lost.objects.get_range
    lost.objects.get_range = (  # type: ignore[method-assign]
        lambda name, start, length: asked.append(name) or plain(name, start, length)
    )
    lost.restore(writer="3" * 16)
    assert asked
    first = next(name for name in lost.objects.objects if "/data/" in name)
    assert first not in asked
    assert max(survey(lost.readers(), NAMES).epochs) == 2
    assert_restored(lost)


@given(
    st.lists(st.tuples(st.sampled_from(["orders", "pay", "rmq_sys_x"]), st.integers(0, 700)), max_size=60),
    st.booleans(),
)
def test_restored_equals_saved(
    tmp_path_factory: pytest.TempPathFactory, sent: list[tuple[str, int]], lazy: bool
) -> None:
    """Both forms answer by offset, time and key as the store did that was lost."""
    lost = LostStore(tmp_path_factory.mktemp("restored"), lazy=lazy)
    lost.set_topics("orders", "pay")
    for number, (topic, size) in enumerate([("orders", 5), *sent]):
        properties = {"UNIQ_KEY": f"id{number}", "KEYS": f"k{number % 3}", "TAGS": "a"}
        lost.bench.put(message(topic, number % 2, b"b" * (size + 1), properties))
        lost.clock.advance(500)
    lost.bench = lost.bench.restart()
    lost.save_all()
    lost.restore()
    assert_restored(lost, (("orders", 0), ("orders", 1), ("pay", 0), ("pay", 1)))
