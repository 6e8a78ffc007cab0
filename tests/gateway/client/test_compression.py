"""Bodies compressed by the official client are made whole, and ours are."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.client.compression import Compression, compress, decompress
from mqgateway.gateway.client.errors import ClientError
from tests.support.gateway.client.answers import JAVA

TEXT = b"again and " * 50


@pytest.mark.parametrize("kind", list(Compression))
def test_the_official_clients_bodies(kind: Compression) -> None:
    flag, small = JAVA["compressed"][kind]
    assert kind.flag == flag | 1
    assert decompress(base64.b64decode(small), kind.flag) == TEXT


@pytest.mark.parametrize("kind", list(Compression))
@given(body=st.binary(max_size=3000))
@settings(max_examples=20, deadline=None)
def test_compressed_body_is_inflated(kind: Compression, body: bytes) -> None:
    assert decompress(compress(body, kind, 5), kind.flag) == body


def test_body_of_old_client_without_type_is_inflated() -> None:
    assert decompress(compress(TEXT, Compression.ZLIB, 5), 1) == TEXT
    assert decompress(TEXT, 0) == TEXT


@pytest.mark.parametrize("kind", list(Compression))
def test_a_body_that_would_fill_the_memory_is_refused(kind: Compression) -> None:
    small = compress(bytes(1_000_000), kind, 5)
    with pytest.raises(ClientError, match="more than 1000 bytes"):
        decompress(small, kind.flag, limit=1000)


@pytest.mark.parametrize("kind", list(Compression))
def test_bytes_that_are_something_else_are_refused(kind: Compression) -> None:
    with pytest.raises(ClientError):
        decompress(b"this is not compressed", kind.flag)
    with pytest.raises(ClientError, match="unknown"):
        decompress(TEXT, 1 | 7 << 8)


def test_a_body_that_ends_too_early_is_refused() -> None:
    with pytest.raises(ClientError, match="no end"):
        decompress(compress(TEXT, Compression.ZLIB, 5)[:-5], Compression.ZLIB.flag)
