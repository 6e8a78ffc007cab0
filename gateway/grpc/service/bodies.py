"""Bodies: the compression of remoting producers and of gRPC clients, and digests.

Remoting consumers expect zlib where gRPC clients say GZIP. Both are the same compressed bytes between
different headers and trailers, so bodies are stored as zlib.
"""

from __future__ import annotations

import hashlib
import zlib

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.status import CallRefused, Code

_ZLIB = SysFlag.COMPRESSED | 3 << 8
"""A body compressed by zlib, as producers of version 5 mark it."""
_GZIP_MAGIC = b"\x1f\x8b"
_ZLIB_HEAD = b"\x78\x9c"
_GZIP_TAIL_BYTES = 8
_WITH_GZIP_ENDS = 31


def check_digest(body: bytes, digest: v2.Digest) -> None:
    """Refuse a body that differs from the digest; a digest of an unknown type is ignored."""
    if not digest.checksum:
        return
    if digest.type == v2.DigestType.MD5:
        own = hashlib.md5(body, usedforsecurity=False).hexdigest()
    elif digest.type == v2.DigestType.SHA1:
        own = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    elif digest.type == v2.DigestType.CRC32:
        own = f"{zlib.crc32(body):x}"
        if digest.checksum.lower().lstrip("0") == own.lstrip("0"):
            return
    else:
        return
    if digest.checksum.lower() != own:
        raise CallRefused(Code.MESSAGE_CORRUPTED, "the digest of the message body is not that of the body")


def digest_of(body: bytes) -> v2.Digest:
    """Return the MD5 digest in upper-case hexadecimal digits. RocketMQ: `BinaryUtil.generateMd5`."""
    checksum = hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    return v2.Digest(type=v2.DigestType.MD5, checksum=checksum)


def as_stored(body: bytes, encoding: v2.Encoding, inflated_max: int) -> tuple[bytes, int]:
    """Return a body as it is stored, and the bits of the system flag for its compression.

    A body that is not GZIP although it claims to be, or is too large, is stored unchanged, as by RocketMQ's
    proxy.
    """
    if encoding != v2.Encoding.GZIP:
        return body, 0
    if not body.startswith(_GZIP_MAGIC):
        return body, SysFlag.COMPRESSED
    stream = zlib.decompressobj(_WITH_GZIP_ENDS)
    try:
        whole = stream.decompress(body, inflated_max + 1)
    except zlib.error:
        return body, SysFlag.COMPRESSED
    if not stream.eof or stream.unused_data or len(whole) > inflated_max:
        return body, SysFlag.COMPRESSED
    return _ZLIB_HEAD + _deflated(body) + zlib.adler32(whole).to_bytes(4, "big"), _ZLIB


def _deflated(body: bytes) -> bytes:
    """Return the deflated bytes between header and trailer of a GZIP member."""
    flags, at = body[3], 10
    if flags & 4:
        at += 2 + int.from_bytes(body[at : at + 2], "little")
    for bit in (8, 16):  # a name, a comment
        if flags & bit:
            at = body.index(0, at) + 1
    if flags & 2:
        at += 2
    return body[at:-_GZIP_TAIL_BYTES]


def as_received(body: bytes, sys_flag: int, inflated_max: int) -> tuple[bytes, v2.Encoding]:
    """Return a stored body as clients get it, inflated; one that cannot be inflated is returned unchanged, as
    GZIP.
    """
    if not sys_flag & SysFlag.COMPRESSED:
        return body, v2.Encoding.IDENTITY
    if body.startswith(_GZIP_MAGIC):
        stream = zlib.decompressobj(_WITH_GZIP_ENDS)
        try:
            whole = stream.decompress(body, inflated_max + 1)
        except zlib.error:
            return body, v2.Encoding.GZIP
        is_whole = stream.eof and len(whole) <= inflated_max
        return (whole, v2.Encoding.IDENTITY) if is_whole else (body, v2.Encoding.GZIP)
    # Imported here, because it loads the whole client.
    from mqgateway.gateway.client.compression import decompress
    from mqgateway.gateway.client.errors import ClientError

    try:
        return decompress(body, sys_flag, inflated_max), v2.Encoding.IDENTITY
    except ClientError:
        return body, v2.Encoding.GZIP
