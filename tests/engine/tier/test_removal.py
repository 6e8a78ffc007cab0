"""Deletion from a tier: histories with a fault at each request, two masters, orphans, and planted faults."""

import json
from collections.abc import Iterable
from functools import partial

import pytest

from mqgateway.engine.store.record import decode
from mqgateway.engine.tier import removal, table_saving
from mqgateway.engine.tier.continuous import ContinuousSaver
from mqgateway.engine.tier.directory import TierDirectory, first_kept
from mqgateway.engine.tier.format.names import SegmentName
from mqgateway.engine.tier.loading import LoadedBlock, load_head, load_run
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.removal import Orphan, TierRemoval, orphans_of, segments_in
from mqgateway.engine.tier.survey import Survey, survey
from tests.support.engine.tier.continuous import HOUR, MASTER, SLAVE, SavedStore
from tests.support.engine.tier.memory_objects import Killed, MemoryObjects, StoreFault
from tests.support.engine.tier.saving import NAMES, check, log_records

KEPT_HOURS = {"orders": 72, "pay": 24}
TIMES = (0.0, 1.1, 24.5, 25.7, 27.0, 73.5, 74.8, 76.0, 100.0, 130.0)
"""Hours after the first look of a history: pay expires, is deleted, then orders."""
CALLS = 150
"""More calls than a history makes."""


