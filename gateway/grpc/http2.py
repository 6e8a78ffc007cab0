"""Server side of one HTTP/2 connection: decodes bytes into stream events, encodes answers; no I/O.

It takes the peer's frames; `http2_answers` sends, within the peer's windows. Header blocks are decoded by
`header_lists`, and written as literals that need no table. The cost of a peer is bounded: streams, header
lists, frames without a call. Input is acknowledged as it arrives, because its receiver buffers a bounded
amount. Errors end the stream or the connection, as RFC 9113 requires.

The reasons against `h2`, with which tests compare this, are in docs/decisions/0043-*.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from hpack import HPACKError, OversizedHeaderListError

from mqgateway.gateway.grpc.frames import (
    ACK,
    CONTINUATION,
    DATA,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    FRAME_HEAD,
    FRAME_SIZE,
    GOAWAY,
    HEAD,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
    PADDED,
    PING,
    PREFACE,
    PRIORITIZED,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    STREAM_MAX,
    WINDOW_MAX,
    WINDOW_UPDATE,
    Http2Code,
    Http2Error,
    frame_of,
    unpadded,
    window_update,
)
from mqgateway.gateway.grpc.header_lists import HeaderListDecoder
from mqgateway.gateway.grpc.http2_answers import AnsweredStream, Http2Answers

STREAM_WINDOW: Final = 1048576
"""Receive window of a stream in bytes; as in grpc-java."""
CONNECTION_WINDOW: Final = 4194304
IDLE_FRAMES_SECONDS: Final = 30.0
"""Period in which frames without a call are counted."""


class Http2Limits(NamedTuple):
    """Limits of one connection: open streams, bytes of a header list, frames without a call in 30 s."""

    streams: int
    header_list: int
    idle_frames: int


class Streams(Protocol):
    """Receiver of stream events."""

    def began(self, stream: int, headers: list[tuple[str, str]]) -> None:
        """Handle a new stream; its headers are bytes decoded as latin-1."""
        ...

    def received(self, stream: int, data: bytes) -> None:
        """Handle data from the peer."""
        ...

    def ended(self, stream: int) -> None:
        """Handle the end of the peer's data."""
        ...

    def broken(self, stream: int) -> None:
        """Handle a stream that ended before its answer, by the peer's request or error."""
        ...


