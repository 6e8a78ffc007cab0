"""A connection by hand: one request after the other, in the version that the scenario names.

Requests and answers are plain values: a struct is a dictionary with the field names of the codec.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mqgateway.engine.record_batches.batches import Batch, batches
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.apis import APIS, Api
from mqgateway.gateway.kafka.codec.headers import (
    RequestHeader,
    read_response_header,
    response_header_version,
    write_request_header,
)
from mqgateway.gateway.kafka.codec.plans import decode, encode
from mqgateway.gateway.kafka.codec.schema import Message, covers

ANSWER_SECONDS = 20.0
CLIENT_ID = "compat"
CORRELATION_ID = 7
BY_NAME: Mapping[str, Api] = {api.name: api for api in APIS.values()}

Value = Any
"""Numbers, texts, bytes, lists of values and dictionaries of values."""


class Connection:
    """One connection; each request waits for its answer."""

    def __init__(self, address: str, seconds: float = ANSWER_SECONDS) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), seconds)

    def ask(self, name: str, version: int, **fields: Value) -> dict[str, Value]:
        """Send a request and return its answer; `ConnectionError` if the server closes instead."""
        self.send(framed(request(name, version, **fields)))
        return answer_of(name, version, self.receive())

    def api_versions(self) -> dict[int, tuple[int, int]]:
        """Return the versions that the server announces, by API key."""
        answer = self.ask("ApiVersions", 0)
        return {row["api_key"]: (row["min_version"], row["max_version"]) for row in answer["api_keys"]}

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """Return the next frame without its size; `ConnectionError` at the end of the connection."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError(f"closed after {len(data)} of {size} bytes")
            data += part
        return bytes(data)


def request(name: str, version: int, **fields: Value) -> bytes:
    """Return a request with its header, without its size."""
    api = BY_NAME[name]
    out = bytearray()
    write_request_header(out, RequestHeader(api.key, version, CORRELATION_ID, CLIENT_ID))
    return bytes(out + encode(built(api.request, fields), version))


def framed(data: bytes) -> bytes:
    """Return bytes behind their size."""
    return struct.pack(">i", len(data)) + data


def answer_of(name: str, version: int, data: bytes) -> dict[str, Value]:
    """Return the fields of an answer to `request`, which must have nothing behind its last field."""
    api = BY_NAME[name]
    reader = Reader(data)
    assert read_response_header(reader, api.key, version) == CORRELATION_ID
    body = data[4 + response_header_version(api.key, version) :]
    fields = shape(decode(api.response, body, version), version)
    assert isinstance(fields, dict)
    return fields


def built(of: type[Message], fields: Mapping[str, Value]) -> Message:
    """Return a message with these fields; the others have their defaults."""
    kinds = {field.name: field.of for field in of.FIELDS}
    return of(**{name: _built(kinds[name], value) for name, value in fields.items()})


def _built(of: type[Message] | None, value: Value) -> Value:
    if of is None or value is None:
        return value
    return built(of, value) if isinstance(value, Mapping) else [built(of, one) for one in value]


def shape(value: Value, version: int) -> Value:
    """Return a message as a dictionary of the fields that the version has."""
    if isinstance(value, Message):
        return {
            field.name: shape(getattr(value, field.name), version)
            for field in value.FIELDS
            if covers(field.versions, version)
        }
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [shape(one, version) for one in value]
    return value


def wait_for_coordinator(address: str) -> None:
    """Wait until groups have a coordinator: Apache Kafka makes one when it is first asked for it."""
    with Connection(address) as connection:
        for _ in range(100):
            found = connection.ask("FindCoordinator", 3, key="no-group", key_type=0)
            asked = connection.ask("OffsetFetch", 5, group_id="no-group", topics=None)
            if found["error_code"] == asked["error_code"] == 0:
                return
            time.sleep(0.1)
    raise AssertionError("groups have no coordinator")


def create_topic(address: str, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic and wait until all its partitions are led; names of settings have `_` for `.`.

    Some clients write records twice if a partition of several in one request has no leader yet.
    """
    settings = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": settings}
    asked = [{"partition_index": one, "timestamp": -1} for one in range(partitions)]
    with Connection(address) as connection:
        answer = connection.ask("CreateTopics", 7, topics=[topic], timeout_ms=20_000)
        (made,) = answer["topics"]
        assert made["error_code"] == 0, made
        for _ in range(100):
            answer = connection.ask(
                "ListOffsets", 5, replica_id=-1, topics=[{"name": name, "partitions": asked}]
            )
            if not any(one["error_code"] for one in answer["topics"][0]["partitions"]):
                return
            time.sleep(0.1)
    raise AssertionError(f"{name} has partitions without a leader")


def delete_topic(address: str, name: str) -> None:
    """Delete a topic, so that its partitions are no burden to what comes next."""
    with Connection(address) as connection:
        answer = connection.ask("DeleteTopics", 5, topic_names=[name], timeout_ms=20_000)
    (deleted,) = answer["responses"]
    assert deleted["error_code"] == 0, deleted


def end_offset(address: str, topic: str, partition: int = 0) -> int:
    """Return the offset behind the last record of a partition."""
    asked = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": -1}
    with Connection(address) as connection:
        answer = connection.ask(
            "ListOffsets", 5, replica_id=-1, topics=[{"name": topic, "partitions": [asked]}]
        )
    (one,) = answer["topics"][0]["partitions"]
    assert one["error_code"] == 0, one
    return int(one["offset"])


def stored_batches(address: str, topic: str, partition: int = 0) -> list[Batch]:
    """Return the batches of a partition as Fetch gives them, from the first offset on."""
    found: list[Batch] = []
    offset, end = 0, end_offset(address, topic, partition)
    with Connection(address) as connection:
        while offset < end:
            asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 24}
            answer = connection.ask(
                "Fetch",
                11,
                replica_id=-1,
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=1 << 24,
                topics=[{"topic": topic, "partitions": [asked]}],
            )
            (one,) = answer["responses"][0]["partitions"]
            assert one["error_code"] == 0, one
            received = list(batches(one["records"] or b""))
            assert received, f"nothing at offset {offset} of {end}"
            found += received
            offset = received[-1].last_offset + 1
    return found
