"""Results of a pull: statuses, next offsets and limits as in RocketMQ."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import java_hash
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.results import GetResult, GetStatus, transfer_limits
from mqgateway.engine.testing.crash_disk import CrashFile
from tests.support.engine.store.stores import Bench, batch, message, options, records

A, B = java_hash("a"), java_hash("b")


def filled(count: int, **changes: object) -> Bench:
    """Return a store of messages with bodies 0, 1, 2 ... and tags a, b, a, b ..."""
    bench = Bench(**changes)  # type: ignore[arg-type]
    bench.put(*[message(body=b"%d" % i, properties={"TAGS": "ab"[i % 2]}) for i in range(count)])
    return bench


@pytest.mark.parametrize(
    ("topic", "offset", "status", "following"),
    [
        ("unknown", 5, GetStatus.NO_MATCHED_LOGIC_QUEUE, 0),
        ("orders", 5, GetStatus.OFFSET_OVERFLOW_ONE, 5),
        ("orders", 6, GetStatus.OFFSET_OVERFLOW_BADLY, 5),
        ("orders", 0, GetStatus.FOUND, 5),
        ("orders", -1, GetStatus.OFFSET_TOO_SMALL, 0),
    ],
)
def test_the_status_and_next_offset_of_each_case(
    topic: str, offset: int, status: GetStatus, following: int
) -> None:
    result = filled(5).store.get(topic, 0, offset, 32)
    assert (result.status, result.next_offset) == (status, following)
    if topic == "orders":
        assert (result.min_offset, result.max_offset) == (0, 5)


def test_an_empty_queue_has_no_message() -> None:
    bench = Bench()
    bench.store.put(message())
    result = bench.store.get("orders", 0, 3, 32)
    assert (result.status, result.next_offset) == (GetStatus.NO_MESSAGE_IN_QUEUE, 0)


def test_the_body_is_the_records_as_stored() -> None:
    bench = filled(6)
    result = bench.store.get("orders", 0, 2, 3)
    assert [r.body for r in records(result)] == [b"2", b"3", b"4"]
    assert result.queue_offsets == [2, 3, 4]
    first = bench.store.record_at(records(result)[0].physical_offset)
    assert first is not None and result.body.startswith(first)


def with_addresses(topic: str = "orders") -> Bench:
    """Return a store of messages with tags a, b, a, b ..., whose tags codes are in RocketMQ's other files."""
    bench = Bench(message_delay_level="1s 5s")
    bench.put(
        *[message(topic, body=b"%d" % i, properties={"TAGS": "ab"[i % 2], "DELAY": "2"}) for i in range(6)]
    )
    bench.store.stop()
    path = f"/store/consumequeue/{topic}/0/00000000000000000000"
    for number in range(6):
        address = (number * 30 - (1 << 63)).to_bytes(8, "big", signed=True)
        bench.disk.open(path).write(number * 20 + 12, address)
    bench.disk.makedirs(f"/store/consumequeue_ext/{topic}/0")
    return bench.again()


def test_behind_an_address_are_the_tags_of_the_message() -> None:
    store = with_addresses().store
    chosen = store.get("orders", 0, 0, 2, accept=frozenset({B}))
    assert [r.body for r in records(chosen)] == [b"1", b"3"]
    looked = store.get("orders", 0, 0, 32, accept=lambda properties: properties["TAGS"] == "a")
    assert [r.body for r in records(looked)] == [b"0", b"2", b"4"]
    assert [code for _, _, code in store.consume_queue_units("orders", 0, 0, 4)] == [A, B, A, B]


def test_behind_an_address_of_the_schedule_is_the_delivery_time() -> None:
    bench = with_addresses("SCHEDULE_TOPIC_XXXX")
    (first, *_) = records(bench.store.get("SCHEDULE_TOPIC_XXXX", 0, 0, 1))
    (unit,) = bench.store.consume_queue_units("SCHEDULE_TOPIC_XXXX", 0, 0, 1)
    assert unit[2] == first.store_timestamp + 5000


