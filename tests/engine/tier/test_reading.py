"""Messages that are in the tier only, read through the store."""

import logging

import pytest

from mqgateway.engine.store.message_store import ColdRead, GetResult, GetStatus
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.store.results import NO_LIMITS, TransferLimits
from mqgateway.engine.tier.directory import TierDirectory
from mqgateway.engine.tier.format.names import ExpiredName, SegmentName
from mqgateway.engine.tier.loading import load_head
from mqgateway.engine.tier.parts import PAUSE_MILLIS, WAIT_MILLIS
from mqgateway.engine.tier.reading import REFRESH_MILLIS
from tests.support.engine.store.stores import Bench, message, records
from tests.support.engine.tier.memory_objects import StoreFault
from tests.support.engine.tier.small_ranges import NAMES, WRITER
from tests.support.engine.tier.tiered import Tiered

COUNT = 60


def filled(*, ranges: int = 2, cache_bytes: int = 1 << 20) -> Tiered:
    """Return a store with messages of two queues and tags, of which most are in a tier only."""
    tiered = Tiered(cache_bytes=cache_bytes)
    for number in range(COUNT):
        tags = {"TAGS": f"t{number % 3}", "number": str(number)}
        tiered.bench.put(
            message("orders", 0, b"body %d" % number * 8, tags), message("pay", 1, b"%d" % number)
        )
        tiered.clock.advance(1000)
        if number % (COUNT // ranges) == COUNT // ranges - 1:
            tiered.save()
    return tiered


@pytest.fixture
def tiered() -> Tiered:
    found = filled()
    found.expire()
    found.refresh()
    return found


def read_all(tiered: Tiered, topic: str = "orders", queue_id: int = 0, count: int = 7) -> list[GetResult]:
    """Return the answers to a reader from the first message on."""
    results, offset = list[GetResult](), tiered.store.min_offset(topic, queue_id)
    while offset < tiered.store.max_offset(topic, queue_id):
        results.append(tiered.get(topic, queue_id, offset, count))
        assert results[-1].next_offset > offset
        offset = results[-1].next_offset
    return results


def test_every_message_is_read_as_it_was_stored() -> None:
    tiered = filled()
    before = {
        (topic, queue_id): [tiered.store.get(topic, queue_id, offset, 1).body for offset in range(COUNT)]
        for topic, queue_id in (("orders", 0), ("pay", 1))
    }
    tiered.expire()
    tiered.refresh()
    local = tiered.store.local_min_offset("orders", 0)
    assert local > COUNT // 2 and tiered.store.min_offset("orders", 0) == 0
    for (topic, queue_id), bodies in before.items():
        results = read_all(tiered, topic, queue_id)
        assert b"".join(result.body for result in results) == b"".join(bodies)
        assert [offset for result in results for offset in result.queue_offsets] == list(range(COUNT))
        assert {result.status for result in results} == {GetStatus.FOUND}
        assert {(result.min_offset, result.max_offset) for result in results[:3]} == {(0, COUNT)}
        assert not any(result.suggest_slave for result in results[:3])


def test_messages_are_chosen_by_tags_and_by_properties(tiered: Tiered) -> None:
    read_all(tiered)
    assert records(tiered.get("orders", 0, 1, 1))[0].properties["TAGS"] == "t1"
    codes = frozenset([tiered_code(tiered, 1)])
    found = tiered.get("orders", 0, 0, 5, accept=codes)
    assert list(found.queue_offsets) == [1, 4, 7, 10, 13]
    found = tiered.get("orders", 0, 3, 5, accept=lambda properties: int(properties["number"]) % 10 == 0)
    assert list(found.queue_offsets)[:2] == [10, 20]
    none = tiered.get("orders", 0, 3, 5, accept=lambda properties: False)
    assert none.status is GetStatus.NO_MATCHED_MESSAGE
    assert none.next_offset == tiered.store.local_min_offset("orders", 0)


def tiered_code(tiered: Tiered, offset: int) -> int:
    """Return the tags code of a message that was t1 or the like."""
    other = Bench()
    other.put(message("orders", 0, b"", {"TAGS": f"t{offset % 3}"}))
    return other.store.consume_queue_units("orders", 0, 0, 1)[0][2]


@pytest.mark.parametrize(
    ("limits", "max_bytes", "expected"),
    [
        (NO_LIMITS, None, 20),
        (TransferLimits(1, 1, 1 << 20, 4), None, 4),
        (TransferLimits(1 << 20, 100, 500, 100), None, 3),
        (NO_LIMITS, 500, 3),
        (NO_LIMITS, 1, 1),
    ],
)
def test_answer_keeps_the_limits_of_old_messages(
    tiered: Tiered, limits: TransferLimits, max_bytes: int | None, expected: int
) -> None:
    size = len(tiered.get("orders", 0, 0, 1).body)
    assert 500 // size == 3
    read_all(tiered)
    found = tiered.get("orders", 0, 0, 20, limits=limits, max_bytes=max_bytes)
    assert len(found.queue_offsets) == expected and found.next_offset == expected


def test_offsets_before_the_tier_and_removed_ones_lead_to_its_begin(tiered: Tiered) -> None:
    tiered.objects.delete(NAMES.range(1, 0))
    tiered.refresh()
    first = COUNT // 2
    found = tiered.get("orders", 0, 3, 5)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_TOO_SMALL, first)
    assert tiered.store.min_offset("orders", 0) == first
    tiered.store.move_start("orders", 0, first + 4)
    tiered.store.dispatch()
    found = tiered.get("orders", 0, first, 5)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_TOO_SMALL, first + 4)
    assert tiered.get("orders", 0, first + 4, 1).queue_offsets == [first + 4]
    tiered.expire()
    again = tiered.restart()
    assert again.store.min_offset("orders", 0) == first + 4
    assert again.get("orders", 0, first, 1).status is GetStatus.OFFSET_TOO_SMALL


