"""Messages parsed from data, compressed ones within limits, timeouts and texts."""

import gzip
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.grpc.call import CallFailed, Status
from mqgateway.gateway.grpc.v2 import Resource
from mqgateway.gateway.grpc.wire import MessageCutter, percent_encoded, prefixed, read_timeout
from tests.support.gateway.grpc.client import framed


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=6), st.data())
def test_messages_are_read_in_chunks_of_any_size(
    wanted: list[tuple[bytes, bool]], data: st.DataObject
) -> None:
    wire = b"".join(framed(gzip.compress(one), 1) if packed else framed(one) for one, packed in wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    cutter = MessageCutter(100, "gzip")
    found: list[bytes] = []
    for begin, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += cutter.feed(wire[begin:end])
    assert found == [one for one, _ in wanted]
    assert not cutter.buffered


def refusal(cutter: MessageCutter, data: bytes) -> tuple[Status, str]:
    with pytest.raises(CallFailed) as caught:
        cutter.feed(data)
    return caught.value.status, caught.value.message


def test_oversized_message_is_refused_by_its_length() -> None:
    status, text = refusal(MessageCutter(10), framed(b"x" * 11)[:5])
    assert (status, text) == (Status.RESOURCE_EXHAUSTED, "gRPC message exceeds maximum size 10: 11")
    assert MessageCutter(10).feed(framed(b"x" * 10)) == [b"x" * 10]


def test_gzip_bomb_is_refused_at_limit() -> None:
    bomb = framed(gzip.compress(bytes(50_000_000)), 1)
    status, text = refusal(MessageCutter(100_000, "gzip"), bomb)
    assert (status, text) == (
        Status.RESOURCE_EXHAUSTED,
        "Decompressed gRPC message exceeds maximum size 100000",
    )


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("identity", framed(gzip.compress(b"x"), 1)),
        ("gzip", framed(b"no gzip", 1)),
        ("gzip", framed(gzip.compress(b"hello")[:-3], 1)),
        ("gzip", framed(b"x", 2)),
    ],
    ids=["packed in another way", "not packed", "cut short", "an unknown flag"],
)
def test_invalid_compressed_message_is_refused(encoding: str, data: bytes) -> None:
    assert refusal(MessageCutter(1000, encoding), data)[0] is Status.INTERNAL


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1H", 3600.0),
        ("2M", 120.0),
        ("3S", 3.0),
        ("2999983u", 2.999983),
        ("15m", 0.015),
        ("99999999n", 0.099999999),
        ("0n", 0.0),
        ("", None),
        ("5", None),
        ("S", None),
        ("1s", None),
        ("-1S", None),
        ("123456789S", None),
        ("\u0661S", None),
    ],
)
def test_timeouts_are_parsed(text: str, seconds: float | None) -> None:
    read = read_timeout(text)
    assert read == (None if seconds is None else pytest.approx(seconds))


@given(st.text())
def test_status_texts_round_trip(text: str) -> None:
    encoded = percent_encoded(text)
    assert all(0x20 <= one <= 0x7E for one in encoded)
    assert unquote(encoded.decode()) == text.encode(errors="replace").decode()


def test_message_has_length_prefix() -> None:
    assert prefixed(Resource(name="ab")) == b"\0\0\0\0\x04\x12\x02ab"
