"""gRPC calls of one connection: decodes bytes into calls of methods, encodes their answers; no I/O.

    conversation = Conversation(terms, peer)
    conversation.receive(bytes)          # methods are called
    transport.write(conversation.take())

Answers given at once are in `take()` when `receive` returns; later ones are announced by `on_output`. Time is
passed to `tick`. Source: the document "gRPC over HTTP2".
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.message import DecodeError
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.grpc.call import Bidirectional, CallFailed, Incoming, Methods, RpcPeer, Status, Unary
from mqgateway.gateway.grpc.header_blocks import HEAD, SUCCESS, refusal_of, trailers
from mqgateway.gateway.grpc.http2 import Http2, Http2Limits
from mqgateway.gateway.grpc.wire import (
    ENCODINGS,
    IDENTITY,
    MessageCutter,
    prefixed,
    read_timeout,
    whole_message,
)

log: Final = logging.getLogger(__name__)

Ended = Callable[[bool], None]
Noted = Callable[[str, Status, float], None]


@dataclass
class CallSettings:
    """Settings shared by all conversations of one server; sizes in bytes, times in seconds.

    `noted` is called at the end of each call with its path (empty for an unknown method), its status and its
    duration in seconds. It is not called for bidirectional streams, which last as long as their clients.
    """

    methods: Methods
    limits: Http2Limits
    message_limit: int
    seconds: Callable[[], float]
    noted: Noted | None = None


class Conversation:
    """Calls of one connection. `on_output` is called if there is something to `take` outside `receive`."""

    def __init__(
        self, settings: CallSettings, peer: RpcPeer, on_output: Callable[[], None] = lambda: None
    ) -> None:
        self.settings = settings
        self.peer = peer
        self.on_output = on_output
        self.http2 = Http2(settings.limits, self, settings.seconds)
        self._calls: dict[int, ServerCall] = {}
        self.kept_requests = 0
        """Bytes of incomplete requests."""
        self.last_path = ""
        """Path of the last started call; empty before the first."""
        self._is_receiving = False
        self._is_leaving = False

    @property
    def open_calls(self) -> int:
        """Number of calls in flight."""
        return len(self._calls)

    @property
    def kept(self) -> int:
        """Bytes buffered for the peer: unfinished requests, and answers that exceed its windows."""
        return self.http2.buffered + self.http2.held + self.kept_requests

    @property
    def is_over(self) -> bool:
        """True if the peer violated the protocol; `take` then returns the last output."""
        return self.http2.is_over

    def receive(self, data: bytes) -> None:
        """Process bytes from the peer."""
        self._is_receiving = True
        try:
            self.http2.receive(data)
        finally:
            self._is_receiving = False

    def take(self) -> bytes:
        """Return the pending output; empty if there is none."""
        return self.http2.take()

    def tick(self, now: float, patience: float) -> None:
        """End calls past their deadline, and those whose request is incomplete after `patience` seconds."""
        for call in list(self._calls.values()):
            if call.deadline is not None and now >= call.deadline:
                call.stop(Status.DEADLINE_EXCEEDED, "the time of the call is up")
            elif call.awaits_request and now - call.began >= patience:
                call.stop(Status.CANCELLED, f"the request was not complete after {patience:g} s")

    def leave(self) -> None:
        """Accept no more calls, and end streams and incomplete calls; the others continue.

        RocketMQ has no equivalent: its proxy aborts streams; clients open them again elsewhere.
        """
        self._is_leaving = True
        self.http2.go_away()
        for call in list(self._calls.values()):
            if not isinstance(call.method, Unary) or call.awaits_request:
                call.stop(Status.UNAVAILABLE, "the server stops")
        self.say()

    def lost(self) -> None:
        """Handle the loss of the connection."""
        for call in list(self._calls.values()):
            call.left()

    # Stream events

    def began(self, stream: int, headers: list[tuple[str, str]]) -> None:
        """See `Streams`."""
        metadata = dict(headers)
        if len(metadata) < len(headers):
            metadata = _joined(headers)
        path, authority = metadata.pop(":path", ""), metadata.pop(":authority", "")
        method = metadata.pop(":method", "")
        metadata.pop(":scheme", None)
        refusal = refusal_of(method, path, metadata)
        if refusal:
            self.http2.end(stream, refusal)
            return
        self.last_path = path
        call = ServerCall(self, stream, path, metadata, authority)
        self._calls[stream] = call
        call.open()

    def received(self, stream: int, data: bytes) -> None:
        """See `Streams`."""
        call = self._calls.get(stream)
        if call is not None:
            call.take(data)

    def ended(self, stream: int) -> None:
        """See `Streams`."""
        call = self._calls.get(stream)
        if call is not None:
            call.half_closed()

    def broken(self, stream: int) -> None:
        """See `Streams`."""
        call = self._calls.get(stream)
        if call is not None:
            call.left()

    # Callbacks of calls

    def forget(self, stream: int) -> None:
        """Remove a finished call."""
        self._calls.pop(stream, None)

    def say(self) -> None:
        """Announce output."""
        if not self._is_receiving:
            self.on_output()


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Return the fields by name, with the values of repeated names joined."""
    metadata: dict[str, str] = {}
    for name, value in headers:
        is_more = name in metadata and name[:1] != ":"
        metadata[name] = f"{metadata[name]},{value}" if is_more else value
    return metadata


