"""Answers on one HTTP/2 connection: they wait here until the peer's windows allow them; no I/O."""

from __future__ import annotations

from collections import deque

from mqgateway.gateway.grpc.frames import (
    DATA,
    DEFAULT_WINDOW,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    FRAME_HEAD,
    FRAME_SIZE_MAX,
    FRAME_SIZE_MIN,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    RST_STREAM,
    WINDOW_MAX,
    Http2Code,
    Http2Error,
    frame_of,
)


class AnsweredStream:
    """One stream: its windows, and the rest of its answer."""

    __slots__ = ("chunks", "is_half_closed", "receive_window", "send_window", "trailers")

    def __init__(self, send_window: int, receive_window: int) -> None:
        self.send_window = send_window
        self.receive_window = receive_window
        self.is_half_closed = False  # the peer has ended its data
        self.chunks: deque[bytes | memoryview] = deque()  # data that waits for windows
        self.trailers: bytes | None = None


class Http2Answers:
    """Streams with pending answers, and the windows of the peer. Output is collected for `take`."""

    def __init__(self) -> None:
        self._streams: dict[int, AnsweredStream] = {}
        self._starved: dict[int, None] = {}  # streams blocked by the connection's window
        self._send_window = DEFAULT_WINDOW
        self._peer_initial_window = DEFAULT_WINDOW
        self._peer_frame_size = FRAME_SIZE_MIN
        self._idle_frames = 0  # frames of the peer that carry no call
        self._out: list[bytes | memoryview] = []
        self.held = 0
        """Bytes of answers that exceed the peer's windows."""

    @property
    def open_streams(self) -> int:
        """Number of streams with pending answers."""
        return len(self._streams)

    def take(self) -> bytes:
        """Return the pending output."""
        out, self._out = self._out, []
        return b"".join(out)

    def send_headers(self, stream: int, block: bytes) -> None:
        """Start an answer with a header block; does nothing if the stream is closed."""
        if stream in self._streams:
            self._out.append(frame_of(HEADERS, END_HEADERS, stream, block))

    def send(self, stream: int, data: bytes, trailers: bytes | None = None) -> None:
        """Send more of an answer, with trailers its end; does nothing if the stream is closed."""
        one = self._streams.get(stream)
        if one is None:
            return
        if trailers is not None:
            one.trailers = trailers
        if data:
            one.chunks.append(data)
            self.held += len(data)
        self._pump(stream, one)

    def answer(self, stream: int, block: bytes, data: bytes, trailers: bytes) -> None:
        """Send a whole answer: headers, data and trailers; does nothing if the stream is closed."""
        one = self._streams.get(stream)
        if one is None:
            return
        size = len(data)
        if size > min(one.send_window, self._send_window, self._peer_frame_size) or not one.is_half_closed:
            self.send_headers(stream, block)
            self.send(stream, data, trailers)
            return
        # The usual case: the windows allow all of it.
        self._send_window -= size
        self._forgive_idle_frame()
        del self._streams[stream]
        pack = FRAME_HEAD.pack
        self._out += (
            pack(0, len(block), HEADERS, END_HEADERS, stream),
            block,
            pack(size >> 16, size & 0xFFFF, DATA, 0, stream),
            data,
            pack(0, len(trailers), HEADERS, END_HEADERS | END_STREAM, stream),
            trailers,
        )

    def end(self, stream: int, block: bytes) -> None:
        """Send a header block that is the whole answer, or the end of one without pending data."""
        one = self._streams.get(stream)
        if one is not None:
            self._finish(stream, one, block)

    def reset(self, stream: int, code: Http2Code = Http2Code.CANCEL) -> None:
        """Reset a stream."""
        if self._forget(stream):
            self._out.append(frame_of(RST_STREAM, 0, stream, code.to_bytes(4, "big")))

    def _set(self, name: int, value: int) -> None:
        """Take a setting of the peer. Raises `Http2Error`."""
        if name == INITIAL_WINDOW_SIZE:
            if value > WINDOW_MAX:
                raise Http2Error(Http2Code.FLOW_CONTROL_ERROR, f"an initial window of {value}")
            more = value - self._peer_initial_window
            self._peer_initial_window = value
            for one in self._streams.values():
                one.send_window += more
                if one.send_window > WINDOW_MAX:
                    raise Http2Error(Http2Code.FLOW_CONTROL_ERROR, "a window beyond the largest")
        elif name == MAX_FRAME_SIZE:
            if not FRAME_SIZE_MIN <= value <= FRAME_SIZE_MAX:
                raise Http2Error(Http2Code.PROTOCOL_ERROR, f"frames of at most {value} bytes")
            self._peer_frame_size = value
        elif name == ENABLE_PUSH and value > 1:
            raise Http2Error(Http2Code.PROTOCOL_ERROR, f"push {value}")

    def _widen(self, more: int) -> None:
        """Widen the connection's window, and send what it allows. Raises `Http2Error`."""
        self._send_window += more
        if not more or self._send_window > WINDOW_MAX:
            code = Http2Code.FLOW_CONTROL_ERROR if more else Http2Code.PROTOCOL_ERROR
            raise Http2Error(code, f"a window that grows by {more}")
        starved, self._starved = self._starved, {}
        for stream in starved:
            self._pump_again(stream)

    def _forgive_idle_frame(self) -> None:
        """Uncount an idle frame for sent data, since clients of Java and C ping to measure latency."""
        if self._idle_frames:
            self._idle_frames -= 1

    def _forget(self, stream: int) -> bool:
        one = self._streams.pop(stream, None)
        if one is None:
            return False
        self._starved.pop(stream, None)
        self.held -= sum(map(len, one.chunks))
        return True

    def _pump_again(self, stream: int) -> None:
        one = self._streams.get(stream)
        if one is not None and (one.chunks or one.trailers is not None):
            self._pump(stream, one)

    def _pump(self, stream: int, one: AnsweredStream) -> None:
        """Send as much of a stream as the windows allow, in frames of the peer's size."""
        chunks = one.chunks
        while chunks:
            room = min(one.send_window, self._send_window, self._peer_frame_size)
            if room <= 0:
                if one.send_window > 0:
                    self._starved[stream] = None
                return
            chunk = chunks.popleft()
            if len(chunk) > room:
                rest = memoryview(chunk)
                chunk = rest[:room]
                chunks.appendleft(rest[room:])
            size = len(chunk)
            one.send_window -= size
            self._send_window -= size
            self.held -= size
            self._out += (FRAME_HEAD.pack(size >> 16, size & 0xFFFF, DATA, 0, stream), chunk)
            self._forgive_idle_frame()
        if one.trailers is not None:
            self._finish(stream, one, one.trailers)

    def _finish(self, stream: int, one: AnsweredStream, block: bytes) -> None:
        self._out.append(frame_of(HEADERS, END_HEADERS | END_STREAM, stream, block))
        self._forget(stream)
        if not one.is_half_closed:
            self._out.append(frame_of(RST_STREAM, 0, stream, b"\0\0\0\0"))
