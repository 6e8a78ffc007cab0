"""Kafka requests that are as much work as a client can make them, and how long each holds the event loop.

    python -m tests.fuzz.kafka_holds              the table of this checkout
    python -m tests.fuzz.kafka_holds --only 3,19  the same of some API keys

Each list of a request is filled in turn, with equal entries and with different ones; each text and each bytes
field is made long. `holds` explains what a hold is, and how it is measured.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from typing import Any

from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.reader import ELEMENTS_MAX
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.headers import RequestHeader, write_request_header
from mqgateway.gateway.kafka.codec.plans import encode_into
from mqgateway.gateway.kafka.codec.schema import Field, Message, covers
from mqgateway.gateway.kafka.ids import named_id
from tests.fuzz.holds import BOUND_MILLIS, Hold, longest
from tests.fuzz.test_hostile_requests import VICTIM

COUNTS = (1000, 10_000, ELEMENTS_MAX - 100)
"""Entries of a list: many, very many, and nearly as many as a request may have."""
WORST_COUNT = 10_000
TEXT_SIZE = 32_000
BYTES_SIZE = 8_000_000

_SIZE = struct.Struct(">i")
_BATCH = bytes(build_batch([Record(b"k", b"v", (), 0, 0)], base_timestamp=1_000_000))
_TOPIC_ID = named_id(VICTIM)
SOUND: dict[str, Any] = {
    "acks": 1,
    "committed_offset": 1,
    "count": 9,
    "group_id": "g",
    "groups": "g",
    "groups_names": "g",
    "num_partitions": 1,
    "partition_max_bytes": 1 << 20,
    "max_bytes": 1 << 20,
    "records": _BATCH,
    "replica_id": -1,
    "replication_factor": 1,
    "resource_name": VICTIM,
    "resource_type": 2,
    "response_partition_limit": 2000,
    "session_epoch": -1,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "timestamp": -1,
    "topic": VICTIM,
    "topic_id": _TOPIC_ID,
    "topic_name": VICTIM,
    "transactional_id": None,
    "configuration_keys": "retention.ms",
    "value": "1000",
    "protocol_type": "consumer",
}
"""Values of fields by their names, where 0 and the empty text are not what a client sends."""
NAMES = {"AlterConfigs": "retention.ms", "IncrementalAlterConfigs": "retention.ms", "JoinGroup": "range"}
"""The values of fields called `name`, where they are not topics."""


class Filled:
    """A request of one API with one field made large.

    `path` names the field, `count` is the number of entries of a list. Entries differ if `is_numbered`.
    """

    def __init__(self, api: str, version: int, path: tuple[str, ...], count: int, is_numbered: bool) -> None:
        self._api = api
        self._version = version
        self._path = path
        self._count = count
        self._is_numbered = is_numbered

    def message(self, of: type[Message], path: tuple[str, ...] = (), number: int = 0) -> Message:
        """Return a message; `number` tells it from other entries of its list."""
        return of(
            **{
                field.name: self._value(field, (*path, field.name), number)
                for field in of.FIELDS
                if covers(field.versions, self._version)
                and field.name not in ("cluster_id", "replica_state", "cursor")
            }
        )

    def _value(self, field: Field, path: tuple[str, ...], number: int) -> Any:
        kind = field.kind.removeprefix("[]")
        if kind == field.kind:
            return self._single(kind, field, path, number)
        count = self._count if path == self._path else 1
        first = 0 if count == 1 else 1
        return tuple(self._single(kind, field, path, first + entry) for entry in range(count))

    def _single(self, kind: str, field: Field, path: tuple[str, ...], number: int) -> Any:
        if kind == "struct":
            assert field.of is not None
            return self.message(field.of, path, number)
        value = SOUND.get(field.name, VICTIM if field.name == "name" else None)
        if field.name == "name":
            value = NAMES.get(self._api, value)
        if field.name == "transactional_id":
            return None if covers(field.nullable, self._version) else ""
        if path == self._path:
            if kind == "string" and not field.kind.startswith("[]"):
                return "x" * TEXT_SIZE
            if kind in ("bytes", "records"):
                return bytes(BYTES_SIZE)
        suffix = number if self._is_numbered else 0
        if kind == "string":
            return f"{value or ''}{suffix or ''}"
        if kind in ("bytes", "records"):
            return value or b""
        if kind == "uuid":
            return suffix.to_bytes(16, "big") if suffix else value or bytes(16)
        if kind == "bool":
            return False
        if kind.startswith("int") and suffix and value is None:
            return suffix % 0x7F if kind == "int8" else suffix % 0x7FFF if kind == "int16" else suffix
        return value if isinstance(value, int) else 0


def _large_fields(
    of: type[Message], version: int, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Field]]:
    for field in of.FIELDS:
        if not covers(field.versions, version):
            continue
        here = (*path, field.name)
        if field.kind.startswith("[]") or field.kind in ("string", "bytes", "records"):
            yield here, field
        if field.of is not None:
            yield from _large_fields(field.of, version, here)


def requests(key: int, *, worst: bool) -> Iterator[tuple[str, bytes]]:
    """Yield frames of one API, each with a name; with `worst` only the latest version and very long lists."""
    api = APIS[key]
    for version in (api.latest,) if worst else dict.fromkeys((api.latest, api.oldest)):
        for path, field in _large_fields(api.request, version):
            is_list = field.kind.startswith("[]")
            for count in ((WORST_COUNT,) if worst else COUNTS) if is_list else (1,):
                for is_numbered in (False, True) if is_list else (False,):
                    message = Filled(api.name, version, path, count, is_numbered).message(api.request)
                    kind = f"{count:,} {'different' if is_numbered else 'equal'}" if is_list else "long"
                    yield f"v{version} {kind} {'.'.join(path)}", frame(message, key, version)


def frame(message: Message, key: int, version: int) -> bytes:
    """Return the bytes of a request."""
    out = bytearray()
    write_request_header(out, RequestHeader(key, version, 7, "fuzz"))
    encode_into(out, message, version)
    return _SIZE.pack(len(out)) + out


def of_key(key: int, limit: float, *, worst: bool = False) -> Hold:
    """Return the longest hold of requests of one API."""
    title = f"kafka {key} {APIS[key].name}"
    return longest(title, "kafka", requests(key, worst=worst), limit, enough=limit if worst else 0)


def main(arguments: list[str]) -> None:
    """Print the table."""
    only = [int(key) for key in arguments[1].split(",")] if arguments[:1] == ["--only"] else sorted(APIS)
    print("| API | ms | the longest is that of |\n| --- | ---: | --- |")
    for key in only:
        hold = of_key(key, BOUND_MILLIS)
        print(f"| {hold.code} | {hold.millis:.1f} | {hold.what} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
