"""Requests that no client sends, and what a server does about each."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from compat_tests.kafka.support.wire import (
    BY_NAME,
    Connection,
    Value,
    answer_of,
    framed,
    request,
)
from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.records import Record

CLOSED = "closed"
SILENT = "silent"
QUIET_SECONDS = 3.0
NOBODY = "no-such-topic"


class Odd(NamedTuple):
    """A request: the bytes to send, and the API and version by which an answer is read."""

    title: str
    data: bytes
    name: str = "ApiVersions"
    version: int = 0


def header(key: int, version: int) -> bytes:
    """Return a header of version 1."""
    return struct.pack(">hhih", key, version, 7, 1) + b"c"


def frames() -> Iterator[Odd]:
    """Yield frames that lie about their size, or hold no request."""
    yield Odd("negative size", struct.pack(">i", -1))
    yield Odd("size above the limit", struct.pack(">i", 100 * 1024 * 1024 + 1))
    yield Odd("no header", framed(b""))
    yield Odd("half a header", framed(b"\0\x12\0"))
    yield Odd("client id beyond the frame", framed(struct.pack(">hhih", 18, 0, 7, 500)))
    yield Odd("negative client id", framed(struct.pack(">hhih", 18, 0, 7, -2)))
    for key in (-1, 93, 999):
        yield Odd(f"unknown key {key}", framed(header(key, 0)))
    for key in (4, 5, 6, 7, 52, 56, 62):
        yield Odd(f"key {key} of no broker", framed(header(key, 0)))
    for version in (-1, 6, 9, 32767):
        yield Odd(f"ApiVersions {version}", framed(header(18, version)))
    bad_name = request("ApiVersions", 3, client_software_name="no name!", client_software_version="1")
    yield Odd("bad software name", framed(bad_name), "ApiVersions", 3)
    yield Odd("no body", framed(header(3, 1)))
    for name, version in (("Metadata", 1), ("Metadata", 12), ("FindCoordinator", 3)):
        yield Odd(f"bytes behind {name} {version}", framed(request(name, version) + b"more"), name, version)
    no_groups = request("ListGroups", 4, states_filter=["Dead"])  # other scenarios have groups
    yield Odd("bytes behind ListGroups 4", framed(no_groups + b"more"), "ListGroups", 4)


def versions() -> Iterator[Odd]:
    """Yield requests of every API in the version behind the last one, and before the first one."""
    for name, api in sorted(BY_NAME.items()):
        if name != "ApiVersions":
            for version in (api.oldest - 1, api.newest + 1):
                yield Odd(f"{name} {version}", framed(header(api.key, version) + bytes(40)))


def batch(**options: Any) -> bytearray:
    """Return a batch of one record."""
    return build_batch([Record(None, b"x")], base_timestamp=1_700_000_000_000, **options)


def broken_batches() -> Iterator[tuple[str, bytes]]:
    """Yield contents of a partition that no producer sends."""
    good = batch()
    yield "no batch", b""
    yield "two batches", bytes(good + good)
    yield "cut short", bytes(good[:-1])
    for title, at, value in (
        ("checksum", 17, 1),
        ("format 1", 16, 1),
        ("format 3", 16, 3),
        ("base offset", 7, 5),
        ("count", 60, 9),
    ):
        broken = bytearray(good)
        broken[at] = value
        yield title, bytes(broken)
    yield "control batch", bytes(batch(flags=1 << 5))
    yield "producer without sequence", bytes(batch(producer_id=5, producer_epoch=0))


def produce(topic: str, title: str, records: bytes, acks: int = 1, partition: int = 0) -> Odd:
    """Return a request that produces to one partition."""
    data = {"name": topic, "partition_data": [{"index": partition, "records": records}]}
    body = request("Produce", 9, acks=acks, timeout_ms=5000, topic_data=[data])
    return Odd(f"produce: {title}", framed(body), "Produce", 9)


def contents(topic: str) -> Iterator[Odd]:
    """Yield requests with contents that are refused, about a topic of one partition."""
    for title, records in broken_batches():
        yield produce(topic, title, records)
    yield produce(topic, "acks 2", bytes(batch()), 2)
    yield produce(topic, "unknown partition", bytes(batch()), 1, 9)
    yield produce(NOBODY, "unknown topic", bytes(batch()))
    yield asked("Metadata", 12, topics=[{"name": NOBODY}], allow_auto_topic_creation=False)
    yield asked("Metadata", 12, topics=[{"name": "not a name"}])
    yield asked("ListOffsets", 7, replica_id=-1, topics=places(topic, "timestamp", -1, -2, 99, -9, part=9))
    yield asked("OffsetForLeaderEpoch", 4, replica_id=-1, topics=epochs(topic))
    yield asked("DeleteTopics", 5, topic_names=[NOBODY], timeout_ms=5000)
    for group, member in (("", ""), ("no-group", "nobody")):
        yield asked("Heartbeat", 4, group_id=group, generation_id=1, member_id=member)
        yield asked("LeaveGroup", 2, group_id=group, member_id=member)
        yield asked("SyncGroup", 3, group_id=group, generation_id=1, member_id=member)
        join = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "consumer"}
        yield asked("JoinGroup", 5, group_id=group, member_id=member, **join)
    yield asked("JoinGroup", 5, group_id="a", session_timeout_ms=1, protocol_type="consumer")
    yield asked("DescribeGroups", 5, groups=["no-group", ""])
    yield asked("DeleteGroups", 2, groups_names=["no-group"])
    yield asked("OffsetDelete", 0, group_id="no-group")
    yield asked("OffsetFetch", 5, group_id="no-group", topics=[{"name": topic, "partition_indexes": [0, 7]}])
    for pattern in ("(", "a**", "[b-a]", "(no-id)+"):
        yield asked("ListTransactions", 2, state_filters=["Odd"], transactional_id_pattern=pattern)
    yield from consumer_groups(topic)


def consumer_groups(topic: str) -> Iterator[Odd]:
    """Yield requests of consumer groups that are refused."""
    join = {
        "group_id": "no-group",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 5000,
        "subscribed_topic_names": [topic],
        "topic_partitions": [],
    }
    missing = ("rebalance_timeout_ms", "subscribed_topic_names", "topic_partitions")
    unset = ({**join, name: -1 if name == missing[0] else None} for name in missing)
    empty = ({**join, name: ""} for name in ("group_id", "member_id", "instance_id", "rack_id"))
    epochs = ({**join, "member_epoch": epoch} for epoch in (-3, -2, -1, 1))
    others = ({**join, "server_assignor": "none"}, {**join, "subscribed_topic_regex": "("})
    for fields in (*unset, *empty, *epochs, *others):
        yield asked("ConsumerGroupHeartbeat", 1, **fields)
    yield asked("ConsumerGroupDescribe", 1, group_ids=["no-group", ""])


def asked(name: str, version: int, **fields: Value) -> Odd:
    """Return a request that is well formed."""
    return Odd(f"{name} {fields}", framed(request(name, version, **fields)), name, version)


def places(topic: str, field: str, *values: int, part: int) -> list[Value]:
    """Return the partition 0 with each value in turn, and one that does not exist."""
    rows = [{"partition_index": 0, field: value} for value in values]
    return [{"name": topic, "partitions": [*rows, {"partition_index": part, field: values[0]}]}]


def epochs(topic: str) -> list[Value]:
    """Return partitions with leader epochs that exist and do not."""
    rows = [{"partition": 0, "leader_epoch": epoch} for epoch in (0, 5)]
    return [{"topic": topic, "partitions": [*rows, {"partition": 9, "leader_epoch": 0}]}]


def outcome(address: str, odd: Odd) -> Value:
    """Return the answer of a server without what is its own, or that it closed or said nothing."""
    with Connection(address, QUIET_SECONDS) as connection:
        connection.send(odd.data)
        try:
            data = connection.receive()
        except TimeoutError:
            return SILENT
        except ConnectionError:
            return CLOSED
    try:
        return comparable(answer_of(odd.name, odd.version, data))
    except Exception:
        return data.hex()


OWN = frozenset(
    {"throttle_time_ms", "cluster_id", "topic_id", "host", "port", "node_id", "brokers", "controller_id"}
    | {"leader_id", "replica_nodes", "isr_nodes", "member_id", "supported_features", "finalized_features"}
    | {"finalized_features_epoch", "api_keys"}
)
"""Fields in which two servers may differ."""


def comparable(value: Value) -> Value:
    """Return a value without the fields in which two servers may differ."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if name not in OWN}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    return value