@pytest.fixture(autouse=True)
def no_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that have not changed are not saved again."""
    monkeypatch.setattr(table_saving, "ALIVE_SECONDS", 1e9)


class History(SavedStore):
    """A store with topics that are kept for one and three days, and what its readers see."""

    def __init__(self, topics: Iterable[str] = KEPT_HOURS) -> None:
        super().__init__()
        self.set_topics(topics)
        self.put(40)
        self.begin = self.clock.millis()

    def set_topics(self, topics: Iterable[str]) -> None:
        """Write the table of topics."""
        table = {
            name: {"topicName": name, "attributes": {"reserve.time": str(KEPT_HOURS[name])}}
            for name in topics
        }
        self.disk.makedirs("/store/config")
        file = self.disk.open("/store/config/topics.json", create=True)
        file.write(0, json.dumps({"topicConfigTable": table}).encode().ljust(500))
        file.close()

    def advance_to(self, hours: float) -> None:
        """Move the clock to a time after the begin of the history."""
        self.clock.advance(self.begin + int(hours * HOUR) - self.clock.millis())

    def turn(self, hours: float) -> None:
        """Look at a time, and again a few minutes later: a killed process is replaced, a failure repeated."""
        self.advance_to(hours)
        for _ in range(3):
            before = self.directory()
            try:
                self.look()
            except Killed:
                self.saver = self.new_saver()
            self.assert_readable(before)
            self.clock.advance(301_000)

    def readers(self) -> MemoryObjects:
        """Return the same objects for readers, whose calls have no faults."""
        view = MemoryObjects()
        view.objects = self.objects.objects
        return view

    def directory(self) -> TierDirectory:
        """Return what a reader sees who lists the ranges now."""
        return TierDirectory(NAMES).updated(self.readers())

    def assert_readable(self, directory: TierDirectory) -> None:
        """Assert that a reader, with a list of minutes ago, reads all that it has."""
        store = self.readers()
        for found in directory.ranges.values():
            if found.name not in store.objects:
                continue  # all of it had expired
            head = load_head(store, found)
            for queue in head.head.queues:
                first = first_kept(queue, directory.expired_in(found.key))
                for number, block in enumerate(queue.blocks):
                    if block.first_offset >= first:
                        [loaded] = load_run(store, NAMES, head, queue, range(number, number + 1))
                        assert isinstance(loaded, LoadedBlock), loaded

    def assert_live_are_there(self) -> None:
        """Assert that readers have every saved message that has not expired."""
        directory = self.directory()
        for position, record in log_records(self.disk).items():
            stored = decode(record)
            age = self.clock.millis() - stored.store_timestamp
            if position >= directory.end_offset or age > KEPT_HOURS[stored.topic] * HOUR:
                continue
            history = directory.history(stored.topic, stored.queue_id)
            span = None if history is None else history.find(stored.queue_offset)
            assert span is not None and span.first_offset <= stored.queue_offset, stored

    def assert_empty_but_for_the_newest_index(self) -> None:
        """Assert that nothing is left but what the next writer needs."""
        names = [name for name in self.objects.objects if not name.startswith((NAMES.epochs, NAMES.tables))]
        found = survey(self.readers(), NAMES)
        newest = found.ranges[-1]
        allowed = {NAMES.range(*newest), *(name for name in names if name.startswith(NAMES.marks(*newest)))}
        assert set(names) == allowed
        assert found.expired_in(newest)
        # That of the newest index, those that saved the tables which are left, and the last one.
        assert len(found.epochs) <= 3
        assert check(self.readers()).damaged == []

    def run(self, call: int = 0, fault: StoreFault = StoreFault.AWAY) -> None:
        """Live through all times with a fault at a call."""
        if call:
            self.objects.faults[call] = fault
        for hours in TIMES:
            self.turn(hours)
            self.assert_live_are_there()
        self.assert_empty_but_for_the_newest_index()


def test_expired_segments_are_hidden_then_deleted_and_their_indexes_after_them() -> None:
    history = History()
    seen = []
    for hours in TIMES:
        history.turn(hours)
        history.assert_live_are_there()
        directory = history.directory()
        topics = [
            topic for topic in KEPT_HOURS if any(directory.history(topic, number) for number in range(2))
        ]
        seen.append((topics, {s.days for s, _ in segments_in(history.readers(), NAMES)}))
        assert check(history.readers()).damaged == []
    both, orders = ["orders", "pay"], ["orders"]
    assert seen == [
        (both, {1, 3}),
        (both, {1, 3}),
        (orders, {1, 3}),
        (orders, {3}),
        (orders, {3}),
        ([], {3}),
        ([], set()),
        ([], set()),
        ([], set()),
        ([], set()),
    ]
    history.assert_empty_but_for_the_newest_index()


def test_number_of_calls_of_a_history_is_covered() -> None:
    history = History()
    history.run()
    assert history.objects.calls > CALLS // 2
    assert history.objects.calls < CALLS


@pytest.mark.parametrize("fault", StoreFault)
@pytest.mark.parametrize("call", range(1, CALLS))
def test_history_with_a_fault_at_any_call_ends_alike(call: int, fault: StoreFault) -> None:
    History().run(call, fault)


def test_store_that_is_away_for_hours_delays_only() -> None:
    history = History()
    for hours in TIMES[:3]:
        history.turn(hours)
    history.objects.faults = dict.fromkeys(range(history.objects.calls, 100_000), StoreFault.AWAY)
    for hours in TIMES[3:6]:
        history.turn(hours)
        assert "the store is away" in history.look().failure
    history.objects.faults = {}
    for hours in TIMES[6:]:
        history.turn(hours)
        history.assert_live_are_there()
    history.assert_empty_but_for_the_newest_index()


def test_messages_of_a_deleted_topic_expire() -> None:
    history = History()
    history.turn(0)
    history.turn(1.1)
    history.set_topics(["orders"])
    history.look()
    history.clock.advance(301_000)
    history.look()
    assert history.directory().history("pay", 1) is not None  # its queue is still there
    history.disk.rmtree("/store/consumequeue/pay")
    history.clock.advance(301_000)
    history.look()
    assert history.directory().history("pay", 1) is None
    assert history.directory().history("orders", 1) is not None


def without_tables(history: History) -> dict[str, bytes]:
    """Return the objects but for tables, which are saved again and again."""
    objects = history.objects.objects
    return {name: data for name, data in objects.items() if not name.startswith(NAMES.tables)}


def test_clock_that_leaps_expires_nothing() -> None:
    """The broker passes steady time."""
    history = History()
    history.turn(0)
    before = without_tables(history)
    now = history.clock.millis()
    history.clock.set_wall(now + 1000 * HOUR)
    history.clock.advance(301_000)
    for _ in range(3):
        history.saver.look(MASTER._replace(now=now, range_millis=1 << 60))
        history.clock.advance(3_600_000)
    assert without_tables(history) == before


def test_slave_deletes_nothing() -> None:
    history = History()
    history.turn(0)
    before = dict(history.objects.objects)
    history.advance_to(200)
    for _ in range(3):
        history.look(SLAVE)
        history.clock.advance(3_700_000)
    assert history.objects.objects == before


def orphaned() -> History:
    """Return a history whose first process was killed before it committed a range."""
    history = History()
    history.objects.before = partial(_kill_before_index, history)
    history.turn(0)
    assert len(check(history.readers()).unused) == 2
    return history


def _kill_before_index(history: History, _: int) -> None:
    if len(segments_in(history.readers(), NAMES)) == 2:
        history.objects.before = lambda _: None
        raise Killed


def test_orphans_are_deleted_after_their_grace() -> None:
    history = orphaned()
    history.turn(23.9)
    assert len(check(history.readers()).unused) == 2
    history.turn(25.2)
    assert check(history.readers()).unused == []
    assert history.look().orphans == 2


def test_range_that_another_log_replaced_is_an_orphan() -> None:
    history = History()
    history.turn(0)
    history.saver = history.new_saver()
    history.put(40, "more")
    history.turn(2.0)
    late = NAMES.range(1, 1 << 40)
    history.objects.objects[late] = b"of an old writer"
    history.turn(25.0)
    assert late in history.objects.objects
    history.turn(27.5)
    assert late not in history.objects.objects


def interleaved(call: int) -> History:
    """Return a history in which an old master wakes, with deletions due, before a call of the new one."""
    history = History()
    history.turn(0)
    old = history.saver
    history.put(40, "more")
    history.advance_to(30)
    new = history.new_saver()

    def wake(number: int) -> None:
        if number == history.objects.calls and number >= first + call:
            history.objects.before = lambda _: None
            history.look(MASTER._replace(confirmed=0), old)  # it has nothing to save

    first = history.objects.calls
    history.objects.before = wake
    history.look(MASTER, new)
    history.objects.before = lambda _: None
    history.saver = new
    return history


@pytest.mark.parametrize("call", range(1, 16))
def test_old_master_that_wakes_harms_nothing(call: int) -> None:
    history = interleaved(call)
    history.turn(30.2)
    history.assert_live_are_there()
    assert check(history.readers()).damaged == []
    for hours in (31.5, 100, 101.5, 103, 128, 130):
        history.turn(hours)
    history.saver = history.new_saver()
    for hours in (131, 160, 200, 230):
        history.turn(hours)
    history.assert_empty_but_for_the_newest_index()


def test_planted_deletion_before_the_mark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TierRemoval.mark

    def delete_at_once(self: TierRemoval, key: RangeKey, numbers: Iterable[int], now: int) -> None:
        for segment, _ in segments_in(self._store, NAMES):
            if (segment.epoch, segment.begin) == key and segment.number in set(numbers):
                self._store.delete(NAMES.segment(segment))
        plain(self, key, numbers, now)

    monkeypatch.setattr(TierRemoval, "mark", delete_at_once)
    with pytest.raises(AssertionError, match="does not exist"):
        History().run()


def test_planted_deletion_without_grace_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "EXPIRED_GRACE_MILLIS", -(1 << 60))
    plain = ContinuousSaver._expire

    def twice(self: ContinuousSaver, *args: object) -> None:
        for _ in range(2):
            self._next_deletion = 0
            plain(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(ContinuousSaver, "_expire", twice)
    with pytest.raises(AssertionError, match="does not exist"):
        History().run()


def test_planted_sweep_of_fresh_segments_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old master of `interleaved` takes what the new one is writing for orphans."""

    def all_without_index(
        found: Survey, _: object, segments: Iterable[tuple[SegmentName, int]]
    ) -> Iterable[Orphan]:
        counting = set(found.ranges)
        for segment, size in segments:
            if RangeKey(segment.epoch, segment.begin) not in counting:
                yield Orphan(NAMES.segment(segment), size, 0)

    monkeypatch.setattr(removal, "orphans_of", all_without_index)
    monkeypatch.setattr(TierRemoval, "_note_change", lambda _: None)
    failures = 0
    for call in range(1, 16):
        history = interleaved(call)
        failures += bool(check(history.readers()).damaged)
    assert failures > 0


def test_deletion_asks_for_the_fence_first() -> None:
    history = orphaned()
    asked = []
    store = history.readers()
    found = survey(store, NAMES)
    made = TierRemoval(store, NAMES, lambda: asked.append(len(store.objects)))
    before = len(store.objects)
    assert made.delete(found, history.clock.millis()).orphans == 0
    assert asked == []
    later = history.clock.millis() + 100 * HOUR
    assert made.delete(found, later).orphans == 2
    assert asked == [before]
    assert len(list(orphans_of(survey(store, NAMES), NAMES, segments_in(store, NAMES)))) == 0
