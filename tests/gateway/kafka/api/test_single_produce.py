"""Produce requests that repeat an earlier one have the outcome that they have when each is decoded."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import pack_host
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.record_batches.batches import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.kafka.api.single_produce import KEY_MAX, SingleProduce
from mqgateway.gateway.kafka.call import Address
from mqgateway.gateway.kafka.codec.apis import PRODUCE
from mqgateway.gateway.kafka.codec.headers import RequestHeader, write_request_header
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.plans import encode_into
from mqgateway.gateway.kafka.codec.produce import TOPIC_ID_SINCE
from mqgateway.gateway.kafka.dispatch import KafkaDispatcher, UnservableRequest
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.service import KafkaService
from tests.support.gateway.broker.helpers import InlineRunner
from tests.support.gateway.broker.operating import OperatedBroker

KAFKA = {"queue.type": "BatchCQ", "message.format": "kafka"}
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"kafka.cleanup.policy": "compact"},
    "small": {"kafka.max.message.bytes": "200"},
    "recent": {"kafka.message.timestamp.before.max.ms": "1000"},
    "timed": {"kafka.message.timestamp.type": "LogAppendTime"},
    "zipped": {"kafka.compression.type": "gzip"},
    "replicated": {"kafka.min.insync.replicas": "2"},
}
UNIQUE_KEY = re.compile(rb"(?<=UNIQ_KEY\x01)[0-9A-F]{32}")
UNKNOWN = "unknown"
ROCKETMQ = "Orders"
HOST = Address("10.0.0.1", 9092)


class Connection:
    """A client's connection, as far as operations need it."""

    address = "10.0.0.7:5000"
    host_bytes = pack_host("10.0.0.7", 5000)
    is_open = True

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def close(self, reason: str) -> None:
        """Keep the reason."""
        self.reasons.append(reason)


class OpenTurn:
    """A turn that does not end by itself."""

    is_open = True


class Side:
    """A broker whose producers repeat requests, or are taken not to. `repeats` counts those that did."""

    def __init__(self, *, repeats: bool, **given: Any) -> None:
        self.operated = OperatedBroker(**given)
        self.broker, self.clock = self.operated.broker, self.operated.memory.clock
        for name, attributes in TOPICS.items():
            self.put(name, {**KAFKA, **attributes})
        self.put(ROCKETMQ, {})
        operations = Operations(self.broker, InlineRunner(self.operated.memory), turn=OpenTurn())
        self.service = KafkaService(operations, Node(operations, "kafka.example", 9092))
        self.repeats = 0
        self.noted: list[str] = []
        self.connection = Connection()
        self.dispatcher = KafkaDispatcher(
            operations,
            self.service.handlers,
            seconds=self.clock.monotonic,
            noted=lambda api, seconds: self.noted.append(api),
            repeated=self if repeats else None,
        )

    def put(self, name: str, attributes: dict[str, str], perm: int = PERM_READ | PERM_WRITE) -> None:
        """Put the configuration of a topic."""
        self.broker.tables.topics.put(TopicConfig(name, 2, 2, perm, attributes=attributes))

    def dispatch(self, frame: bytes, connection: Any) -> Any:
        """See `Repeated`."""
        repeated = self.service.repeated
        assert repeated is not None
        reply = repeated.dispatch(frame, connection)
        self.repeats += reply is not None
        return reply

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic."""
        topic = self.service.topics.find(name)
        return b"\1" * 16 if topic is None else topic.id

    def send(self, frame: bytes) -> object:
        """Return the answer to a request, None for none, or why it ends its connection."""
        try:
            _, reply, _ = self.dispatcher.dispatch(frame, cast(Any, self.connection), HOST)
        except UnservableRequest as refused:
            return str(refused)
        found: list[Any] = []
        if isinstance(reply, Deferred):
            reply.addCallback(found.append)
        else:
            found.append(reply)
        self.broker.store.dispatch()
        [reply] = found
        return None if reply is None else b"".join(map(bytes, reply))

    def stored(self) -> bytes:
        """Return the log, without the keys that messages for RocketMQ's clients get."""
        log = self.broker.store._log
        data = log.read(0, log.end_offset) if log.end_offset else b""
        return UNIQUE_KEY.sub(b"", data or b"")