def test_addresses_go_with_the_topic() -> None:
    bench = with_addresses()
    bench.store.admin.delete_topics(["orders"])
    assert bench.disk.listdir("/store/consumequeue_ext") == []


def test_tags_are_sieved_before_records_are_read() -> None:
    result = filled(9).store.get("orders", 0, 0, 3, accept=frozenset({B}))
    assert [r.body for r in records(result)] == [b"1", b"3", b"5"]
    assert result.next_offset == 6


def test_nothing_matched_continues_after_what_was_scanned() -> None:
    bench = filled(1000, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=20_000)
    result = bench.store.get("orders", 0, 0, 32, accept=frozenset({7}))
    assert (result.status, result.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 800)
    result = bench.store.get("orders", 0, 0, 900, accept=frozenset({7}))
    assert result.next_offset == 900
    result = bench.store.get("orders", 0, 800, 32, accept=frozenset({7}))
    assert result.next_offset == 1000


def numbered(count: int, **changes: object) -> Bench:
    """Return a store of messages with bodies 0, 1, 2 ... and the same as property."""
    bench = Bench(**changes)  # type: ignore[arg-type]
    bench.put(*[message(body=b"%d" % i, properties={"number": str(i)}) for i in range(count)])
    return bench


def test_a_function_chooses_by_properties() -> None:
    store = numbered(6).store

    def chosen(properties: Mapping[str, str]) -> bool:
        return properties["number"] in ("1", "4")

    result = store.get("orders", 0, 0, 32, accept=chosen)
    assert ([r.body for r in records(result)], result.next_offset) == ([b"1", b"4"], 6)
    result = store.get("orders", 0, 0, 1, accept=chosen)
    assert (len(records(result)), result.next_offset) == (1, 2)
    result = store.get("orders", 0, 0, 32, accept=lambda _: False)
    assert (result.status, result.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 6)


@given(st.integers(1, 150), st.integers(0, 149), st.integers(1, 40), st.integers(1, 7), st.booleans())
def test_a_chooser_sees_each_message_once_and_in_order(
    count: int, offset: int, most: int, step: int, is_split: bool
) -> None:
    """For any number of records read together, across the borders of files too."""
    bench = numbered(count, mapped_file_size_commit_log=4096 if is_split else 1 << 20)
    seen: list[int] = []

    def chosen(properties: Mapping[str, str]) -> bool:
        seen.append(int(properties["number"]))
        return seen[-1] % step == 0

    result = bench.store.get("orders", 0, offset, most, accept=chosen)
    found = [int(r.body) for r in records(result)] if result.status is GetStatus.FOUND else []
    assert seen == list(range(offset, offset + len(seen)))
    assert found == [number for number in seen if number % step == 0] and len(found) <= most
    if offset < count:
        assert result.next_offset == offset + len(seen)
        assert len(seen) == count - offset or len(found) == most


@pytest.mark.parametrize("place", [(10**9, 90, 0), (0, 0x7FFFFFFF, 0), (50, -1, 0), (50, 0, 0), (-7, 90, 0)])
def test_a_chooser_passes_over_units_that_lead_nowhere(place: tuple[int, int, int]) -> None:
    store = numbered(9).store
    queue = store._queues.get("orders", 0)
    assert queue is not None
    queue.tail[4 * 20 : 5 * 20] = UNIT.pack(*place)
    result = store.get("orders", 0, 4, 32, accept=lambda _: True)
    assert [r.body for r in records(result)] == [b"5", b"6", b"7", b"8"]
    assert result.next_offset == 9


def test_limits_count_messages_and_bytes_but_one_always_comes() -> None:
    limits = transfer_limits(options(max_transfer_count_on_message_in_memory=4))
    bench = filled(10)
    assert bench.store.get("orders", 0, 0, 32, limits=limits).count == 4
    size = records(bench.store.get("orders", 0, 0, 1))[0].size
    assert bench.store.get("orders", 0, 0, 32, max_bytes=2 * size).count == 2
    assert bench.store.get("orders", 0, 0, 32, max_bytes=1).count == 1
    limits = transfer_limits(options(max_transfer_bytes_on_message_in_memory=3 * size))
    assert bench.store.get("orders", 0, 0, 32, limits=limits).count == 3
    assert bench.store.get("orders", 0, 0, 32, accept=lambda _: True, limits=limits).count == 3
    assert bench.store.get("orders", 0, 0, 1 << 40).count == 10


