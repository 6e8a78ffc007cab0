"""Headers of requests and responses.

A flexible version of a request has header 2, any other header 1. A response has header 1 or 0 accordingly,
but ApiVersions always has 0: its client may not know yet what the broker speaks. A client id has a length of
two bytes in every header. Standard: `RequestHeader.json`, `ResponseHeader.json`, `RequestHeader`.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS
from mqgateway.gateway.kafka.codec.kinds import String

_START: Final = struct.Struct(">hhi")
_CORRELATION_ID: Final = struct.Struct(">i")
_CLIENT_ID: Final = String(flexible=False, nullable=True, short=True)


class RequestHeader:
    """Fields that precede the body of every request."""

    __slots__ = ("client_id", "correlation_id", "key", "version")

    def __init__(self, key: int, version: int, correlation_id: int, client_id: str | None) -> None:
        self.key = key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id

    def __repr__(self) -> str:
        return f"RequestHeader({self.key}, {self.version}, {self.correlation_id}, {self.client_id!r})"


def request_header_version(key: int, version: int) -> int:
    """Return the version of a request's header."""
    api = APIS.get(key)
    return 2 if api is not None and api.is_flexible(version) else 1


def response_header_version(key: int, version: int) -> int:
    """Return the version of a response's header."""
    return 0 if key == API_VERSIONS else request_header_version(key, version) - 1


def read_request_header(reader: Reader) -> RequestHeader:
    """Read a header; the body follows. An unknown key or version is no error here."""
    name = "api key"
    try:
        key, version, correlation_id = reader.unpack(_START)
        name = "client id"
        client_id = _CLIENT_ID.read(reader)
        if request_header_version(key, version) == 2:
            name = "tagged fields"
            skip_tags(reader)
    except CodecError as error:
        error.within(name)
        error.within("RequestHeader")
        raise
    return RequestHeader(key, version, correlation_id, client_id)


def skip_tags(reader: Reader) -> None:
    """Read past tagged fields of which none is known."""
    count = reader.unsigned_varint()
    reader.check_count(count, 2)
    for _ in range(count):
        reader.unsigned_varint()
        reader.take(reader.unsigned_varint())


def write_request_header(out: bytearray, header: RequestHeader) -> None:
    """Append the header of a request."""
    try:
        out += _START.pack(header.key, header.version, header.correlation_id)
        _CLIENT_ID.write(out, header.client_id)
    except struct.error as error:
        raise CodecError(f"{header}: {error}") from error
    if request_header_version(header.key, header.version) == 2:
        out.append(0)


def write_response_header(out: bytearray, key: int, version: int, correlation_id: int) -> None:
    """Append the header of a response to a request of the API and version."""
    out += _CORRELATION_ID.pack(correlation_id)
    if response_header_version(key, version) == 1:
        out.append(0)


def read_response_header(reader: Reader, key: int, version: int) -> int:
    """Read the header of a response and return its correlation id."""
    correlation_id = reader.int32()
    if response_header_version(key, version) == 1:
        skip_tags(reader)
    return correlation_id