def test_hole_between_ranges_is_passed_over(tiered: Tiered) -> None:
    middle = sorted(TierDirectory(NAMES).updated(tiered.objects).ranges)[1]
    filled_three = filled(ranges=3)
    begins = sorted(TierDirectory(NAMES).updated(filled_three.objects).ranges)
    assert middle not in begins
    filled_three.expire()
    filled_three.objects.delete(NAMES.range(1, begins[1]))
    filled_three.refresh()
    bodies = [offset for result in read_all(filled_three) for offset in result.queue_offsets]
    local = filled_three.store.local_min_offset("orders", 0)
    expected = [offset for offset in range(COUNT) if offset < 20 or offset >= min(40, local)]
    assert bodies == expected


def test_damaged_and_deleted_blocks_are_passed_over_and_reported(
    tiered: Tiered, caplog: pytest.LogCaptureFixture
) -> None:
    name = NAMES.segment(SegmentName(1, 0, 3, 0, WRITER))
    data = tiered.objects.objects[name]
    tiered.objects.objects[name] = data[:20] + b"?" + data[21:]
    offsets = [offset for result in read_all(tiered) for offset in result.queue_offsets]
    lost = COUNT - len(offsets)
    assert 0 < lost < 5 and offsets == list(range(lost, COUNT))
    assert "skipped" in caplog.text and name in caplog.text
    begins = sorted(TierDirectory(NAMES).updated(tiered.objects).ranges)
    other = NAMES.segment(SegmentName(1, begins[1], 3, 0, WRITER))
    del tiered.objects.objects[other]
    tiered.tier.parts.cache.clear()
    local = tiered.store.local_min_offset("orders", 0)
    offsets = [offset for result in read_all(tiered) for offset in result.queue_offsets]
    assert offsets == [offset for offset in range(lost, COUNT) if offset < COUNT // 2 or offset >= local]


def test_offsets_by_time_are_those_of_the_whole_queue() -> None:
    tiered = filled()
    begin = records(tiered.store.get("orders", 0, 0, 1))[0].store_timestamp
    times = [begin + number * 500 for number in range(-2, 2 * COUNT + 2)]
    before = [
        (tiered.store.offset_by_time("orders", 0, time), tiered.store.offset_by_time("orders", 0, time, True))
        for time in times
    ]
    stored = [tiered.store.store_time("orders", 0, offset) for offset in range(COUNT)]
    tiered.expire()
    tiered.refresh()
    read_all(tiered)
    after = [
        (tiered.store.offset_by_time("orders", 0, time), tiered.store.offset_by_time("orders", 0, time, True))
        for time in times
    ]
    assert after == before
    assert [tiered.store.store_time("orders", 0, offset) for offset in range(COUNT)] == stored


def test_born_timestamps_are_those_of_the_whole_queue() -> None:
    tiered = filled()

    def times() -> list[tuple[int, int]]:
        found, offset = list[tuple[int, int]](), 0
        while offset < COUNT:
            some, offset = tiered.store.record_times.read("orders", 0, offset, COUNT)
            found += some
        return found

    before = times()
    tiered.expire()
    tiered.refresh()
    read_all(tiered)
    assert times() == before and len(before) == COUNT


def test_record_is_found_by_its_message_id() -> None:
    tiered = filled()
    units = tiered.store.consume_queue_units("orders", 0, 0, COUNT)
    before = [tiered.store.record_at(position) for position, _, _ in units]
    tiered.expire()
    tiered.refresh()
    assert tiered.store.look_up(units[0][0]) is None  # it is being loaded
    with pytest.raises(NothingYet, match="are being loaded"):
        tiered.store.record_at(units[0][0])
    with pytest.raises(ColdRead):
        tiered.store.record_at(units[0][0], may_wait=False)
    for _ in range(4):
        tiered.worker.perform_all()
        tiered.store.look_up(units[0][0])
    read_all(tiered)
    tiered.store.look_up(units[-20][0])
    tiered.worker.perform_all()
    assert [tiered.store.record_at(position) for position, _, _ in units] == before
    assert tiered.store.record_at(units[0][0] + 1) is None
    assert tiered.store.record_at(units[0][0] + 1, may_wait=False) is None


def test_queue_without_messages_in_the_tier_is_read_as_ever(tiered: Tiered) -> None:
    tiered.bench.put(message("new"))
    assert tiered.store.min_offset("new", 0) == 0
    assert tiered.get("new", 0, 0, 1).status is GetStatus.FOUND
    assert tiered.get("none", 0, 0, 1).status is GetStatus.NO_MATCHED_LOGIC_QUEUE


def test_before_the_ranges_are_known_readers_keep_their_offsets() -> None:
    tiered = filled()
    tiered.expire()
    local = tiered.store.local_min_offset("orders", 0)
    found = tiered.get("orders", 0, 3, 5)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 3)
    assert tiered.store.min_offset("orders", 0) == local > 0
    assert tiered.get("orders", 0, local, 1).status is GetStatus.FOUND
    with pytest.raises(NothingYet, match="older messages cannot be read now"):
        tiered.store.offset_by_time("orders", 0, 0)
    assert tiered.store.store_time("orders", 0, 3) == -1
    tiered.refresh()
    assert tiered.get("orders", 0, 3, 5).status is GetStatus.FOUND


