"""Header blocks of answers, encoded for HTTP/2 (HPACK, RFC 7541) without a table; pure."""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.grpc.call import Status
from mqgateway.gateway.grpc.wire import ENCODINGS, percent_encoded

CONTENT_TYPE: Final = b"application/grpc"


def _literal(name: bytes, value: bytes) -> bytes:
    """Encode a header field as an HPACK literal without a table."""
    return b"\0" + _sized(name) + _sized(value)


def _sized(text: bytes) -> bytes:
    """Encode an uncompressed HPACK string: its length as a number with a 7-bit prefix, and its bytes."""
    size = len(text)
    if size < 127:
        return bytes((size,)) + text
    size -= 127
    head = bytearray((127,))
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + text


HEAD: Final = (
    b"\x88"  # :status 200, from the static table
    + _literal(b"content-type", CONTENT_TYPE)
    + _literal(b"grpc-accept-encoding", ",".join(ENCODINGS).encode())
)
"""Headers at the start of every answer."""
SUCCESS: Final = _literal(b"grpc-status", b"0")
"""Trailers of a successful answer."""
REASON_MAX: Final = 4096
"""Maximum bytes of a status text; longer ones are truncated, because clients refuse long trailers."""


def trailers(status: Status, message: str) -> bytes:
    """Return the trailers of an answer."""
    if status is Status.OK:
        return SUCCESS
    text = percent_encoded(message[:REASON_MAX])
    return _literal(b"grpc-status", b"%d" % status) + (_literal(b"grpc-message", text) if text else b"")


def refusal_of(method: str, path: str, metadata: dict[str, str]) -> bytes:
    """Return the whole answer, as a header block, to a request that is not a call; empty if it is one."""
    if method != "POST" or not path.startswith("/"):
        return b"\x08\x03405" + _literal(b"allow", b"POST")
    content_type = metadata.get("content-type", "")
    if content_type != "application/grpc" and not content_type.startswith(
        ("application/grpc+", "application/grpc;")
    ):
        return b"\x08\x03415"
    return b""
