"""In-memory gRPC client: the client side by `h2`, the server side by the code under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.settings import SettingCodes
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.grpc.call import (
    Bidirectional,
    CallFailed,
    GrpcCall,
    Incoming,
    Methods,
    RpcPeer,
    ServerStream,
    Status,
    Unary,
)
from mqgateway.gateway.grpc.conversation import CallSettings, Conversation
from mqgateway.gateway.grpc.frames import GOAWAY, HEAD
from mqgateway.gateway.grpc.http2 import Http2Limits
from mqgateway.gateway.grpc.v2 import Resource

PEER = RpcPeer("203.0.113.7", 50000, "10.0.0.1", 8081, False)
LIMITS = Http2Limits(streams=100, header_list=16384, idle_frames=500)
MESSAGE_LIMIT = 1 << 20


@dataclass
class Answer:
    """Content received on one stream."""

    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""
    trailers: dict[str, str] = field(default_factory=dict)
    has_ended: bool = False
    reset: int | None = None

    @property
    def status(self) -> Status:
        """Status of the call."""
        return Status(int(self._end["grpc-status"]))

    @property
    def message(self) -> str:
        """Text of the status."""
        return unquote(self._end.get("grpc-message", ""))

    @property
    def names(self) -> list[str]:
        """Names of the received resources."""
        return [Resource.FromString(one).name for one in messages(self.data)]

    @property
    def _end(self) -> dict[str, str]:
        return self.trailers or self.headers


def messages(data: bytes) -> list[bytes]:
    """Return the messages of a stream's data, which are all complete."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 1 : at + 5], "big")
        assert data[at] == 0 and at + 5 + size <= len(data)
        found.append(data[at + 5 : at + 5 + size])
        at += 5 + size
    return found


def framed(message: bytes, compressed: int = 0) -> bytes:
    """Return a message with its prefix."""
    return bytes((compressed,)) + len(message).to_bytes(4, "big") + message


class Service:
    """Methods called by tests; requests are recorded, and some answers wait for the test."""

    def __init__(self) -> None:
        self.calls: list[GrpcCall] = []
        self.ends: list[bool] = []
        self.waiting: list[Deferred[Resource]] = []
        self.heard: list[str] = []

    def methods(self) -> Methods:
        """Return the methods Echo, Wait, Fail, Break, List, Talk."""
        return {
            "/test.S/Echo": Unary(Resource, self.echo),
            "/test.S/Wait": Unary(Resource, self.wait),
            "/test.S/Fail": Unary(Resource, self.fail),
            "/test.S/Break": Unary(Resource, self.break_),
            "/test.S/List": ServerStream(Resource, self.list_),
            "/test.S/Talk": Bidirectional(Resource, self.talk),
        }

    def echo(self, request: Resource, call: GrpcCall) -> Resource:
        self._note(call)
        return request

    def wait(self, request: Resource, call: GrpcCall) -> Deferred[Resource]:
        self._note(call)
        answer: Deferred[Resource] = Deferred()
        self.waiting.append(answer)
        return answer

    def fail(self, request: Resource, call: GrpcCall) -> Resource:
        raise CallFailed(Status.NOT_FOUND, f"no {request.name}: 100 % \u00e4")

    def break_(self, request: Resource, call: GrpcCall) -> Resource:
        raise ZeroDivisionError

    def list_(self, request: Resource, call: GrpcCall) -> None:
        """Send as many answers as the name has letters; end unless it is `stay`."""
        self._note(call)
        for letter in request.name:
            call.send(Resource(name=letter))
        if request.name != "stay":
            call.finish()

    def talk(self, call: GrpcCall) -> Incoming:
        self._note(call)
        return _Talk(self, call)

    def _note(self, call: GrpcCall) -> None:
        self.calls.append(call)
        call.on_end(self.ends.append)


class _Talk:
    def __init__(self, service: Service, call: GrpcCall) -> None:
        self._service = service
        self._call = call

    def received(self, message: Resource) -> None:
        self._service.heard.append(message.name)
        if message.name == "refuse":
            raise CallFailed(Status.INVALID_ARGUMENT, "refused")
        self._call.send(Resource(name=f"re {message.name}"))

    def half_closed(self) -> None:
        self._service.heard.append("closed")
        self._call.finish()


