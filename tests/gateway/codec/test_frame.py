"""Frames out of a stream: whole, in chunks, several at once, and bytes that are no frame."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.frame import FRAME_LIMIT, FrameCutter

payloads = st.lists(st.binary(min_size=4, max_size=200), max_size=6)


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def cut(chunks: list[bytes]) -> list[bytes]:
    """Return the frames in `chunks`; also check that no bytes are left."""
    cutter = FrameCutter()
    found = [payload for chunk in chunks for payload in cutter.feed(chunk)]
    assert cutter.buffered == 0
    return found


@given(payloads)
def test_whole_frames_come_out_in_order(wanted: list[bytes]) -> None:
    assert cut([b"".join(map(frame, wanted))]) == wanted


@given(payloads)
def test_byte_by_byte_gives_the_same_frames(wanted: list[bytes]) -> None:
    stream = b"".join(map(frame, wanted))
    assert cut([stream[i : i + 1] for i in range(len(stream))]) == wanted


@given(payloads, st.data())
@settings(max_examples=200)
def test_any_chunks_give_the_same_frames(wanted: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, wanted))
    marks = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *marks], [*marks, len(stream)], strict=True)]
    assert cut(chunks) == wanted


@given(payloads, st.integers(1, 11))
def test_a_tail_waits_for_its_rest(wanted: list[bytes], size: int) -> None:
    """A frame that is only begun is kept, and not handed out before its last byte."""
    last = frame(b"12345678")
    cutter = FrameCutter()
    assert cutter.feed(b"".join(map(frame, wanted)) + last[:size]) == wanted
    assert cutter.buffered == size
    assert cutter.feed(last[size:]) == [b"12345678"]


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 3, FRAME_LIMIT - 3, 2**31 - 1])
@pytest.mark.parametrize("bytewise", [False, True])
def test_impossible_lengths_are_refused(length: int, bytewise: bool) -> None:
    """Also a length word of 2 GiB: refused when the word is there, nothing is buffered for it."""
    word = struct.pack(">i", length)
    cutter = FrameCutter()
    with pytest.raises(ProtocolError):
        if bytewise:
            for value in word:
                cutter.feed(bytes([value]))
        else:
            cutter.feed(word + b"x")


def test_the_longest_frame_passes() -> None:
    payload = bytes(FRAME_LIMIT - 4)
    stream = frame(payload)
    assert cut([stream[:1000], stream[1000:5_000_000], stream[5_000_000:]]) == [payload]


def test_the_limit_is_a_parameter() -> None:
    assert FrameCutter(limit=12).feed(frame(b"12345678")) == [b"12345678"]
    with pytest.raises(ProtocolError, match="13 bytes is longer than the 12 that frameMaxLength allows"):
        FrameCutter(limit=12).feed(frame(b"123456789"))


def test_a_large_frame_in_small_chunks_costs_no_quadratic_copying() -> None:
    """A megabyte byte by byte: a cutter that joined at every chunk would copy half a terabyte."""
    stream = frame(bytes(1_000_000))
    cutter = FrameCutter()
    for i in range(len(stream) - 1):
        cutter.feed(stream[i : i + 1])
    assert [len(payload) for payload in cutter.feed(stream[-1:])] == [1_000_000]