def records(count: int, *, key: bytes | None = b"k", delta: int = 0, size: int = 1) -> list[Record]:
    """Return records."""
    return [Record(key, b"v" * size, (), delta, number) for number in range(count)]


def frame(
    data: bytes,
    *,
    topic: str = "plain",
    topic_id: bytes = b"\1" * 16,
    partition: int = 0,
    version: int = 12,
    acks: int = 1,
    client_id: str | None = "me",
    transactional_id: str | None = None,
    number: int = 1,
) -> bytes:
    """Return a request with one batch."""
    one = PartitionProduceData(partition, data)
    request = ProduceRequest(transactional_id, acks, 1000, [TopicProduceData(topic, topic_id, [one])])
    out = bytearray()
    write_request_header(out, RequestHeader(PRODUCE, version, number, client_id))
    encode_into(out, request, version)
    return bytes(out)


@st.composite
def batch(draw: st.DrawFn, now: int) -> bytes:
    """Return a batch: most are good, some are none."""
    deltas = st.sampled_from([0, 0, 0, 5, -5000, 1 << 40])
    keys = st.sampled_from([b"k", b"k", b"", None])
    sizes = st.sampled_from([1, 1, 200])
    given_records = records(draw(st.integers(1, 3)), key=draw(keys), delta=draw(deltas), size=draw(sizes))
    producer = draw(st.sampled_from([-1, -1, 7, 7, 7]))
    has_producer = producer >= 0
    flags = st.sampled_from([0] * 9 + [CONTROL, TRANSACTIONAL, LOG_APPEND_TIME, 64])
    data = build_batch(
        given_records,
        base_timestamp=draw(st.sampled_from([now, now, -1, 0])),
        compression=draw(st.sampled_from([CompressionType.NONE] * 5 + [CompressionType.GZIP])),
        flags=draw(flags),
        base_offset=draw(st.sampled_from([0] * 9 + [1])),
        producer_id=producer,
        producer_epoch=draw(st.sampled_from([0, 0, 0, 1, -1])) if has_producer else -1,
        base_sequence=draw(st.sampled_from([0, 1, 2, 3, -1])) if has_producer else -1,
    )
    return damaged(draw, data)


