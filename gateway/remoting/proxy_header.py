"""PROXY protocol header, which a load balancer may send before a connection's first bytes; no I/O.

Version 1 is one line of text, at most 107 bytes:

    PROXY TCP4|TCP6|UNKNOWN source-ip destination-ip source-port destination-port CR LF

Version 2 is binary, all numbers big-endian:

    | 12 bytes signature | version 2, command (0 local, 1 proxy) | family, transport | u2 length | rest |

The rest contains source ip, destination ip, u2 source port, u2 destination port, then extensions that are
skipped. Neither can be the start of a frame: their first bytes would be a length above every frame limit.
RocketMQ: `NettyRemotingServer.HandshakeHandler`, which accepts both versions on every port.
"""

import ipaddress
import struct
from enum import Enum
from typing import Final, NamedTuple

from mqgateway.gateway.codec.errors import ProtocolError

V1_START = b"PROXY "
V1_LINE_MAX = 107
V2_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
V2_FIXED = 16
V2_SIZE_MAX = 4096
"""Maximum size of a version 2 header in bytes; with all usual extensions it has a few hundred."""
_ADDRESS_FORMATS = {1: struct.Struct(">4s4sHH"), 2: struct.Struct(">16s16sHH")}


class Incomplete(Enum):
    """Result if more bytes are needed."""

    INCOMPLETE = 0


INCOMPLETE: Final = Incomplete.INCOMPLETE


class ProxyHeader(NamedTuple):
    """Header with its `size` in bytes and the client's (ip, port).

    `source` is None for the balancer's own health check.
    """

    size: int
    source: tuple[str, int] | None


def read_proxy_header(data: bytes) -> ProxyHeader | Incomplete | None:
    """Parse the header at the start of a connection; None if the bytes are not a PROXY header.

    Raises CodecError for a malformed header.
    """
    if data.startswith(V1_START):
        return _read_v1(data)
    if data.startswith(V2_SIGNATURE):
        return _read_v2(data)
    if V1_START.startswith(data) or V2_SIGNATURE.startswith(data):
        return INCOMPLETE
    return None


def _read_v1(data: bytes) -> ProxyHeader | Incomplete:
    end = data.find(b"\r\n", 0, V1_LINE_MAX)
    if end < 0:
        if len(data) >= V1_LINE_MAX:
            raise ProtocolError("a PROXY line without an end")
        return INCOMPLETE
    words = data[:end].decode("latin-1").split(" ")
    size = end + 2
    if words[1] == "UNKNOWN":
        return ProxyHeader(size, None)
    if words[1] not in ("TCP4", "TCP6") or len(words) != 6:
        raise ProtocolError(f"a PROXY line that names no TCP connection: {data[:end]!r}")
    try:
        ip = ipaddress.IPv4Address(words[2]) if words[1] == "TCP4" else ipaddress.IPv6Address(words[2])
        return ProxyHeader(size, (str(ip), _port(words[4])))
    except ValueError as error:
        raise ProtocolError(f"a PROXY line with a bad address: {error}") from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 0xFFFF):
        raise ValueError(f"port {text!r}")
    return int(text)


def _read_v2(data: bytes) -> ProxyHeader | Incomplete:
    if len(data) < V2_FIXED:
        return INCOMPLETE
    version, command = data[12] >> 4, data[12] & 15
    family = data[13] >> 4
    size = V2_FIXED + int.from_bytes(data[14:16], "big")
    if version != 2 or command > 1:
        raise ProtocolError(f"a PROXY header of version {version}, command {command}")
    if size > V2_SIZE_MAX:
        raise ProtocolError(f"a PROXY header of {size} bytes")
    if len(data) < size:
        return INCOMPLETE
    addresses = _ADDRESS_FORMATS.get(family)
    if command == 0 or addresses is None:
        return ProxyHeader(size, None)
    if size - V2_FIXED < addresses.size:
        raise ProtocolError("a PROXY header too short for its addresses")
    source, _, port, _ = addresses.unpack_from(data, V2_FIXED)
    return ProxyHeader(size, (str(ipaddress.ip_address(source)), port))