def test_old_messages_come_in_smaller_portions_and_a_slave_is_suggested() -> None:
    limits = transfer_limits(options(max_transfer_count_on_message_in_disk=5))
    bench = filled(30, access_message_in_memory_max_ratio=0)
    result = bench.store.get("orders", 0, 0, 32, limits=limits)
    assert (result.count, result.suggest_slave) == (5, True)
    last = bench.store.consume_queue_units("orders", 0, 4, 1)[0]
    assert result.behind == bench.store.max_physical_offset - last[0]
    assert not filled(30).store.get("orders", 0, 0, 32).suggest_slave


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900)), max_size=40), st.integers(1, 40))
def test_mixed_queues_are_read_whole_whatever_lies_between(puts: list[tuple[int, int]], portion: int) -> None:
    bench = Bench()
    wanted: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for number, (queue_id, size) in enumerate(puts):
        body = b"%d " % number + b"x" * size
        bench.put(message(queue_id=queue_id, body=body))
        wanted[queue_id].append(body)
    for queue_id, bodies in wanted.items():
        found: list[bytes] = []
        while len(found) < len(bodies):
            result = bench.store.get("orders", queue_id, len(found), portion)
            assert result.status is GetStatus.FOUND
            assert result.next_offset == len(found) + result.count
            found += [r.body for r in records(result)]
        assert found == bodies


def test_messages_whose_log_file_has_gone_are_passed_over() -> None:
    bench = filled(60)
    bench.store._log.files.drop_first(1)
    result = bench.store.get("orders", 0, 0, 32)
    assert result.status in (GetStatus.MESSAGE_WAS_REMOVING, GetStatus.FOUND)
    offset = result.next_offset
    if result.status is GetStatus.FOUND:
        assert records(result)[0].body == b"%d" % records(result)[0].queue_offset
    while result.status is not GetStatus.FOUND:
        result = bench.store.get("orders", 0, offset, 32)
        offset = result.next_offset
    assert records(result)[0].physical_offset >= 4096


def test_a_record_that_cannot_be_read_counts_as_gone() -> None:
    bench = filled(3)
    bench.disk.fail_next("read", "/commitlog")
    assert bench.store.get("orders", 0, 0, 32).status is GetStatus.OFFSET_FOUND_NULL
    assert bench.store.get("orders", 0, 0, 32).count == 3


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(-2, 40))
def test_the_offset_of_a_time_is_the_nearest(steps: list[int], time: int) -> None:
    bench = Bench()
    begin = bench.clock.millis()
    times = []
    for step in steps:
        bench.clock.advance(step)
        bench.put(message())
        times.append(bench.clock.millis() - begin)
    lower = next((i for i, t in enumerate(times) if t >= time), len(times))
    upper = max((i for i, t in enumerate(times) if t <= time), default=0)
    assert bench.store.offset_by_time("orders", 0, begin + time) == lower
    assert bench.store.offset_by_time("orders", 0, begin + time, upper=True) == upper


def test_readers_that_are_woken_together_share_one_answer() -> None:
    bench = Bench()
    answers: list[GetResult] = []

    def woken(_arrivals: object) -> None:
        for accept in (None, None, frozenset({A}), frozenset({A}), frozenset({B})):
            answers.append(bench.store.get("orders", 0, 0, 32, accept=accept))

    bench.store.on_arrivals = woken
    bench.put(message(properties={"TAGS": "a"}))
    assert answers[0] is answers[1] and answers[2] is answers[3]
    assert [answer.count for answer in answers] == [1, 1, 1, 1, 0]
    assert bench.store.get("orders", 0, 0, 32) is not answers[0]
    bench.put(message(properties={"TAGS": "a"}))
    assert answers[5].count == 2


