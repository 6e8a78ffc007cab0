"""Records processed as runs: the result equals that of single records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.options import BrokerRole
from mqgateway.engine.store import raw_log
from mqgateway.engine.store.dispatch_request import QueuedRun
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.runs import QUEUES_MAX, RECORDS_MAX, Run, run_of
from tests.support.engine.store.stores import Bench, message

KEY = "7F00000100002A139F5545CA0EDB%04X"

kinds = st.sampled_from([{}, {}, {}, {"WAIT": "true"}, {"TAGS": "a"}, {"KEYS": "k"}, {"DELAY": "1"}])
topics = st.sampled_from(["orders", "orders", "others", "SCHEDULE_TOPIC_XXXX", "тема", "t" * 127])
sent = st.lists(
    st.tuples(topics, st.integers(0, 2), kinds, st.sampled_from([0, 0, 0, 4, 8, 12])), max_size=30
)


def put(bench: Bench, wanted: list[tuple[str, int, dict[str, str], int]]) -> None:
    for number, (topic, queue_id, more, sys_flag) in enumerate(wanted):
        properties = {"UNIQ_KEY": KEY % number, **more}
        bench.store.put(message(topic, queue_id, b"%d" % number, properties=properties, sys_flag=sys_flag))
        bench.clock.advance(1)
    bench.store.dispatch()


def chunks(bench: Bench, step: int) -> list[tuple[int, bytes]]:
    raw, at, found = bench.store.raw, 0, []
    while at < raw.position:
        size = min(step, raw.position - at, raw.file_size - at % raw.file_size)
        found.append((at, raw.read(at, size)))
        at += size
    return found


def copied(original: Bench, step: int) -> tuple[dict[str, bytes], dict[tuple[str, int], tuple[int, int]]]:
    """Return a slave's files, and its last arrival of each queue."""
    replica = Bench(broker_role=BrokerRole.SLAVE)
    for at, data in chunks(original, step):
        replica.store.raw.append(at, data)
        replica.store.dispatch()
    assert replica.store.raw._last == original.store.raw.last_record().start  # type: ignore[union-attr]
    fields = {(one.topic, one.queue_id): (one.next_offset, one.store_timestamp) for one in replica.arrivals}
    replica.store.stop()
    names = [name for name in replica.disk.files("/store") if "/consumequeue/" in name or "/index/" in name]
    assert names
    return {name: replica.disk.read_bytes(name) for name in names}, fields


def one_by_one(*_: object) -> None:
    """No record begins a run."""


@settings(max_examples=40, deadline=None)
@given(sent, st.integers(200, 3000))
def test_a_slave_has_the_same_as_if_each_was_taken_alone(
    wanted: list[tuple[str, int, dict[str, str], int]], step: int
) -> None:
    original = Bench()
    put(original, [("orders", 0, {}, 0), *wanted])
    together = copied(original, step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_log, "run_of", one_by_one)
        assert copied(original, step) == together


def test_most_of_a_log_is_runs() -> None:
    original, replica = Bench(), Bench(broker_role=BrokerRole.SLAVE)
    put(original, [("orders", number % 3, {}, 0) for number in range(12)])
    ((_, data), *_) = chunks(original, 4096)
    replica.store.raw.append(0, data)
    (waiting,) = replica.store.raw._dispatch.waiting
    assert isinstance(waiting.properties, QueuedRun)
    assert [(queue.topic, queue.queue_id) for queue, _ in waiting.properties.queues] == [
        ("orders", 0),
        ("orders", 1),
        ("orders", 2),
    ]
    replica.store._dispatch.forget("orders")
    assert waiting.properties.queues == []
    replica.store.dispatch()
    assert replica.store.max_offset("orders", 0) == 0 and not replica.arrivals


def found(bench: Bench, **changes: Any) -> Run | None:
    raw = bench.store.raw
    data = raw.read(0, raw.position)
    given = {"at": 0, "end": len(data), "position": 0, "check_crc": True, "hashes": KeyHashes(), **changes}
    return run_of(data, **given)


def test_a_run_ends_where_a_record_does_not_follow_in_its_queue() -> None:
    bench = Bench()
    put(bench, [("orders", 0, {}, 0), ("orders", 1, {}, 0), ("orders", 0, {}, 0)])
    whole = found(bench)
    assert whole is not None and whole[0] == bench.store.raw.position and len(whole[4]) == 3
    first = whole[4][1][1]
    assert found(bench, end=first + 1) == found(bench, end=first) != None  # noqa: E711
    assert found(bench, end=first - 1) is None and found(bench, position=1) is None
    raw = bench.store.raw
    twice = raw.read(0, first) + raw.read(0, first)[:28] + first.to_bytes(8, "big") + raw.read(36, first - 36)
    again = run_of(twice, 0, len(twice), 0, False, KeyHashes())
    assert again is not None and again[0] == first  # the second has the offset of the first


def test_runs_have_bounds() -> None:
    bench = Bench(mapped_file_size_commit_log=1 << 20)
    for queue_id in range(QUEUES_MAX + 1):
        bench.store.put(message(queue_id=queue_id, body=b"", properties={"UNIQ_KEY": "A" * 32}))
    run = found(bench)
    assert run is not None and len(run[3]) == len(run[4]) == QUEUES_MAX
    many = Bench(mapped_file_size_commit_log=1 << 20)
    for _ in range(RECORDS_MAX + 1):
        many.store.put(message(body=b"", properties={"UNIQ_KEY": "A" * 32}))
    run = found(many)
    assert run is not None and len(run[4]) == RECORDS_MAX


def test_damaged_record_begins_no_run() -> None:
    bench = Bench()
    put(bench, [("orders", 0, {}, 0)])
    raw = bench.store.raw
    data = bytearray(raw.read(0, raw.position))
    data[88] ^= 1
    assert run_of(bytes(data), 0, len(data), 0, True, KeyHashes()) is None
    assert run_of(bytes(data), 0, len(data), 0, False, KeyHashes()) is not None
