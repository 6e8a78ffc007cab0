"""Every view of a store: what is kept through crashes and truncations equals what is rebuilt."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.compaction import Compaction
from mqgateway.engine.message import SysFlag
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.store.message_store import GetStatus, MessageStore
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.store.kafka_batches import kafka_batch, put_kafka
from tests.support.engine.store.producing import put_mapped, put_marker, put_whole
from tests.support.engine.store.stores import batch, drain, message, options, records
from tests.support.engine.store.viewing import HOLD, RELEASE, Viewed

LMQ = {"enable_lmq": True, "enable_multi_dispatch": True}

_topics = st.sampled_from(["orders", "bills", "batched", "compacted"])
_properties = st.fixed_dictionaries(
    {},
    optional={
        "UNIQ_KEY": st.sampled_from(["7F00000100002A139F5545CA0EDB0000", "u1"]),
        "TAGS": st.just("t"),
        HOLD: st.sampled_from("ab"),
        RELEASE: st.sampled_from("ab"),
        "INNER_MULTI_DISPATCH": st.sampled_from(["%LMQ%one", "%LMQ%one,%LMQ%two"]),
    },
)
_keys = st.sampled_from(["k1", "k2", "k3"])
_puts = st.tuples(st.just("put"), _topics, st.integers(0, 1), _properties, _keys)
_batches = st.tuples(st.just("batch"), st.integers(1, 6), st.booleans())
_inner = st.tuples(st.just("inner"), st.integers(1, 4))
_kafka = st.tuples(st.just("kafka"), st.integers(1, 4))
_prepared = st.tuples(st.just("prepared"))
_whole = st.tuples(st.just("whole"), st.integers(1, 3), st.integers(0, 1), st.integers(1, 4))
_mapped = st.tuples(st.just("mapped"), st.integers(1, 3), st.integers(0, 1), st.integers(1, 4))
_transactional = st.tuples(st.just("transactional"), st.integers(1, 3), st.integers(1, 4))
_markers = st.tuples(st.just("marker"), st.integers(1, 3), st.booleans())
_moves = st.tuples(st.just("move"), _topics, st.integers(0, 1), st.floats(0, 1))
_passing = st.tuples(st.just("pass"), st.sampled_from([100, 3000, 70_000]))
_ends = st.tuples(st.sampled_from(["kill", "restart"]))
_crashes = st.tuples(st.just("crash"), st.integers(0, 1 << 20))
_cuts = st.tuples(st.just("cut"), st.floats(0, 1))
_torn_cuts = st.tuples(st.just("torn cut"), st.floats(0, 1), st.integers(1, 12), st.integers(0, 1 << 20))
_retention = st.tuples(st.just("retention"))
_histories = st.lists(
    st.one_of(
        _puts,
        _puts,
        _puts,
        _batches,
        _inner,
        _kafka,
        _prepared,
        _whole,
        _whole,
        _mapped,
        _transactional,
        _transactional,
        _markers,
        _moves,
        _moves,
        _passing,
        _ends,
        _crashes,
        _cuts,
        _torn_cuts,
        _retention,
    ),
    max_size=40,
)


def _compacting(store: MessageStore, disk: CrashDisk, clock: ManualClock) -> None:
    store.compact_with(
        Compaction(
            options(),
            disk=disk,
            clock=clock,
            worker=InlineWorker(),
            root="/store",
            source=store,
            topics=lambda: [("compacted", 2)],
            is_compacted=lambda topic: topic == "compacted",
        )
    )


class History:
    """A store, and where its records end."""

    def __init__(self, **changes: Any) -> None:
        clock = ManualClock()
        self.viewed = Viewed(CrashDisk(millis=clock.millis), clock, _compacting, **changes)
        self.ends = [0]

    @property
    def store(self) -> MessageStore:
        return self.viewed.store

    def do(self, name: str, *given: Any) -> None:
        """Do one step of a history."""
        getattr(self, "_" + name.replace(" ", "_"))(*given)
        self.ends = [end for end in self.ends if end <= self.store.max_physical_offset]

    def _stored(self) -> None:
        self.store.dispatch()
        self.ends.append(self.store.max_physical_offset)

    def _put(self, topic: str, queue_id: int, properties: dict[str, str], key: str) -> None:
        self.store.put(message(topic, queue_id, key.encode(), {**properties, "KEYS": key}))
        self._stored()

    def _batch(self, count: int, is_keyed: bool) -> None:
        key = b"UNIQ_KEY\0017F00000100002A139F5545CA0EDB0000\2" if is_keyed else b"KEYS\1k\2HOLD\1a\2"
        self.store.put_batch(message(properties={}), batch(*[b"x"] * count, properties=key))
        self._stored()

    def _inner(self, count: int) -> None:
        body = batch(*[b"x"] * count)
        self.store.put_inner_batch(message("batched", 0, body, {}))
        self._stored()

    def _whole(self, producer_id: int, epoch: int, count: int) -> None:
        put_whole(self.store, ProducerBatch(producer_id, epoch, len(self.ends), count))
        self._stored()

    def _mapped(self, producer_id: int, epoch: int, count: int) -> None:
        put_mapped(self.store, ProducerBatch(producer_id, epoch, len(self.ends), count))
        self._stored()

    def _transactional(self, producer_id: int, count: int) -> None:
        put_whole(self.store, ProducerBatch(producer_id, 0, len(self.ends), count, is_transactional=True))
        self._stored()

    def _marker(self, producer_id: int, is_commit: bool) -> None:
        put_marker(self.store, producer_id, is_commit)
        self._stored()

    def _kafka(self, count: int) -> None:
        put_kafka(self.store, kafka_batch(*[b"x"] * count))
        self._stored()

    def _move(self, topic: str, queue_id: int, part: float) -> None:
        store = self.store
        begin, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        store.move_start(topic, queue_id, begin + round(part * (end - begin)))
        self._stored()

    def _prepared(self) -> None:
        self.store.put(message(sys_flag=SysFlag.TRANSACTION_PREPARED))
        self._stored()

    def _pass(self, millis: int) -> None:
        self.viewed.clock.advance(millis)
        self.store.tick()
        for _ in range(3):
            self.viewed.compaction.tick()

    def _kill(self) -> None:
        self.viewed = self.viewed.again(self.viewed.disk.kill())

    def _restart(self) -> None:
        self.store.stop()
        self.viewed = self.viewed.again()

    def _crash(self, seed: int) -> None:
        self.viewed = self.viewed.again(self.viewed.disk.crash(seed))

    def _end(self, part: float) -> int:
        ends = [end for end in self.ends if end >= self.store.min_physical_offset]
        return ends[int(part * (len(ends) - 1))] if ends else self.store.max_physical_offset

    def _cut(self, part: float) -> None:
        assert self.store.cut(self._end(part))

    def _torn_cut(self, part: float, step: int, seed: int) -> None:
        disk = self.viewed.disk
        disk.cut_at = disk.operations + step
        with contextlib.suppress(PowerCut):
            self.store.cut(self._end(part))
        self.viewed = self.viewed.again(disk.crash(seed))

    def _retention(self) -> None:
        self.store.admin.delete_expired_files()
        for _ in range(3):
            self._pass(100 * 3_600_000)


@settings(deadline=None)
@given(
    history=_histories,
    flush=st.sampled_from([FlushDiskType.SYNC_FLUSH, FlushDiskType.ASYNC_FLUSH]),
    lmq=st.sampled_from([LMQ, {}]),
)
def test_every_view_equals_its_rebuild_after_any_history(
    history: list[tuple[Any, ...]], flush: FlushDiskType, lmq: dict[str, bool]
) -> None:
    living = History(flush_disk_type=flush, **lmq)
    for step in history:
        living.do(*step)
    living.viewed.check()


def test_view_is_rebuilt_by_a_clean_start_too() -> None:
    history = History()
    history.do("put", "orders", 0, {HOLD: "a"}, "k1")
    history.do("put", "orders", 0, {HOLD: "b"}, "k1")
    history.do("put", "orders", 0, {RELEASE: "a"}, "k1")
    before = history.viewed.holds.state(0)
    history.do("restart")
    assert history.viewed.report.clean and history.viewed.report.dispatched == 0
    assert history.viewed.holds.state(0) == before == {("orders", 0): {"b": 1}}


# Limits of reading.


@pytest.mark.parametrize("topic", ["orders", "batched", "compacted"])
def test_reader_stops_at_the_limit_of_a_view(topic: str) -> None:
    history = History()
    store = history.store
    for properties in ({}, {HOLD: "a"}, {}):
        history.do("put", topic, 0, properties, "k1")
    assert [one.queue_offset for one in records(store.get(topic, 0, 0, 32))] == [0]
    held = store.get(topic, 0, 1, 32)
    assert (held.status, held.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 1)
    if topic != "compacted":
        beyond = store.get(topic, 0, 2, 32)
        assert (beyond.status, beyond.next_offset) == (GetStatus.OFFSET_OVERFLOW_ONE, 2)
    assert (store.max_offset(topic, 0), store.readable_end(topic, 0)) == (3, 1)
    one = store.readable_bytes(topic, 0, 0, 1)
    assert one == store.readable_bytes(topic, 0, 0, 1 << 30) > store.readable_bytes(topic, 0, 1, 1) == 0
    history.do("put", topic, 0, {RELEASE: "a"}, "k1")
    assert [one.queue_offset for one in drain(store, topic, 0)] == [0, 1, 2, 3]


@pytest.mark.parametrize("accept", [None, frozenset([0, 116]), lambda properties: True])
def test_limit_applies_to_every_kind_of_choice(accept: Any) -> None:
    history = History()
    for properties in ({"TAGS": "t"}, {"TAGS": "t"}, {HOLD: "a"}, {"TAGS": "t"}):
        history.do("put", "orders", 1, properties, "k1")
    for may_wait in (True, False):
        found = history.store.get("orders", 1, 0, 32, accept=accept, may_wait=may_wait)
        assert (found.next_offset, list(found.queue_offsets)) == (2, [0, 1])


def test_view_that_reads_properties_gets_each_message_of_a_batch_and_of_a_replica() -> None:
    history = History()
    elements = batch(b"1", b"2", properties=b"UNIQ_KEY\0017F00000100002A139F5545CA0EDB0000\2HOLD\1a\2")
    history.store.put_batch(message(properties={}), elements)
    history.store.dispatch()
    assert history.viewed.holds.state(0) == {("orders", 0): {"a": 0}}
    replica = History()
    replica.store.raw.append(0, history.store.raw.read(0, history.store.max_physical_offset))
    replica.store.dispatch()
    assert replica.viewed.holds.state(0) == history.viewed.holds.state(0)
    replica.viewed.check()