class Http2(Http2Answers):
    """HTTP/2 connection; `seconds` is the clock. Output is collected for `take`."""

    def __init__(self, limits: Http2Limits, streams: Streams, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._events = streams
        self._seconds = seconds
        self._limits = limits
        self._buffer = b""
        self._has_preface = False
        self._block: tuple[int, int, bytearray] | None = None  # an incomplete header list
        self._decoder = HeaderListDecoder(limits.header_list)
        self._highest = 0
        self._receive_window = CONNECTION_WINDOW
        self._counted_since = seconds()
        self._out.append(_settings(limits))
        self._is_leaving = False
        self.is_over = False
        """True if no more input is processed."""
        self.complaint = ""
        """Protocol error of the peer, if there was one."""
        self.is_answered = True
        """True if the last ping was answered."""

    @property
    def buffered(self) -> int:
        """Bytes of incomplete frames and header lists."""
        return len(self._buffer) + (0 if self._block is None else len(self._block[2]))

    def receive(self, data: bytes) -> None:
        """Process bytes from the peer."""
        if self.is_over:
            return
        buffer = self._buffer + data if self._buffer else data
        try:
            at = 0 if self._has_preface else self._pass_preface(buffer)
            if self._has_preface:
                at = self._take_frames(buffer, at)
        except Http2Error as error:
            self._break(error.code, str(error))
        else:
            self._buffer = b"" if self.is_over else buffer[at:]

    def ping(self) -> None:
        """Send a ping."""
        self.is_answered = False
        self._out.append(frame_of(PING, 0, 0, b"\0" * 8))

    def go_away(self) -> None:
        """Send GOAWAY: the peer may open no more streams; open ones continue."""
        if not self.is_over and not self._is_leaving:
            self._is_leaving = True
            self._out.append(self._goaway(Http2Code.NO_ERROR, ""))

    # Frames

    def _pass_preface(self, buffer: bytes) -> int:
        if not PREFACE.startswith(buffer[: len(PREFACE)]):
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "it does not begin as HTTP/2 does")
        if len(buffer) < len(PREFACE):
            return 0
        self._has_preface = True
        return len(PREFACE)

    def _take_frames(self, buffer: bytes, at: int) -> int:
        """Process all complete frames; return the position of the next one."""
        end = len(buffer)
        while end - at >= HEAD:
            top, low, kind, flags, stream = FRAME_HEAD.unpack_from(buffer, at)
            size = top << 16 | low
            if size > FRAME_SIZE:
                raise Http2Error(Http2Code.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            after = at + HEAD + size
            if after > end:
                break
            payload = buffer[at + HEAD : after]
            at = after
            stream &= STREAM_MAX
            if self._block is not None and (kind != CONTINUATION or stream != self._block[0]):
                raise Http2Error(Http2Code.PROTOCOL_ERROR, "something else within a header list")
            if kind == DATA:
                self._take_data(stream, flags, payload)
            elif kind == HEADERS:
                self._take_headers(stream, flags, payload)
            else:
                _TAKERS.get(kind, Http2._take_unknown)(self, stream, flags, payload)
            if self.is_over:
                break
        return at

    def _take_data(self, stream: int, flags: int, payload: bytes) -> None:
        size = len(payload)
        self._receive_window -= size
        if self._receive_window < 0:
            raise Http2Error(Http2Code.FLOW_CONTROL_ERROR, "more data than the connection's window")
        if self._receive_window < CONNECTION_WINDOW // 2:
            self._out.append(window_update(0, CONNECTION_WINDOW - self._receive_window))
            self._receive_window = CONNECTION_WINDOW
        data = unpadded(payload) if flags & PADDED else payload
        one = self._streams.get(stream)
        if one is None:
            self._check_was_open(stream)
            self._count_idle_frame()
            return
        if one.is_half_closed:
            self._spoil(stream, Http2Code.STREAM_CLOSED)
            return
        one.receive_window -= size
        if one.receive_window < 0:
            self._spoil(stream, Http2Code.FLOW_CONTROL_ERROR)
            return
        ends = flags & END_STREAM
        if ends:
            one.is_half_closed = True
        elif one.receive_window < STREAM_WINDOW // 2:
            self._out.append(window_update(stream, STREAM_WINDOW - one.receive_window))
            one.receive_window = STREAM_WINDOW
        if data:
            self._events.received(stream, data)
        elif not ends:
            self._count_idle_frame()
        if ends and stream in self._streams:
            self._events.ended(stream)

    def _take_headers(self, stream: int, flags: int, payload: bytes) -> None:
        if not stream & 1:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, f"headers on stream {stream}")
        if flags & PADDED:
            payload = unpadded(payload)
        if flags & PRIORITIZED:
            if len(payload) < 5:
                raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "headers too short for their priority")
            payload = payload[5:]
        if flags & END_HEADERS:
            self._take_block(stream, flags, payload)
        else:
            self._block = (stream, flags, bytearray(payload))

    def _take_continuation(self, stream: int, flags: int, payload: bytes) -> None:
        if self._block is None:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "a continuation of nothing")
        stream, first_flags, block = self._block
        block += payload
        if len(block) > self._limits.header_list:
            raise _too_many_headers(self._limits.header_list)
        if flags & END_HEADERS:
            self._block = None
            self._take_block(stream, first_flags, bytes(block))
        else:
            self._count_idle_frame()

    def _take_block(self, stream: int, flags: int, block: bytes) -> None:
        try:
            headers = self._decoder.decode(block)
        except OversizedHeaderListError:
            raise _too_many_headers(self._limits.header_list) from None
        except HPACKError as error:
            raise Http2Error(Http2Code.COMPRESSION_ERROR, f"headers that cannot be read: {error}") from None
        one = self._streams.get(stream)
        if one is not None:
            if one.is_half_closed or not flags & END_STREAM:
                self._spoil(stream, Http2Code.PROTOCOL_ERROR)
                return
            one.is_half_closed = True
            self._events.ended(stream)
            return
        if stream <= self._highest or self._is_leaving:
            self._count_idle_frame()
            return
        self._highest = stream
        if len(self._streams) >= self._limits.streams:
            self._count_idle_frame()
            self._out.append(frame_of(RST_STREAM, 0, stream, Http2Code.REFUSED_STREAM.to_bytes(4, "big")))
            return
        one = self._streams[stream] = AnsweredStream(self._peer_initial_window, STREAM_WINDOW)
        one.is_half_closed = bool(flags & END_STREAM)
        self._events.began(stream, headers)
        if flags & END_STREAM and stream in self._streams:
            self._events.ended(stream)

    def _take_priority(self, stream: int, flags: int, payload: bytes) -> None:
        if not stream:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "a priority of no stream")
        if len(payload) != 5:
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "a priority of another size")
        self._count_idle_frame()

    def _take_reset(self, stream: int, flags: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "a reset of another size")
        self._check_was_open(stream)
        self._count_idle_frame()
        if self._forget(stream):
            self._events.broken(stream)

    def _take_settings(self, stream: int, flags: int, payload: bytes) -> None:
        if stream:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "settings of a stream")
        if len(payload) % 6 or (flags & ACK and payload):
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "settings of another size")
        self._count_idle_frame()
        if flags & ACK:
            return
        for name, value in struct.iter_unpack(">HL", payload):
            self._set(name, value)
        self._out.append(frame_of(SETTINGS, ACK, 0, b""))
        for one in list(self._streams):
            self._pump_again(one)

    def _take_promise(self, stream: int, flags: int, payload: bytes) -> None:
        raise Http2Error(Http2Code.PROTOCOL_ERROR, "a client that pushes")

    def _take_ping(self, stream: int, flags: int, payload: bytes) -> None:
        if stream:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "a ping of a stream")
        if len(payload) != 8:
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "a ping of another size")
        self._count_idle_frame()
        if flags & ACK:
            self.is_answered = True
        else:
            self._out.append(frame_of(PING, ACK, 0, payload))

    def _take_goaway(self, stream: int, flags: int, payload: bytes) -> None:
        """Accept a GOAWAY. The server opens no streams, and the peer closes after its answers."""
        if stream:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, "a stream that goes away")
        if len(payload) < 8:
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "a goodbye of another size")
        self._count_idle_frame()

    def _take_window_update(self, stream: int, flags: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Http2Error(Http2Code.FRAME_SIZE_ERROR, "a window update of another size")
        more = int.from_bytes(payload, "big") & WINDOW_MAX
        if not stream:
            self._widen(more)
            return
        waiting = self._streams.get(stream)
        if waiting is None:
            self._check_was_open(stream)
            return
        waiting.send_window += more
        if not more or waiting.send_window > WINDOW_MAX:
            self._spoil(stream, Http2Code.FLOW_CONTROL_ERROR if more else Http2Code.PROTOCOL_ERROR)
            return
        self._pump_again(stream)

    def _take_unknown(self, stream: int, flags: int, payload: bytes) -> None:
        self._count_idle_frame()

    # Internals

    def _check_was_open(self, stream: int) -> None:
        if not stream & 1 or (stream > self._highest and not self._is_leaving):
            raise Http2Error(Http2Code.PROTOCOL_ERROR, f"stream {stream} was never opened")

    def _count_idle_frame(self) -> None:
        now = self._seconds()
        if now - self._counted_since > IDLE_FRAMES_SECONDS:
            self._counted_since, self._idle_frames = now, 0
        self._idle_frames += 1
        if self._idle_frames > self._limits.idle_frames:
            raise Http2Error(
                Http2Code.ENHANCE_YOUR_CALM,
                f"more than {self._limits.idle_frames} frames that carry no call (grpcMaxIdleFrames)",
            )

    def _spoil(self, stream: int, code: Http2Code) -> None:
        """Reset a stream after the peer's error."""
        self._count_idle_frame()
        self.reset(stream, code)
        self._events.broken(stream)

    def _break(self, code: Http2Code, reason: str) -> None:
        self.is_over = True
        self.complaint = reason
        self._buffer, self._block = b"", None
        self._out.append(self._goaway(code, reason))
        streams, self._streams = self._streams, {}
        self._starved.clear()
        self.held = 0
        for stream in streams:
            self._events.broken(stream)

    def _goaway(self, code: Http2Code, reason: str) -> bytes:
        return frame_of(GOAWAY, 0, 0, struct.pack(">LL", self._highest, code) + reason.encode())


def _settings(limits: Http2Limits) -> bytes:
    """Encode the server's settings, and the connection's window, which is not a setting."""
    settings = {
        MAX_CONCURRENT_STREAMS: limits.streams,
        INITIAL_WINDOW_SIZE: STREAM_WINDOW,
        MAX_FRAME_SIZE: FRAME_SIZE,
        MAX_HEADER_LIST_SIZE: limits.header_list,
    }
    payload = b"".join(struct.pack(">HL", name, value) for name, value in settings.items())
    return frame_of(SETTINGS, 0, 0, payload) + window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW)


def _too_many_headers(limit: int) -> Http2Error:
    return Http2Error(
        Http2Code.ENHANCE_YOUR_CALM, f"metadata of more than {limit} bytes (grpcMaxMetadataSize)"
    )


_TAKERS: Final[dict[int, Callable[[Http2, int, int, bytes], None]]] = {
    PRIORITY: Http2._take_priority,
    RST_STREAM: Http2._take_reset,
    SETTINGS: Http2._take_settings,
    PUSH_PROMISE: Http2._take_promise,
    PING: Http2._take_ping,
    GOAWAY: Http2._take_goaway,
    WINDOW_UPDATE: Http2._take_window_update,
    CONTINUATION: Http2._take_continuation,
}
