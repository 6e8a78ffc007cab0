"""Queues of batches whose older records are in a tier: messages, whole batches, transactions, times."""

import pytest

from mqgateway.engine.record_batches.batches import batches
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.store.expansion import unique_key
from mqgateway.engine.store.message_store import GetResult, GetStatus, MessageStore
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.store.record import decode
from tests.support.engine.store.kafka_records import put_batch
from tests.support.engine.store.kafka_records import records as of_kafka
from tests.support.engine.store.stores import batch, message, records
from tests.support.engine.tier.tiered import Tiered

ROUNDS = 8
PER_ROUND = 11


def filled() -> Tiered:
    """Return a store with batches of Kafka, messages and batches of RocketMQ in one queue."""
    tiered = Tiered()
    store = tiered.store
    for number in range(ROUNDS):
        put_batch(store, of_kafka(b"a%d" % number, b"b" * 200, b"c", tags=["x", "y"]))
        tiered.bench.put(message("batched", 0, b"d" * 200, {"TAGS": "y"}))
        zipped = of_kafka(*(b"e%d" % number * 30 for _ in range(5)), tags=["y"])
        put_batch(store, zipped, compression=CompressionType.ZSTD)
        store.put_inner_batch(message("batched", 0, batch(b"g" * 100, b"h"), {"TAGS": "x"}))
        store.dispatch()
        tiered.clock.advance(1000)
        if number % 4 == 3:
            tiered.save()
    return tiered


def expired(tiered: Tiered) -> None:
    tiered.expire()
    tiered.refresh()
    assert tiered.store.local_min_offset("batched", 0) > 2 * PER_ROUND
    assert tiered.store.min_offset("batched", 0) == 0


def read(tiered: Tiered, begin: int, **settings: object) -> list[GetResult]:
    """Return the answers to a reader from an offset on."""
    results, offset = list[GetResult](), begin
    while offset < tiered.store.max_offset("batched", 0):
        results.append(tiered.get("batched", 0, offset, 4, **settings))
        assert results[-1].next_offset > offset, results[-1]
        offset = results[-1].next_offset
    return results


def messages(results: list[GetResult]) -> list[tuple[int, bytes]]:
    return [(one.queue_offset, one.body) for result in results for one in records(result)]


def whole(store: MessageStore, tiered: Tiered | None = None) -> list[bytes]:
    found, offset = list[bytes](), 0
    while offset < store.max_offset("batched", 0):
        result = store.batches.get("batched", 0, offset, 600, uncommitted=True)
        if tiered is not None and not result.spans:
            tiered.worker.perform_all()
            continue
        found += [bytes(each) for each in result.spans]
        offset = result.next_offset
    return found


@pytest.mark.parametrize("begin", [0, 1, 4, 6, 10, 25])
def test_messages_are_those_of_the_whole_queue(begin: int) -> None:
    tiered = filled()
    before = messages(read(tiered, begin))
    expired(tiered)
    assert messages(read(tiered, begin)) == before
    assert len(before) > 50


def test_messages_are_chosen_by_tags() -> None:
    tiered = filled()
    codes = frozenset(one[2] for one in tiered.store.consume_queue_units("batched", 0, 3, 1))
    before = messages(read(tiered, 0, accept=codes))
    expired(tiered)
    assert messages(read(tiered, 0, accept=codes)) == before
    assert {body[:1] for _, body in before} == {b"b", b"d", b"e"}


def test_whole_batches_are_those_of_the_whole_queue() -> None:
    tiered = filled()
    before = whole(tiered.store)
    expired(tiered)
    after = whole(tiered.store, tiered)
    kept = [span for span in before if next(batches(span)).base_offset != 3]
    assert b"".join(sorted(kept)) != b"" and after == before


def test_whole_read_keeps_the_limit_and_gives_one_batch_at_least() -> None:
    tiered = filled()
    expired(tiered)
    read(tiered, 0)
    one = tiered.store.batches.get("batched", 0, 0, 1)
    assert [next(batches(span)).base_offset for span in one.spans] == [0] and one.next_offset == 3
    inside = tiered.store.batches.get("batched", 0, 6, 1)
    assert [next(batches(span)).base_offset for span in inside.spans] == [4]


def test_message_in_a_batch_is_found_by_position_and_unique_key() -> None:
    tiered = filled()
    units = tiered.store.batch_units("batched", 0, 0, 3)
    before = tiered.store.message_record_at(units[2].physical_offset, unique_key("batched", 0, 6))
    expired(tiered)
    for _ in range(3):  # head, page of places, block
        tiered.store.look_up(units[2].physical_offset)
        tiered.worker.perform_all()
    found = tiered.store.message_record_at(units[2].physical_offset, unique_key("batched", 0, 6))
    assert found == before and found is not None and decode(found).queue_offset == 6


def test_offsets_by_time_are_those_of_the_whole_queue() -> None:
    tiered = filled()
    units = tiered.store.batch_units("batched", 0, 0, 1000)
    times = [time for unit in units for time in (unit.store_timestamp - 1, unit.store_timestamp)]
    before = [tiered.store.offset_by_time("batched", 0, time) for time in times]
    stored = [tiered.store.store_time("batched", 0, unit.base_offset) for unit in units]
    expired(tiered)
    read(tiered, 0)
    assert [tiered.store.offset_by_time("batched", 0, time) for time in times] == before
    assert [tiered.store.store_time("batched", 0, unit.base_offset) for unit in units] == stored


def test_whole_read_of_messages_that_cannot_be_read_finds_nothing_yet() -> None:
    tiered = filled()
    tiered.expire()
    found = tiered.store.get("batched", 0, 2, 10, whole=True, max_bytes=1000, may_wait=True)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 2)
    assert tiered.store.batches.get("batched", 0, 2, 1000).spans == []


def test_local_offsets_by_time_do_not_ask_for_older_messages() -> None:
    """A start reads them before the ranges of the tier are known."""
    tiered = filled()
    tiered.expire()
    local = tiered.store.local_min_offset("batched", 0)
    with pytest.raises(NothingYet):
        tiered.store.offset_by_time("batched", 0, 0)
    assert tiered.store.local_offset_by_time("batched", 0, 0) == local
    stored = tiered.store.store_time("batched", 0, tiered.store.max_offset("batched", 0) - 2)
    found = tiered.store.local_offset_by_time("batched", 0, stored)
    assert found > local
    assert tiered.store.store_time("batched", 0, found) == stored
    assert tiered.store.local_offset_by_time("none", 0, 0) == 0


def test_system_topics_and_lmq_queues_have_no_older_messages() -> None:
    tiered = Tiered()
    for topic in ("rmq_sys_x", "%LMQ%a"):
        tiered.bench.put(*(message(topic, 0, b"x" * 900) for _ in range(12)))
    tiered.expire()
    for topic in ("rmq_sys_x", "%LMQ%a"):
        assert tiered.get(topic, 0, 0, 1).status is GetStatus.OFFSET_TOO_SMALL
        assert tiered.store.offset_by_time(topic, 0, 0) == tiered.store.local_min_offset(topic, 0)
