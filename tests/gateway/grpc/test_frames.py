"""Frames are those that hyperframe reads."""

import pytest
from hyperframe.frame import DataFrame, Frame, WindowUpdateFrame

from mqgateway.gateway.grpc import frames
from mqgateway.gateway.grpc.frames import (
    FRAME_HEAD,
    HEAD,
    Http2Code,
    Http2Error,
    frame_of,
    unpadded,
    window_update,
)


def parsed(data: bytes) -> Frame:
    frame, size = Frame.parse_frame_header(memoryview(data[:HEAD]))
    assert size == len(data) - HEAD
    frame.parse_body(memoryview(data[HEAD:]))
    return frame


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65536, 65537])
def test_frame_has_its_size_flags_and_stream(size: int) -> None:
    frame = parsed(frame_of(frames.DATA, frames.END_STREAM, 5, memoryview(bytes(size))))
    assert isinstance(frame, DataFrame)
    assert (frame.stream_id, set(frame.flags), len(frame.data)) == (5, {"END_STREAM"}, size)


def test_window_update_grows_window() -> None:
    frame = parsed(window_update(7, 70_000))
    assert isinstance(frame, WindowUpdateFrame)
    assert (frame.stream_id, frame.window_increment) == (7, 70_000)


def test_padding_is_removed() -> None:
    padded = DataFrame(1, b"data", flags=["PADDED"], pad_length=3).serialize()
    assert FRAME_HEAD.unpack_from(padded)[3] & frames.PADDED
    assert unpadded(padded[HEAD:]) == b"data"


@pytest.mark.parametrize("payload", [b"", b"\1", b"\4abc"])
def test_padding_longer_than_frame_raises(payload: bytes) -> None:
    with pytest.raises(Http2Error) as caught:
        unpadded(payload)
    assert caught.value.code is Http2Code.PROTOCOL_ERROR