class ServerCall:
    """Call in progress; see `Call`."""

    __slots__ = (
        "_conversation",
        "_cutter",
        "_encoded",
        "_encoding",
        "_ends",
        "_incoming",
        "_is_answering",
        "_is_over",
        "_kept",
        "_request",
        "_stream",
        "_waiting",
        "authority",
        "awaits_request",
        "began",
        "deadline",
        "metadata",
        "method",
        "path",
    )

    def __init__(
        self, conversation: Conversation, stream: int, path: str, metadata: dict[str, str], authority: str
    ) -> None:
        settings = conversation.settings
        self._conversation = conversation
        self._stream = stream
        self.authority = authority
        self.path = path
        self.metadata = metadata
        self.method = settings.methods.get(path)
        self.began = settings.seconds()
        timeout = read_timeout(metadata["grpc-timeout"]) if "grpc-timeout" in metadata else None
        self.deadline = None if timeout is None else self.began + timeout
        self._encoding = metadata.get("grpc-encoding", IDENTITY)
        self._cutter: MessageCutter | None = None  # for a request in several chunks
        self._request: bytes | None = None
        self._kept = 0
        self._encoded = b""
        self._incoming: Incoming | None = None
        self._waiting: Deferred[Any] | None = None
        self._ends: list[Ended] = []
        self._is_answering = self._is_over = False
        self.awaits_request = True

    # Interface of methods

    @property
    def peer(self) -> RpcPeer:
        """See `Call`."""
        return self._conversation.peer

    @property
    def encoded(self) -> bytes:
        """See `Call`."""
        return self._encoded

    def remaining(self) -> float | None:
        """See `Call`."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - self._conversation.settings.seconds())

    def send(self, *messages: Any) -> None:
        """See `Call`."""
        if self._is_over:
            return
        self._begin_answer()
        self._conversation.http2.send(self._stream, b"".join(map(prefixed, messages)))
        self._conversation.say()

    def finish(self, status: Status = Status.OK, message: str = "") -> None:
        """See `Call`."""
        if not self._is_over:
            self._finish(trailers(status, message))
            self._end(status, False)
            self._conversation.say()

    def on_end(self, ended: Ended) -> None:
        """See `Call`."""
        if self._is_over:
            ended(True)
        else:
            self._ends.append(ended)

    # Events from the conversation

    def open(self) -> None:
        """Handle the headers of the call."""
        method = self.method
        if method is None:
            self.finish(Status.UNIMPLEMENTED, f"Method {self.path[1:]} is unimplemented")
        elif self._encoding not in ENCODINGS:
            self.finish(Status.UNIMPLEMENTED, f"Can't find decompressor for {self._encoding}")
        elif isinstance(method, Bidirectional):
            self.awaits_request = False
            try:
                self._incoming = method.begin(self)
            except Exception as error:
                self._failed(error)

    def take(self, data: bytes) -> None:
        """Handle data of the client's messages."""
        try:
            cutter = self._cutter
            if cutter is None:
                limit = self._conversation.settings.message_limit
                message = whole_message(data, limit)
                if message is not None:  # the usual case
                    self._take_message(message)
                    if self._request is message:  # its call has not ended
                        self._count_kept(len(message))
                    return
                cutter = self._cutter = MessageCutter(limit, self._encoding)
            for message in cutter.feed(data):
                self._take_message(message)
                if self._is_over:
                    return
        except Exception as error:
            self._failed(error)
        else:
            self._count_kept(cutter.buffered + (0 if self._request is None else len(self._request)))

    def half_closed(self) -> None:
        """Handle the end of the client's messages."""
        try:
            if self._cutter is not None and self._cutter.buffered:
                raise CallFailed(Status.INTERNAL, "Encountered end-of-stream mid-frame")
            if self._incoming is not None:
                self._incoming.half_closed()
            else:
                self._carry_out()
        except Exception as error:
            self._failed(error)

    def left(self) -> None:
        """Handle a cancellation by the client, or the loss of its connection."""
        if not self._is_over:
            self._end(Status.CANCELLED, True)

    def stop(self, status: Status, message: str) -> None:
        """End the call by the server; the method is notified."""
        if not self._is_over:
            self._finish(trailers(status, message))
            self._end(status, True)
            self._conversation.say()

    # Internals

    def _take_message(self, message: bytes) -> None:
        if self._incoming is not None:
            assert self.method is not None
            self._incoming.received(_parsed(self.method.request, message))
        elif self._request is not None:
            raise CallFailed(Status.INTERNAL, "Too many requests")
        else:
            self._request = message

    def _carry_out(self) -> None:
        """Call the method with the single request, which is complete."""
        request, self._request = self._request, None
        if self._kept:
            self._count_kept(0)
        if request is None:
            raise CallFailed(Status.INTERNAL, "Half-closed without a request")
        method = self.method
        assert method is not None and not isinstance(method, Bidirectional)
        self.awaits_request = False
        self._encoded = request
        answer = method.answer(_parsed(method.request, request), self)
        if isinstance(answer, Deferred):
            if not self._is_over:
                self._waiting = answer
            answer.addCallbacks(self._answered, self._failed_later)
        elif isinstance(method, Unary):
            self._answered(answer)

    def _answered(self, answer: Any) -> None:
        """Handle the result of a method, now or later."""
        self._waiting = None
        if self._is_over:
            return
        if not isinstance(self.method, Unary):
            self.finish()
            return
        self._is_answering = True
        http2 = self._conversation.http2
        http2.answer(self._stream, HEAD, prefixed(answer), SUCCESS)
        self._end(Status.OK, False)
        self._conversation.say()

    def _failed(self, error: BaseException) -> None:
        """End the call with the status of an error of the method or of its input."""
        self._waiting = None
        if isinstance(error, CallFailed):
            self.finish(error.status, error.message)
        elif not (self._is_over and isinstance(error, CancelledError)):
            log.error("%s failed", self.path, exc_info=error)
            self.finish(Status.INTERNAL, f"{type(error).__name__} in the server; its log says more")

    def _failed_later(self, failure: Failure) -> None:
        assert failure.value is not None
        self._failed(failure.value)

    def _count_kept(self, size: int) -> None:
        self._conversation.kept_requests += size - self._kept
        self._kept = size

    def _begin_answer(self) -> None:
        if not self._is_answering:
            self._is_answering = True
            self._conversation.http2.send_headers(self._stream, HEAD)

    def _finish(self, block: bytes) -> None:
        """Send the trailers: after pending output, or as the only headers."""
        if self._is_answering:
            self._conversation.http2.send(self._stream, b"", block)
        else:
            self._conversation.http2.end(self._stream, HEAD + block)

    def _end(self, status: Status, is_left: bool) -> None:
        self._is_over = True
        if self._kept:
            self._count_kept(0)
        self._conversation.forget(self._stream)
        if self._ends:
            self._notify_end(is_left)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
        settings = self._conversation.settings
        if settings.noted is not None and not isinstance(self.method, Bidirectional):
            settings.noted("" if self.method is None else self.path, status, settings.seconds() - self.began)

    def _notify_end(self, is_left: bool) -> None:
        """Notify observers first: work that is cancelled next must know that its caller is gone."""
        ends, self._ends = self._ends, []
        for ended in ends:
            try:
                ended(is_left)
            except Exception:
                log.exception("the end of %s", self.path)


def _parsed(kind: type[Any], message: bytes) -> Any:
    """Parse a message. Raises `CallFailed`."""
    try:
        return kind.FromString(message)
    except (DecodeError, ValueError, RecursionError):
        raise CallFailed(Status.INTERNAL, "Invalid protobuf byte sequence") from None
