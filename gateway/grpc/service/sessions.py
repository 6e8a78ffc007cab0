"""The clients: each by its id, with its settings, from its first Telemetry until it leaves or is silent.

A client that receives before it sends its settings, as after a restart of the broker, has a session without
them.

A session replaces a connection in the broker's tables of clients: a client calls by many connections, and
gets commands by the stream of its newest Telemetry. Without a stream it remains a member as long as its
heartbeats arrive. RocketMQ: `GrpcChannelManager`, `GrpcClientChannel`, `GrpcClientSettingsManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import NotAnswered
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.status import CallRefused, Code

ANSWER_MILLIS = 5000
"""Time in which a client must answer a command. RocketMQ: `grpcProxyRelayRequestTimeoutInSeconds`."""

CONSUMERS = (
    v2.ClientType.PUSH_CONSUMER,
    v2.ClientType.SIMPLE_CONSUMER,
    v2.ClientType.PULL_CONSUMER,
    v2.ClientType.LITE_PUSH_CONSUMER,
    v2.ClientType.LITE_SIMPLE_CONSUMER,
)
LITE_CONSUMERS = (v2.ClientType.LITE_PUSH_CONSUMER, v2.ClientType.LITE_SIMPLE_CONSUMER)

Answered = tuple[v2.Status, str]
"""A client's answer to a command: status, and a text it may send along."""


def no_settings() -> CallRefused:
    """Return the refusal of a client that has not sent its settings."""
    return CallRefused(Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")


class ClientSession:
    """One client; a `ClientConnection`. `heard_at` is monotonic time in ms."""

    def __init__(self, caller: CallConnection, now: int) -> None:
        self.client_id = caller.client_id
        self.language, self.version = caller.language, caller.version
        self.address, self.host_bytes = caller.address, caller.host_bytes
        self.settings = v2.Settings()
        self.subscriptions: list[SubscriptionData] = []
        """Subscriptions of a consumer, as the broker's tables have them."""
        self.heard_at = now
        self.is_open = True
        self.was_updated = False
        """True once the settings were sent to the client with a heartbeat."""
        self._stream: CallConnection | None = None
        self._on_lost: dict[Callable[[Any], None], None] = {}
        self._next_nonce = 0
        self._pending: dict[str, tuple[int, Deferred[Answered]]] = {}

    def __repr__(self) -> str:
        return f"gRPC client {self.client_id} at {self.address}"

    @property
    def has_settings(self) -> bool:
        """True if the client has sent its settings."""
        return self.settings.WhichOneof("pub_sub") is not None

    @property
    def is_lite(self) -> bool:
        """True if the client consumes lite topics."""
        return self.settings.client_type in LITE_CONSUMERS

    @property
    def is_consumer(self) -> bool:
        """True if the client consumes."""
        return self.settings.client_type in CONSUMERS

    @property
    def group(self) -> str:
        """The group of a consumer."""
        return self.settings.subscription.group.name

    @property
    def has_stream(self) -> bool:
        """True if a command can be sent to the client now."""
        return self._stream is not None and self._stream.is_open

    def heard(self, caller: CallConnection, now: int) -> None:
        """Note a call of the client."""
        self.heard_at = now
        self.language, self.version = caller.language, caller.version
        self.address, self.host_bytes = caller.address, caller.host_bytes

    def speak_by(self, stream: CallConnection) -> None:
        """Send commands by this call, a Telemetry, from now on."""
        stream.watch()
        self._stream = stream

    def send(self, command: v2.TelemetryCommand) -> bool:
        """Send a command; False if there is no stream."""
        if self._stream is None or not self._stream.is_open:
            return False
        self._stream.call.send(command)
        return True

    def next_nonce(self) -> str:
        """Return a unique text that identifies a command with an answer."""
        nonce, self._next_nonce = str(self._next_nonce), self._next_nonce + 1
        return nonce

    def ask(self, nonce: str, command: v2.TelemetryCommand, now: int) -> Deferred[Answered]:
        """Send a command that is answered under the nonce. Fails with `NotAnswered`."""
        answer: Deferred[Answered] = Deferred()
        if self.send(command):
            self._pending[nonce] = now + ANSWER_MILLIS, answer
        else:
            answer.errback(NotAnswered("there is no Telemetry stream of the client"))
        return answer

    def answer(self, nonce: str, status: v2.Status, text: str) -> None:
        """Take the answer to a command; an answer without a command, or a late one, is ignored."""
        asked = self._pending.pop(nonce, None)
        if asked is not None:
            asked[1].callback((status, text))

    def give_up(self, now: int) -> None:
        """Fail the commands whose answers are late."""
        for nonce in [nonce for nonce, (deadline, _) in self._pending.items() if deadline <= now]:
            self._pending.pop(nonce)[1].errback(NotAnswered("call remote timeout", is_late=True))

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call back once the session is over; at once if it is."""
        if not self.is_open:
            callback(self)
        else:
            self._on_lost[callback] = None

    def close(self, reason: str) -> None:
        """End the session: it leaves all groups."""
        if not self.is_open:
            return
        self.is_open = False
        if self._stream is not None:
            self._stream.call.finish()
        for _, answer in self._pending.values():
            answer.errback(NotAnswered("the client has gone"))
        self._pending.clear()
        callbacks, self._on_lost = list(self._on_lost), {}
        for callback in callbacks:
            callback(self)


class ClientSessions:
    """All sessions by client id; at most `maxGrpcClients`."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._known: dict[str, ClientSession] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[ClientSession]:
        return iter(list(self._known.values()))

    def get(self, client_id: str) -> ClientSession | None:
        """Return the session of a client."""
        return self._known.get(client_id)

    def known(self, client_id: str) -> ClientSession:
        """Return the session of a client that has sent its settings. Raises `CallRefused`."""
        session = self._known.get(client_id)
        if session is None or not session.has_settings:
            raise no_settings()
        return session

    def of(self, caller: CallConnection, now: int) -> ClientSession:
        """Return the caller's session, or begin one. Raises `CallRefused` if there are too many."""
        session = self._known.get(caller.client_id)
        if session is not None:
            session.heard(caller, now)
            return session
        most = self._options.max_grpc_clients
        if len(self._known) >= most:
            raise CallRefused(
                Code.TOO_MANY_REQUESTS, f"{most} clients are known, no more are allowed (maxGrpcClients)"
            )
        session = self._known[caller.client_id] = ClientSession(caller, now)
        session.on_lost(self._forget)
        return session

    def tick(self, now: int) -> None:
        """End the sessions of silent clients, and fail commands with late answers; `now` is monotonic, ms."""
        oldest = now - self._options.channel_expired_timeout
        for session in self:
            session.give_up(now)
            if session.heard_at < oldest:
                session.close("nothing was heard of the client for too long")

    def _forget(self, session: ClientSession) -> None:
        del self._known[session.client_id]