class H2Client:
    """Client side of a connection; subclasses move the bytes in `pump`."""

    def __init__(self, window: int | None = None) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        if window is not None:
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.answers: dict[int, Answer] = {}
        self.goaway: tuple[int, str] | None = None
        """The code and the reason of the server's goodbye."""
        self._heard = b""
        self.pings = 0
        self.acknowledges = True

    def pump(self) -> None:
        """Move bytes both ways until nothing is left."""
        raise NotImplementedError

    def hear(self, data: bytes) -> None:
        """Process bytes of the server; a GOAWAY is parsed here, since `h2` accepts nothing after it."""
        self._heard += data
        rest = b""
        while len(heard := self._heard) >= HEAD:
            size = HEAD + int.from_bytes(heard[:3], "big")
            if len(heard) < size:
                break
            frame, self._heard = heard[:size], heard[size:]
            if frame[3] == GOAWAY:
                self.goaway = (int.from_bytes(frame[13:17], "big"), frame[17:].decode())
            else:
                rest += frame
        for event in self.h2.receive_data(rest):
            if isinstance(event, PingAckReceived):
                self.pings += 1
            elif (stream := getattr(event, "stream_id", 0)) in self.answers:
                self._note(self.answers[stream], event)

    def _note(self, answer: Answer, event: Any) -> None:
        if isinstance(event, ResponseReceived):
            answer.headers = dict(event.headers)
        elif isinstance(event, DataReceived):
            answer.data += event.data
            if self.acknowledges:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, TrailersReceived):
            answer.trailers = dict(event.headers)
        elif isinstance(event, StreamEnded):
            answer.has_ended = True
        elif isinstance(event, StreamReset):
            answer.reset = int(event.error_code)

    def open(self, method: str, **headers: str) -> int:
        """Start a call; return its stream."""
        stream = self.h2.get_next_available_stream_id()
        given = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"/test.S/{method}" if "/" not in method else method,
            ":authority": "broker:8081",
            "te": "trailers",
            "content-type": "application/grpc",
        }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.h2.send_headers(stream, list(given.items()))
        self.answers[stream] = Answer()
        return stream

    def say(self, stream: int, name: str, *, ends: bool = False) -> None:
        """Send one request of a call."""
        self.h2.send_data(stream, framed(Resource(name=name).SerializeToString()), end_stream=ends)
        self.pump()

    def call(self, method: str, name: str = "", **headers: str) -> Answer:
        """Make a call with one request; return what was received."""
        stream = self.open(method, **headers)
        self.say(stream, name, ends=True)
        return self.answers[stream]


class Client(H2Client):
    """Client joined with a conversation that carries a `Service`."""

    def __init__(
        self, *, window: int | None = None, message_limit: int = MESSAGE_LIMIT, **limits: int
    ) -> None:
        super().__init__(window)
        self.now = 1000.0
        self.service = Service()
        self.noted: list[tuple[str, Status]] = []
        self.settings = CallSettings(
            self.service.methods(),
            LIMITS._replace(**limits),
            message_limit,
            lambda: self.now,
            lambda path, status, seconds: self.noted.append((path, status)),
        )
        self.outputs = 0
        self.server = Conversation(self.settings, PEER, self._output)
        self.pump()

    def _output(self) -> None:
        self.outputs += 1

    def pump(self) -> None:
        """See `H2Client`."""
        while True:
            ours, theirs = self.h2.data_to_send(), self.server.take()
            if not ours and not theirs:
                return
            if ours:
                self.server.receive(ours)
            if theirs:
                self.hear(theirs)


class NetClient(H2Client):
    """Client as a Twisted protocol; its bytes move with those of a `Net`."""

    def __init__(self, settle: Callable[[], None], window: int | None = None) -> None:
        super().__init__(window)
        self._settle = settle
        self.transport: Any = None
        self.lost: Failure | None = None

    def makeConnection(self, transport: Any) -> None:
        """Start the connection."""
        self.transport = transport
        self.flush()

    def dataReceived(self, data: bytes) -> None:
        """Handle received bytes."""
        self.hear(data)
        self.flush()

    def connectionLost(self, reason: Failure) -> None:
        """Handle the end of the connection."""
        self.lost = reason

    def flush(self) -> None:
        """Write pending output."""
        data = self.h2.data_to_send()
        if data:
            self.transport.write(data)

    def pump(self) -> None:
        """See `H2Client`."""
        self.flush()
        self._settle()
