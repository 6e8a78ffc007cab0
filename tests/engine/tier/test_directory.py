import logging

import pytest

from mqgateway.engine.tier.directory import (
    FIRST_READ,
    QueueHistory,
    QueueSpan,
    TierDirectory,
    first_kept,
)
from mqgateway.engine.tier.format.index import HEADER_SIZE, Block, QueueKind, SavedQueue
from mqgateway.engine.tier.format.names import ExpiredName
from mqgateway.engine.tier.ranges import RangeKey
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.tier.memory_objects import MemoryObjects
from tests.support.engine.tier.small_ranges import NAMES, begin_epoch, save


def history(*spans: tuple[int, int, int, int]) -> QueueHistory:
    return QueueHistory(QueueSpan(*span) for span in spans)


def test_span_with_an_offset_or_the_next_one_is_found() -> None:
    found = history((10, 20, 5, 0), (20, 25, 6, 100), (30, 31, 9, 200))
    assert [found.find(offset) for offset in (0, 10, 19, 20, 24, 25, 30, 31)] == [
        (10, 20, 5, 0),
        (10, 20, 5, 0),
        (10, 20, 5, 0),
        (20, 25, 6, 100),
        (20, 25, 6, 100),
        (30, 31, 9, 200),
        (30, 31, 9, 200),
        None,
    ]


def test_first_span_with_a_message_of_a_time_or_later_is_found() -> None:
    found = history((10, 20, 5, 0), (20, 25, 6, 100))
    assert [found.find_time(time) for time in (0, 5, 6, 7)] == [found[0], found[0], found[1], None]


def test_spans_from_before_a_topic_was_deleted_are_dropped() -> None:
    found = history((10, 20, 5, 0), (20, 25, 6, 100), (0, 3, 9, 200), (3, 4, 9, 300))
    assert [found[number] for number in range(len(found))] == [(0, 3, 9, 200), (3, 4, 9, 300)]


def test_copies_do_not_change_with_one_another() -> None:
    found = history((10, 20, 5, 0))
    made = found.copy()
    made.append(QueueSpan(20, 21, 6, 100))
    assert len(found) == 1 and len(made) == 2 and len(made.only({100: None})) == 1


class _Bench:
    """A store whose log is saved range by range."""

    def __init__(self) -> None:
        self.bench = Bench(mapped_file_size_commit_log=1 << 20)
        self.objects = MemoryObjects()
        self.saved_to = 0
        begin_epoch(self.objects, 1, 0)

    def save(self, *queues: tuple[str, int], epoch: int = 1) -> None:
        for topic, queue_id in queues:
            self.bench.put(message(topic, queue_id))
        end = self.bench.store.max_physical_offset
        save(self.bench.store, self.objects, self.saved_to, end, epoch=epoch)
        self.saved_to = end


def spans(directory: TierDirectory, topic: str, queue_id: int) -> list[tuple[int, int]]:
    found = directory.history(topic, queue_id)
    return [] if found is None else [found[number][:2] for number in range(len(found))]


def test_directory_has_the_ranges_of_each_queue() -> None:
    bench = _Bench()
    bench.save(("a", 0), ("b", 1), ("a", 0))
    bench.save(("b", 1))
    first = TierDirectory(NAMES).updated(bench.objects)
    assert (spans(first, "a", 0), spans(first, "b", 1)) == ([(0, 2)], [(0, 1), (1, 2)])
    assert first.history("a", 1) is None and first.end_offset == bench.saved_to
    bench.save(("a", 0))
    second = first.updated(bench.objects)
    assert spans(second, "a", 0) == [(0, 2), (2, 3)] and spans(first, "a", 0) == [(0, 2)]
    begins = sorted(second.ranges)
    for begin, end in zip(begins, [*begins[1:], second.end_offset], strict=True):
        for position in (begin, end - 1):
            found = second.range_at(position)
            assert found is not None and found.key.begin == begin
    assert second.range_at(second.end_offset) is None and second.range_at(-1) is None


def test_indexes_that_are_known_are_not_read_again() -> None:
    bench = _Bench()
    bench.save(("a", 0))
    first = TierDirectory(NAMES).updated(bench.objects)
    bench.save(("a", 0))
    bench.objects.calls = 0
    first.updated(bench.objects)
    assert bench.objects.calls == 3  # two lists and one index


