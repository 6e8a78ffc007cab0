"""Bodies: compressed ones in every direction, digests."""

from __future__ import annotations

import gzip
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.client.compression import Compression, compress, decompress
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.bodies import as_received, as_stored, check_digest, digest_of
from mqgateway.gateway.grpc.service.status import CallRefused

MOST = 1 << 20
GZIP, IDENTITY = v2.Encoding.GZIP, v2.Encoding.IDENTITY


@given(st.binary(max_size=2000), st.sampled_from(["", "name.txt"]))
def test_body_compressed_by_client_is_read_by_remoting_consumers(body: bytes, name: str) -> None:
    """Of GZIP with a name in its head too."""
    made = gzip.compress(body)
    if name:
        made = made[:3] + b"\x08" + made[4:10] + name.encode() + b"\0" + made[10:]
        assert gzip.decompress(made) == body
    stored, sys_flag = as_stored(made, GZIP, MOST)
    assert decompress(stored, sys_flag) == body
    assert as_received(stored, sys_flag, MOST) == (body, IDENTITY)


@pytest.mark.parametrize("kind", Compression)
def test_body_compressed_by_remoting_producer_is_inflated(kind: Compression) -> None:
    body = b"hello" * 100
    assert as_received(compress(body, kind, 5), kind.flag, MOST) == (body, IDENTITY)


def test_gzip_under_the_flag_of_zlib_is_made_whole() -> None:
    """As Apache's proxy stores it."""
    made = gzip.compress(b"a" * 100)
    assert as_received(made, SysFlag.COMPRESSED, MOST) == (b"a" * 100, IDENTITY)


@pytest.mark.parametrize(
    "body",
    [b"no gzip", gzip.compress(b"a")[:-3], b"\x1f\x8b\x08" + b"\xff" * 20, gzip.compress(b"a") + b"x"],
    ids=["no gzip", "cut short", "a header only", "more behind"],
)
def test_body_that_only_claims_to_be_compressed_is_stored_unchanged(body: bytes) -> None:
    assert as_stored(body, GZIP, MOST) == (body, SysFlag.COMPRESSED)


def test_body_that_would_become_too_large_stays_compressed() -> None:
    made = gzip.compress(bytes(2000))
    assert as_stored(made, GZIP, 1000) == (made, SysFlag.COMPRESSED)
    assert as_received(made, SysFlag.COMPRESSED, 1000) == (made, GZIP)
    packed = zlib.compress(bytes(2000))
    assert as_received(packed, SysFlag.COMPRESSED, 1000) == (packed, GZIP)
    assert as_received(b"\x1f\x8bnothing", SysFlag.COMPRESSED, 1000) == (b"\x1f\x8bnothing", GZIP)


def test_plain_body_stays_unchanged() -> None:
    assert as_stored(b"a", IDENTITY, MOST) == (b"a", 0)
    assert as_received(b"a", 0, MOST) == (b"a", IDENTITY)


@pytest.mark.parametrize(
    "kind,checksum",
    [
        (v2.DigestType.MD5, hashlib.md5(b"a").hexdigest()),
        (v2.DigestType.MD5, hashlib.md5(b"a").hexdigest().upper()),
        (v2.DigestType.SHA1, hashlib.sha1(b"a").hexdigest()),
        (v2.DigestType.CRC32, f"{zlib.crc32(b'a'):X}"),
        (v2.DigestType.CRC32, f"0{zlib.crc32(b'a'):x}"),
        (v2.DigestType.DIGEST_TYPE_UNSPECIFIED, "anything"),
        (v2.DigestType.MD5, ""),
    ],
)
def test_a_right_digest(kind: v2.DigestType, checksum: str) -> None:
    check_digest(b"a", v2.Digest(type=kind, checksum=checksum))


@pytest.mark.parametrize("kind", [v2.DigestType.MD5, v2.DigestType.SHA1, v2.DigestType.CRC32])
def test_a_wrong_digest(kind: v2.DigestType) -> None:
    with pytest.raises(CallRefused) as refused:
        check_digest(b"a", v2.Digest(type=kind, checksum="00"))
    assert refused.value.code == v2.Code.MESSAGE_CORRUPTED


def test_digest_that_clients_send() -> None:
    assert digest_of(b"a").checksum == hashlib.md5(b"a").hexdigest().upper()