def test_only_few_answers_are_kept_for_sharing() -> None:
    bench = Bench()
    sizes: list[int] = []

    def woken(_arrivals: object) -> None:
        for queue_id in range(40):
            bench.store.get("orders", queue_id, 0, 32)
            sizes.append(len(bench.store._reader.shared or ()))

    bench.store.on_arrivals = woken
    bench.put(*[message(queue_id=queue_id) for queue_id in range(40)])
    assert max(sizes) == 16


def test_records_beyond_agreed_limit_are_not_read() -> None:
    bench = filled(5, agrees=True)
    ends = [r.physical_offset + r.size for r in records(bench.store.get("orders", 0, 0, 32))]
    agreement = bench.store.agreement
    assert agreement is not None
    for count in range(5, 0, -1):
        agreement.limit = ends[count - 1]
        result = bench.store.get("orders", 0, 0, 32)
        assert (result.status, result.next_offset) == (GetStatus.FOUND, count)
        assert len(result.queue_offsets) == count
        behind = bench.store.get("orders", 0, count, 32)
        assert (behind.status, behind.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, count)
    agreement.limit = ends[0] - 1
    assert bench.store.get("orders", 0, 0, 32).next_offset == 0
    agreement.limit = None
    assert len(bench.store.get("orders", 0, 0, 32).queue_offsets) == 5


def test_of_batches_neither() -> None:
    bench = Bench(agrees=True)
    for number in range(3):
        body = batch(b"a%d" % number, b"b")
        bench.store.put_inner_batch(message("batched", 0, body, {"UNIQ_KEY": "u"}))
    bench.store.dispatch()
    found = records(bench.store.get("batched", 0, 0, 32))
    agreement = bench.store.agreement
    assert agreement is not None
    agreement.limit = found[1].physical_offset + found[1].size
    assert bench.store.get("batched", 0, 0, 32).next_offset == 4
    behind = bench.store.get("batched", 0, 4, 32)
    assert (behind.status, behind.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 4)


def batched(count: int, each: int = 3) -> Bench:
    """Return a store with a queue of batches whose units are in files."""
    bench = Bench(mapper_file_size_batch_consume_queue=46 * 400, mapped_file_size_commit_log=1 << 20)
    for number in range(count):
        body = batch(*[b"%d" % number] * each)
        bench.store.put_inner_batch(message("batched", 0, body, {"TAGS": "ab"[number % 2]}))
    bench.store.dispatch()
    bench.clock.advance(2000)
    bench.store.tick()
    return bench


def calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Count from now on the reads of files: offset and size of each."""
    found: list[tuple[int, int]] = []
    read = CrashFile.read

    def counted(file: CrashFile, offset: int, size: int) -> bytes:
        found.append((offset, size))
        return read(file, offset, size)

    monkeypatch.setattr(CrashFile, "read", counted)
    return found


def test_batches_are_found_by_pages_and_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = batched(300)
    reads = calls(bench, monkeypatch)
    result = bench.store.get("batched", 0, 450, 90)
    assert (result.count, result.next_offset, len(result.queue_offsets)) == (90, 540, 30)
    assert len(reads) <= 6
    reads.clear()
    result = bench.store.get("batched", 0, result.next_offset, 90)
    assert (result.count, result.next_offset) == (90, 630)
    assert len(reads) <= 2, "the place where the last answer ended is known"


def test_chosen_batches_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = batched(300)
    reads = calls(bench, monkeypatch)
    for accept in (frozenset([97]), lambda properties: properties.get("TAGS") == "a"):
        reads.clear()
        result = bench.store.get("batched", 0, 300, 60, accept=accept)
        assert list(result.queue_offsets) == list(range(300, 420, 6))
        assert result.next_offset == 417
        # A filter by properties checks each record in mapped memory.
        assert callable(accept) or len(reads) <= 8
