"""Judging ranges: limits of time and bytes, deleted topics, and when an index is read again."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.tables.retention import RetentionLimits
from mqgateway.engine.tier.expiry import Expiry, judge
from mqgateway.engine.tier.format.index import Block, QueueKind, RangeHead, SavedQueue, SegmentEntry
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.retention_classes import TopicLimits
from mqgateway.engine.tier.survey import survey
from tests.support.engine.store.stores import Bench
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.saving import NAMES, fill, save

FOREVER = RetentionLimits(None, None)


def queue(topic: str, segments: tuple[int, ...], last_time: int = 100, size: int = 50) -> SavedQueue:
    """Return a queue with one block of one message in each segment."""
    blocks = tuple(Block(segment, 16, size, size, 0, 0, 0, n, n, 0) for n, segment in enumerate(segments))
    count = len(segments)
    return SavedQueue(topic, 0, QueueKind.MESSAGES, 0, count, count, 0, 0, last_time, blocks)


def head(segments: int, *queues: SavedQueue) -> RangeHead:
    return RangeHead(tuple(SegmentEntry(3, number, 1000) for number in range(segments)), (), (), queues)


def test_segment_expires_once_all_queues_in_it_are_too_old() -> None:
    found = head(2, queue("a", (0, 1), 100), queue("b", (1,), 150))
    limits = TopicLimits({"a": RetentionLimits(10, None), "b": RetentionLimits(20, None)}, FOREVER)
    judged = [judge(found, limits.of, now, {})[:2] for now in (110, 111, 170, 171)]
    never = judged[-1][1]
    assert judged == [
        (frozenset(), 111),
        (frozenset({0}), 171),
        (frozenset({0}), 171),
        (frozenset({0, 1}), never),
    ]


def test_queue_expires_once_later_ranges_have_its_bytes() -> None:
    found = head(2, queue("a", (0,)), queue("b", (1,)))
    limits = TopicLimits({"a": RetentionLimits(None, 200)}, FOREVER, {"b"})
    for newer, expired in ((199, set()), (200, {0})):
        judged = judge(found, limits.of, 0, {("a", 0): newer})
        assert (judged.expired, judged.sizes) == (expired, {("a", 0): 50})


def test_entries_of_a_queue_in_one_range_count_for_one_another() -> None:
    """Its offsets do not continue."""
    found = head(2, queue("a", (0,)), queue("a", (1,)))
    limits = TopicLimits({"a": RetentionLimits(None, 50)}, FOREVER)
    judged = judge(found, limits.of, 0, {})
    assert (judged.expired, judged.sizes) == ({0}, {("a", 0): 100})


def test_messages_of_a_deleted_topic_expire_at_once() -> None:
    found = head(2, queue("a", (0,)), queue("b", (1,)))
    limits = TopicLimits({"b": FOREVER}, FOREVER)
    assert judge(found, limits.of, 0, {}).expired == {0}


class Judged:
    """A tier with three ranges, judged look by look."""

    def __init__(self) -> None:
        bench = Bench()
        fill(bench, 40)
        bench.store.stop()
        self.objects = MemoryObjects()
        save(self.objects, bench.disk)
        self.expiry = Expiry(self.objects, NAMES)
        self.newest = bench.clock.millis()

    def look(self, now: int, **limits: RetentionLimits) -> tuple[list[int], int]:
        """Return the begins of the ranges with something expired, and the number of indexes read."""
        found = survey(self.objects, NAMES)
        topics = TopicLimits(limits, FOREVER, {"orders", "pay"})
        before = self.objects.calls
        return sorted(key.begin for key, _ in self.expiry.look(found, topics, now)), (
            self.objects.calls - before
        )


def test_indexes_are_read_when_something_may_expire_or_limits_change() -> None:
    judged = Judged()
    day = RetentionLimits(86_400_000, None)
    assert judged.look(judged.newest, orders=day, pay=day) == ([], 3)
    assert judged.look(judged.newest + 1, orders=day, pay=day) == ([], 0)
    first, reads = judged.look(judged.newest + 86_400_000 - 15_000, orders=day, pay=day)
    assert (first, 0 < reads < 3) == ([0], True)
    assert judged.look(judged.newest + 2 * 86_400_000, orders=day) == ([], 3)
    assert judged.look(judged.newest + 2 * 86_400_000, orders=day, pay=day) == ([0, 4096, 8192], 3)


def test_range_without_its_mark_is_yielded_again() -> None:
    judged = Judged()
    day, late = RetentionLimits(86_400_000, None), judged.newest + 2 * 86_400_000
    assert judged.look(late, orders=day, pay=day) == ([0, 4096, 8192], 3)
    assert judged.look(late, orders=day, pay=day) == ([0, 4096, 8192], 0)


def test_oldest_ranges_expire_by_the_bytes_of_later_ones() -> None:
    judged = Judged()
    size = RetentionLimits(None, 1000)
    assert judged.look(0, orders=size, pay=size)[0] == [0]
    assert judged.look(0, orders=size, pay=size) == ([0], 0)


def test_range_whose_index_is_damaged_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    judged = Judged()
    name = NAMES.range(*RangeKey(1, 4096))
    judged.objects.objects[name] = judged.objects.objects[name][:-1]
    day, late = RetentionLimits(1, None), judged.newest + 86_400_000
    with caplog.at_level(logging.ERROR):
        assert judged.look(late, orders=day, pay=day)[0] == [0, 8192]
    assert "its index cannot be read" in caplog.text