def test_store_that_is_away_costs_only_readers_of_what_it_has(tiered: Tiered) -> None:
    tiered.objects.faults = {tiered.objects.calls + number: StoreFault.AWAY for number in range(1, 1000)}
    found = tiered.get("orders", 0, 3, 5)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 3)
    local = tiered.store.local_min_offset("orders", 0)
    assert tiered.get("orders", 0, local, 1).status is GetStatus.FOUND
    assert tiered.bench.put(message("orders", 0)) == [COUNT]
    calls = tiered.objects.calls
    assert tiered.get("orders", 0, 3, 5).status is GetStatus.OFFSET_OVERFLOW_ONE
    assert tiered.objects.calls == calls and tiered.worker.waiting == 0
    tiered.objects.faults = {}
    tiered.clock.advance(PAUSE_MILLIS)
    assert list(tiered.get("orders", 0, 3, 2).queue_offsets) == [3, 4]


def test_slow_store_lets_readers_go_and_keeps_what_it_brings(tiered: Tiered) -> None:
    with pytest.raises(ColdRead) as cold:
        tiered.store.get("orders", 0, 3, 5, may_wait=False)
    released: list[int] = []
    tiered.store.bring(cold.value, lambda: released.append(1))
    tiered.clock.advance(WAIT_MILLIS)
    tiered.tier.tick()
    assert released == [1]
    found = tiered.store.get("orders", 0, 3, 5, may_wait=False)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 3)
    tiered.worker.perform_all()
    assert tiered.get("orders", 0, 3, 5).status is GetStatus.FOUND