def damaged(draw: st.DrawFn, data: bytes | bytearray) -> bytes:
    """Return bytes, few of them changed or truncated."""
    kind = draw(st.sampled_from(["good"] * 8 + ["byte", "end", "more"]))
    if kind == "byte":
        changed = bytearray(data)
        changed[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
        return bytes(changed)
    if kind == "end":
        return bytes(data[: draw(st.integers(0, len(data)))])
    return bytes(data) + (b"\0" if kind == "more" else b"")


@st.composite
def request(draw: st.DrawFn, topics: dict[str, bytes], now: int) -> bytes:
    """Return a request: many are equal but for their batch, few cannot be served or decoded."""
    version = draw(st.sampled_from([3, 8, 9, 12, 12, 13, 13, 13, 14]))
    topic = draw(st.sampled_from([*["plain"] * 5, *topics]))
    data = frame(
        draw(batch(now)),
        topic=topic,
        topic_id=topics[topic],
        partition=draw(st.sampled_from([0, 0, 0, 1, 2])),
        version=min(version, 13),
        acks=draw(st.sampled_from([1, 1, -1, -1, 0, 2])),
        client_id=draw(st.sampled_from(["me", "me", "me", "", None])),
        transactional_id=draw(st.sampled_from([None] * 9 + ["t"])),
        number=draw(st.integers(0, (1 << 31) - 1)),
    )
    if version > TOPIC_ID_SINCE:
        data = data[:3] + bytes((version,)) + data[4:]
    return damaged(draw, data)


@given(st.data())
def test_sequences_of_requests_have_the_same_answers_and_leave_the_same_log(data: st.DataObject) -> None:
    repeating, decoding = Side(repeats=True), Side(repeats=False)
    sides = repeating, decoding
    topics = {name: repeating.topic_id(name) for name in (*TOPICS, ROCKETMQ, UNKNOWN)}
    for _ in range(data.draw(st.integers(1, 8))):
        step = data.draw(st.sampled_from(["send"] * 9 + ["pass time", "change", "forbid"]))
        if step == "send":
            sent = data.draw(request(topics, repeating.clock.millis()))
            answers = [side.send(sent) for side in sides]
            assert answers[0] == answers[1]
        for side in sides:
            if step == "pass time":
                side.clock.advance(2000)
            elif step == "change":
                side.put("plain", {**KAFKA, "kafka.max.message.bytes": "100"})
            elif step == "forbid":
                side.put("plain", KAFKA, PERM_READ)
    assert repeating.stored() == decoding.stored()
    assert repeating.noted == decoding.noted
    assert repeating.connection.reasons == decoding.connection.reasons
    puts = [side.broker.stats.put_total for side in sides]
    assert puts[0] == puts[1]


def good(side: Side, sequence: int = -1, **fields: Any) -> bytes:
    """Return a request with a batch that is good."""
    producer, epoch = (7, 0) if sequence >= 0 else (-1, -1)
    data = build_batch(
        records(2),
        base_timestamp=side.clock.millis(),
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return frame(bytes(data), **fields)


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(9, 14))
def test_batches_in_flexible_versions_are_appended_without_decoding(version: int, acks: int) -> None:
    repeating, decoding = Side(repeats=True), Side(repeats=False)
    topic_id = repeating.topic_id("plain")
    for number in range(3):
        sent = good(repeating, 2 * number, version=version, acks=acks, topic_id=topic_id, number=number)
        assert repeating.send(sent) == decoding.send(sent)
        assert repeating.repeats == number + 1
    assert repeating.stored() == decoding.stored() != b""


def test_known_request_is_resolved_again_after_a_change_of_its_topic() -> None:
    repeating, decoding = Side(repeats=True), Side(repeats=False)
    for attributes in ({}, {"kafka.max.message.bytes": "1"}, {"kafka.compression.type": "gzip"}):
        for side in (repeating, decoding):
            side.put("plain", {**KAFKA, **attributes})
        sent = good(repeating)
        assert repeating.send(sent) == decoding.send(sent)
    assert repeating.repeats == 1


def waiting(side: Side) -> list[bytes]:
    """Send a request whose answer waits for the disk, and return what becomes its answers."""
    _, reply, _ = side.dispatcher.dispatch(good(side, acks=-1), cast(Any, side.connection), HOST)
    assert isinstance(reply, Deferred) and not reply.called and not side.noted
    found: list[bytes] = []

    def keep(chunks: Any) -> None:
        found.append(b"".join(map(bytes, chunks)))

    reply.addCallback(keep)
    return found


SYNC = {"flush_disk_type": FlushDiskType.SYNC_FLUSH}


def test_answer_waits_until_the_batch_is_on_disk() -> None:
    sides = Side(repeats=True, store_options=SYNC), Side(repeats=False, store_options=SYNC)
    answers = [waiting(side) for side in sides]
    for side in sides:
        side.broker.store.dispatch()
        assert side.noted == ["Produce"]
    assert answers[0] == answers[1] != []
    assert sides[0].repeats == 1


def test_answer_names_the_error_of_a_batch_that_did_not_become_safe() -> None:
    sides = Side(repeats=True, store_options=SYNC), Side(repeats=False, store_options=SYNC)
    answers = [waiting(side) for side in sides]
    for side in sides:
        side.broker.role.become(RoleKind.FENCED)
        side.broker.role.become(RoleKind.MASTER)
        side.broker.store.dispatch()
    assert answers[0] == answers[1] != []
    assert b"role of this broker" in answers[0][0]


@pytest.mark.parametrize("kind", [RoleKind.SLAVE, RoleKind.FENCED])
def test_broker_that_takes_no_writes_refuses_a_known_request(kind: RoleKind) -> None:
    sides = Side(repeats=True), Side(repeats=False)
    for side in sides:
        side.send(good(side))
        side.broker.role.become(kind, broker_id=1)
        side.broker.store.gate = closed_gate(kind)
    assert sides[0].send(good(sides[0])) == sides[1].send(good(sides[1]))
    assert sides[0].repeats == 1


def test_requests_with_long_keys_are_not_kept() -> None:
    side = Side(repeats=True)
    assert side.send(good(side, client_id="x" * KEY_MAX)) is not None
    assert side.repeats == 0


def test_number_of_known_requests_is_limited() -> None:
    side = Side(repeats=True)
    repeated = side.service.repeated
    assert isinstance(repeated, SingleProduce)
    for number in range(1100):
        side.send(good(side, client_id=str(number)))
    assert side.repeats == 1100 and len(repeated._known) <= 1000