def test_ranges_of_an_old_writer_do_not_count_any_longer() -> None:
    bench = _Bench()
    bench.save(("a", 0), ("b", 0))
    begin = bench.saved_to
    bench.save(("a", 0), ("a", 0))
    first = TierDirectory(NAMES).updated(bench.objects)
    assert spans(first, "a", 0) == [(0, 1), (1, 3)]
    begin_epoch(bench.objects, 2, begin)
    second = first.updated(bench.objects)
    assert spans(second, "a", 0) == [(0, 1)] and spans(second, "b", 0) == [(0, 1)]
    save(bench.bench.store, bench.objects, begin, bench.saved_to, epoch=2)
    third = second.updated(bench.objects)
    assert spans(third, "a", 0) == [(0, 1), (1, 3)]
    assert third.ranges[begin].key.epoch == 2
    assert spans(first.updated(bench.objects), "a", 0) == [(0, 1), (1, 3)]


def test_deleted_ranges_are_left_out() -> None:
    bench = _Bench()
    bench.save(("a", 0), ("b", 0))
    bench.save(("a", 0))
    first = TierDirectory(NAMES).updated(bench.objects)
    bench.objects.delete(NAMES.range(1, 0))
    second = first.updated(bench.objects)
    assert spans(second, "a", 0) == [(1, 2)] and second.history("b", 0) is None


def test_range_with_a_damaged_index_is_left_out_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    bench = _Bench()
    bench.save(("a", 0))
    begin = bench.saved_to
    bench.save(("a", 0))
    name = NAMES.range(1, begin)
    data = bench.objects.objects[name]
    bench.objects.objects[name] = data[: HEADER_SIZE + 3] + b"?" + data[HEADER_SIZE + 4 :]
    bench.save(("a", 0))
    first = TierDirectory(NAMES).updated(bench.objects)
    assert spans(first.updated(bench.objects), "a", 0) == spans(first, "a", 0) == [(0, 1), (2, 3)]
    [record] = caplog.records
    assert record.levelno == logging.ERROR and name in record.getMessage()


def test_head_of_many_queues_is_read_whole() -> None:
    bench = _Bench()
    bench.save(*[(f"topic-{number:04d}" + "x" * 100, 0) for number in range(400)])
    found = TierDirectory(NAMES).updated(bench.objects)
    assert len(bench.objects.objects[NAMES.range(1, 0)]) > FIRST_READ
    assert spans(found, "topic-0399" + "x" * 100, 0) == [(0, 1)]


def test_history_begins_later_in_a_range() -> None:
    found = history((10, 20, 5, 0), (20, 25, 6, 100), (25, 27, 7, 100), (30, 31, 9, 200))
    spans = [found.begun_at(begin, offset) for begin, offset in ((0, 20), (0, 15), (100, 26), (100, 99))]
    assert [[made[number][:2] for number in range(len(made))] for made in spans] == [
        [(20, 25), (25, 27), (30, 31)],
        [(15, 20), (20, 25), (25, 27), (30, 31)],
        [(10, 20), (26, 27), (30, 31)],
        [(10, 20), (30, 31)],
    ]
    assert len(found) == 4


def _mark(bench: _Bench, begin: int, number: int) -> None:
    bench.objects.create(NAMES.expired(ExpiredName(1, begin, number, 5)), b"")


@pytest.mark.parametrize("is_known", [True, False])
def test_messages_of_expired_segments_are_left_out(is_known: bool) -> None:
    bench = _Bench()
    bench.save(("a", 0), ("b", 0))
    second = bench.saved_to
    bench.save(("a", 0))
    directory = TierDirectory(NAMES)
    if is_known:
        directory = directory.updated(bench.objects)
    _mark(bench, 0, 0)  # that of topic a
    directory = directory.updated(bench.objects)
    found = directory.history("a", 0)
    assert found is not None and [span.begin for span in (found[0],)] == [second]
    assert directory.history("b", 0) is not None
    assert 0 in directory.expired_in(RangeKey(1, 0))
    _mark(bench, 0, 1)
    directory = directory.updated(bench.objects)
    assert directory.history("b", 0) is None
    assert directory.end_offset == bench.saved_to


def test_queue_begins_after_its_last_expired_block() -> None:
    blocks = tuple(Block(segment, 16, 9, 9, 0, 0, 0, n, 10 * n, 0) for n, segment in enumerate((4, 5, 4)))
    queue = SavedQueue("a", 0, QueueKind.MESSAGES, 0, 30, 30, 0, 0, 0, blocks)
    assert [first_kept(queue, expired) for expired in ((), (5,), (4,), (4, 5))] == [0, 20, 30, 30]
