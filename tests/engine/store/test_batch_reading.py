"""Reading queues that hold batches of Kafka beside other messages."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import tags_code
from mqgateway.engine.record_batches.batches import CONTROL
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.batch_answer import EXPANDED_MAX
from mqgateway.engine.store.expansion import PROMPT_MAX
from mqgateway.engine.store.message_store import ColdRead, GetResult, GetStatus
from mqgateway.engine.store.record import decode_all
from mqgateway.engine.store.results import TransferLimits
from mqgateway.engine.worker import MemoryWorker
from tests.support.cpu_time import CpuTime
from tests.support.engine.store.kafka_records import large, mixed, put_batch, records
from tests.support.engine.store.stores import Bench


def seen(result: GetResult) -> list[tuple[int, bytes]]:
    """Queue offsets and bodies."""
    found = decode_all(result.body)
    assert [one.queue_offset for one in found] == list(result.queue_offsets)
    return [(one.queue_offset, one.body) for one in found]


def test_batches_and_messages_are_read_as_messages() -> None:
    result = mixed().store.get("batched", 0, 0, 32)
    assert result.status is GetStatus.FOUND
    assert seen(result)[:6] == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d"), (4, b"e"), (5, b"f")]
    assert (result.queue_offsets[6:], result.count, result.next_offset) == ([6], 8, 8)


def test_whole_records_are_given_to_those_who_ask() -> None:
    result = mixed().store.get("batched", 0, 1, 32, whole=True)
    assert (list(result.queue_offsets), result.count, result.next_offset) == ([0, 3, 4, 6], 8, 8)


@pytest.mark.parametrize("offset", range(6))
@pytest.mark.parametrize("most", [1, 2, 4])
def test_read_begins_and_ends_inside_batches(offset: int, most: int) -> None:
    store = mixed().store
    result = store.get("batched", 0, offset, most)
    expected = list(enumerate([b"a", b"b", b"c", b"d", b"e", b"f"]))[offset : offset + most]
    assert seen(result)[: len(expected)] == expected
    # The batch of RocketMQ is given whole or not at all.
    assert result.next_offset == (8 if offset + most >= 8 else min(offset + most, 6))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 25), st.integers(100, 3000))
def test_every_message_is_read_once_whatever_the_limits(counts: list[int], most: int, size: int) -> None:
    made = large()
    for count in counts:
        put_batch(made.store, records(*[b"v%d" % index for index in range(count)]))
    limits = TransferLimits(size, most, size, most)
    offset, found = 0, []
    while offset < sum(counts):
        result = made.store.get("batched", 0, offset, 32, limits=limits)
        assert result.status is GetStatus.FOUND and result.count <= most
        assert result.size <= size or result.count == 1
        assert result.next_offset > offset
        found += seen(result)
        offset = result.next_offset
    values = [b"v%d" % index for count in counts for index in range(count)]
    assert found == list(enumerate(values))


def of_tags(tag: str) -> list[Any]:
    """Both ways to choose by a tag."""

    def accept(properties: Mapping[str, str]) -> bool:
        return properties.get("TAGS") == tag

    return [frozenset([tags_code(tag)]), accept]


@pytest.mark.parametrize("accept", of_tags("y"))
def test_choice_is_of_messages(accept: Any) -> None:
    result = mixed().store.get("batched", 0, 0, 32, accept=accept)
    assert seen(result) == [(1, b"b"), (3, b"d"), (4, b"e"), (5, b"f")]
    assert result.next_offset == 8


@pytest.mark.parametrize("accept", of_tags("none"))
def test_choice_without_a_match_moves_on(accept: Any) -> None:
    result = mixed().store.get("batched", 0, 1, 32, accept=accept)
    assert (result.status, result.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 8)


@pytest.mark.parametrize("accept", of_tags("none"))
def test_choice_looks_at_so_many_messages_an_answer(accept: Any) -> None:
    made = large()
    put_batch(made.store, records(*[b"v"] * (EXPANDED_MAX + 10)))
    result = made.store.get("batched", 0, 5, 32, accept=accept)
    assert (result.status, result.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, EXPANDED_MAX + 5)


def test_control_batch_is_passed_over() -> None:
    made = large()
    put_batch(made.store, records(b"a"))
    put_batch(made.store, [Record(b"\0\0\0\1", b"marker")], flags=CONTROL)
    put_batch(made.store, records(b"b"))
    assert seen(made.store.get("batched", 0, 0, 32)) == [(0, b"a"), (2, b"b")]
    first = made.store.get("batched", 0, 0, 1)
    assert (seen(first), first.next_offset) == ([(0, b"a")], 1)
    assert seen(made.store.get("batched", 0, 1, 1)) == [(2, b"b")]


def test_marker_at_the_end_moves_the_reader_on() -> None:
    made = large()
    put_batch(made.store, [Record(b"\0\0\0\1", b"marker")], flags=CONTROL)
    result = made.store.get("batched", 0, 0, 32)
    assert (result.status, result.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 1)


def test_damaged_batch_is_counted_and_never_stops_a_reader() -> None:
    made = large()
    put_batch(made.store, records(b"a"))
    place = made.store.max_physical_offset
    put_batch(made.store, [Record(None, b"b" * 99), Record(None, b"c", (), 0, 1)], flags=3)
    put_batch(made.store, records(b"d"))
    for may_wait in (True, False):
        while True:
            try:
                result = made.store.get("batched", 0, 0, 32, may_wait=may_wait)
                break
            except ColdRead as cold:
                made.store.bring(cold, lambda: None)
        assert seen(result) == [(0, b"a"), (3, b"d")]
        assert result.next_offset == 4
    assert made.store.get("batched", 0, 1, 32).next_offset == 4
    assert "lz4" in made.store.damaged[place] and len(made.store.damaged) == 1


def test_large_batch_is_brought_by_a_worker_once() -> None:
    worker = MemoryWorker()
    made = large(aside=worker)
    put_batch(made.store, records(b"a"))
    values = [bytes(PROMPT_MAX // 2)] * 3
    put_batch(made.store, records(*values), compression=CompressionType.ZSTD)
    first = made.store.get("batched", 0, 0, 32, may_wait=False)
    assert (seen(first), first.next_offset) == ([(0, b"a")], 1)
    with pytest.raises(ColdRead) as caught:
        made.store.get("batched", 0, 1, 32, may_wait=False)
    done: list[bool] = []
    made.store.bring(caught.value, lambda: done.append(True))
    worker.perform_all()
    assert done
    assert seen(made.store.get("batched", 0, 2, 32, may_wait=False)) == [(2, values[1]), (3, values[2])]


def test_messages_survive_a_restart() -> None:
    made = mixed()
    before = seen(made.store.get("batched", 0, 0, 6))
    made.store.stop()
    again = Bench(made.disk, made.clock, mapped_file_size_commit_log=8 << 20)
    assert seen(again.store.get("batched", 0, 0, 6)) == before


def test_records_with_many_headers_count_more() -> None:
    made = large()
    many = [(f"h{number}", b"x") for number in range(4000)]
    put_batch(made.store, [Record(None, b"v", many, 0, delta) for delta in range(20)])
    times = []
    for _ in range(3):
        with CpuTime() as taken:
            result = made.store.get("batched", 0, 0, 32)
        times.append(taken.seconds)
    assert min(times) < 0.1, "a single one takes about 15 ms"
    assert result.count == result.next_offset == 1