def test_failed_list_keeps_the_ranges_that_are_known(tiered: Tiered) -> None:
    tiered.clock.advance(REFRESH_MILLIS)
    tiered.objects.faults = {tiered.objects.calls + 1: StoreFault.AWAY}
    tiered.tier.tick()
    tiered.worker.perform_all()
    tiered.clock.advance(PAUSE_MILLIS)
    assert tiered.get("orders", 0, 0, 1).status is GetStatus.FOUND


def test_reader_who_reads_on_finds_blocks_loaded(tiered: Tiered, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    offset, waits = 0, list[int]()
    while offset < tiered.store.local_min_offset("orders", 0):
        try:
            offset = tiered.store.get("orders", 0, offset, 2, may_wait=False).next_offset
        except ColdRead as cold:
            waits.append(offset)
            tiered.store.bring(cold, lambda: None)
        tiered.worker.perform_all()
    assert max(waits) < 10, waits


def test_cache_is_bounded_and_all_is_read_all_the_same() -> None:
    tiered = filled(cache_bytes=5000)
    tiered.expire()
    tiered.refresh()
    assert sum(len(result.queue_offsets) for result in read_all(tiered)) == COUNT
    assert tiered.tier.parts.cache.weight <= 5000


def test_end_of_the_tier_is_known(tiered: Tiered) -> None:
    assert tiered.tier.end_offset == tiered.saved_to
    assert Tiered().tier.end_offset == 0


def test_ranges_saved_since_the_last_list_are_looked_for_before_messages_count_as_gone() -> None:
    tiered = Tiered()
    tiered.bench.put(*(message("orders", 0, b"%d" % number * 40) for number in range(20)))
    tiered.save()
    tiered.refresh()
    for number in range(40):
        tiered.bench.put(message("orders", 0, b"%d" % number * 40), message("later", 0))
    tiered.save()
    tiered.bench.put(*(message("orders", 0, b"x" * 800), message("later", 0, b"x" * 800)) * 4)
    tiered.expire()
    for topic, offset in (("orders", 20), ("later", 0)):
        found = tiered.store.get(topic, 0, offset, 1, may_wait=True)
        assert (found.status, found.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, offset)
    tiered.tier.tick()
    tiered.worker.perform_all()
    for topic, offset in (("orders", 20), ("later", 0)):
        assert tiered.get(topic, 0, offset, 1).queue_offsets == [offset]


def test_messages_that_were_never_saved_count_as_gone_once_that_is_known() -> None:
    tiered = Tiered()
    tiered.bench.put(*(message("orders", 0, b"%d" % number * 40) for number in range(20)))
    tiered.save()
    tiered.refresh()
    tiered.bench.put(*(message("orders", 0, b"%d" % number * 40) for number in range(60)))
    tiered.expire()
    local = tiered.store.local_min_offset("orders", 0)
    assert tiered.get("orders", 0, 20, 1).status is GetStatus.OFFSET_OVERFLOW_ONE
    tiered.tier.tick()
    tiered.worker.perform_all()
    found = tiered.get("orders", 0, 20, 1)
    assert (found.status, found.next_offset) == (GetStatus.MESSAGE_WAS_REMOVING, local)
    assert tiered.get("orders", 0, 19, 9).queue_offsets == [19]


def test_expired_messages_move_the_least_offset_and_are_not_found_by_id() -> None:
    tiered = filled()
    units = tiered.store.consume_queue_units("orders", 0, 0, COUNT)
    tiered.expire()
    tiered.refresh()
    read_all(tiered)
    with pytest.raises(NothingYet):
        tiered.store.record_at(units[0][0])
    tiered.worker.perform_all()
    assert tiered.store.record_at(units[0][0]) is not None
    assert tiered.tier.directory is not None
    first = tiered.tier.directory.ranges[0]
    for entry in load_head(tiered.objects, first).head.segments:
        tiered.objects.create(NAMES.expired(ExpiredName(*first.key, entry.number, 5)), b"")
    tiered.refresh()
    assert tiered.store.record_at(units[0][0]) is None
    assert tiered.store.min_offset("orders", 0) > 0
    assert tiered.get("orders", 0, 0, 10).status is GetStatus.OFFSET_TOO_SMALL
