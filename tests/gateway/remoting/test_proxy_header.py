"""PROXY headers of both versions, whole and truncated at every byte, and similar input."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.remoting.proxy_header import (
    INCOMPLETE,
    V2_SIGNATURE,
    ProxyHeader,
    read_proxy_header,
)


def v2(command: int, family: int, rest: bytes, version: int = 2) -> bytes:
    return (
        V2_SIGNATURE + bytes([version << 4 | command, family << 4 | 1]) + struct.pack(">H", len(rest)) + rest
    )


V4_REST = bytes([203, 0, 113, 7, 10, 0, 0, 1]) + struct.pack(">HH", 56324, 10911)
V6_REST = bytes(15) + b"\x01" + bytes(15) + b"\x02" + struct.pack(">HH", 1, 2)

HEADERS = [
    (b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 10911\r\n", ("203.0.113.7", 56324)),
    (b"PROXY TCP6 2001:db8::1 ::1 65535 10911\r\n", ("2001:db8::1", 65535)),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN ffff:f...f 1 2 3\r\n", None),
    (v2(1, 1, V4_REST), ("203.0.113.7", 56324)),
    (v2(1, 1, V4_REST + b"\x03\x00\x04abcd"), ("203.0.113.7", 56324)),
    (v2(1, 2, V6_REST), ("::1", 1)),
    (v2(0, 0, b""), None),
    (v2(0, 1, V4_REST), None),
    (v2(1, 3, bytes(216)), None),
]


@pytest.mark.parametrize(("data", "source"), HEADERS)
def test_header_is_parsed_with_and_without_tail(data: bytes, source: tuple[str, int] | None) -> None:
    assert read_proxy_header(data) == ProxyHeader(len(data), source)
    assert read_proxy_header(data + b"\x00\x00\x00\x20tail") == ProxyHeader(len(data), source)


@pytest.mark.parametrize(("data", "source"), HEADERS)
def test_every_prefix_is_incomplete(data: bytes, source: object) -> None:
    for end in range(len(data)):
        assert read_proxy_header(data[:end]) is INCOMPLETE, data[:end]


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
        b"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 ::1 1.2.3.4 1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
        b"PROXY TCP4 1.2.3.4 1.2.3.4 \xb2 2\r\n",
        b"PROXY TCP4 " + b"1" * 107,
        v2(1, 1, V4_REST, version=1),
        v2(2, 1, V4_REST),
        v2(1, 1, V4_REST[:-1]),
        v2(1, 2, V6_REST[:-1]),
    ],
)
def test_malformed_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_proxy_header(data)


@pytest.mark.parametrize(
    "data", [b"\x00\x00\x00\x20", b"\x16\x03\x01", b"GET / HTTP/1.1", b"PROXX", b"\r\n\r\nX"]
)
def test_other_bytes_are_not_header(data: bytes) -> None:
    assert read_proxy_header(data) is None


@given(st.binary(max_size=300), st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", V2_SIGNATURE]))
def test_random_bytes_give_header_or_codec_error(rest: bytes, start: bytes) -> None:
    data = start + rest
    try:
        header = read_proxy_header(data)
    except ProtocolError:
        return
    assert header is None or header is INCOMPLETE or header.size <= len(data)


def test_oversized_header_is_refused() -> None:
    start = V2_SIGNATURE + bytes([0x21, 0x11]) + struct.pack(">H", 4096 - 16)
    assert read_proxy_header(start) is INCOMPLETE
    with pytest.raises(ProtocolError, match="4097 bytes"):
        read_proxy_header(V2_SIGNATURE + bytes([0x21, 0x11]) + struct.pack(">H", 4096 - 15))
