"""The clients: each by its id, with its settings, from its first Telemetry until it leaves or is silent.

One that receives before it says its settings, as after a restart of the broker, has a session without them.

A session stands in the broker's tables of clients in place of a connection: a client calls by many, and
what is said to it goes by the stream of its newest Telemetry. Without one it is a member still, as long as
its heartbeats come. Standard: `GrpcChannelManager`, `GrpcClientChannel`, `GrpcClientSettingsManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import NotAnswered
from mqgateway.gateway.codec.bodies.heartbeat import SubscriptionData
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import Caller
from mqgateway.gateway.grpc.service.status import Code, Refused

ANSWER_MILLIS = 5000
"""How long a client may take for what it is asked. Standard: `grpcProxyRelayRequestTimeoutInSeconds`."""

CONSUMERS = (
    v2.ClientType.PUSH_CONSUMER,
    v2.ClientType.SIMPLE_CONSUMER,
    v2.ClientType.PULL_CONSUMER,
    v2.ClientType.LITE_PUSH_CONSUMER,
    v2.ClientType.LITE_SIMPLE_CONSUMER,
)
LITE_CONSUMERS = (v2.ClientType.LITE_PUSH_CONSUMER, v2.ClientType.LITE_SIMPLE_CONSUMER)

Answered = tuple[v2.Status, str]
"""How a client took what it was asked, and a text it may send along."""


def no_settings() -> Refused:
    """The refusal of a client that has not said its settings."""
    return Refused(Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")


class Session:
    """One client; a `ClientConnection`. `heard_at` is monotonic time in ms."""

    def __init__(self, caller: Caller, now: int) -> None:
        self.client_id = caller.client_id
        self.language, self.version = caller.language, caller.version
        self.address, self.host_bytes = caller.address, caller.host_bytes
        self.settings = v2.Settings()
        self.subscriptions: list[SubscriptionData] = []
        """What a consumer subscribes to, as the broker's tables have it."""
        self.heard_at = now
        self.is_open = True
        self.was_told_again = False
        """Whether it was told its settings with a heartbeat."""
        self._stream: Caller | None = None
        self._on_lost: dict[Callable[[Any], None], None] = {}
        self._next_nonce = 0
        self._asked: dict[str, tuple[int, Deferred[Answered]]] = {}

    def __repr__(self) -> str:
        return f"gRPC client {self.client_id} at {self.address}"

    @property
    def has_settings(self) -> bool:
        """Whether it said its settings."""
        return self.settings.WhichOneof("pub_sub") is not None

    @property
    def is_lite(self) -> bool:
        """Whether it consumes lite topics."""
        return self.settings.client_type in LITE_CONSUMERS

    @property
    def is_consumer(self) -> bool:
        """Whether it consumes."""
        return self.settings.client_type in CONSUMERS

    @property
    def group(self) -> str:
        """The group of a consumer."""
        return self.settings.subscription.group.name

    @property
    def has_stream(self) -> bool:
        """Whether something can be said to it now."""
        return self._stream is not None and self._stream.is_open

    def heard(self, caller: Caller, now: int) -> None:
        """It called."""
        self.heard_at = now
        self.language, self.version = caller.language, caller.version
        self.address, self.host_bytes = caller.address, caller.host_bytes

    def speak_by(self, stream: Caller) -> None:
        """From now on it is told things by this call, a Telemetry."""
        stream.watch()
        self._stream = stream

    def tell(self, command: v2.TelemetryCommand) -> bool:
        """Say something; False where there is no way."""
        if self._stream is None or not self._stream.is_open:
            return False
        self._stream.call.send(command)
        return True

    def next_nonce(self) -> str:
        """What tells a question from others."""
        nonce, self._next_nonce = str(self._next_nonce), self._next_nonce + 1
        return nonce

    def ask(self, nonce: str, command: v2.TelemetryCommand, now: int) -> Deferred[Answered]:
        """Say something that is answered under the nonce. Fails with `NotAnswered`."""
        answer: Deferred[Answered] = Deferred()
        if self.tell(command):
            self._asked[nonce] = now + ANSWER_MILLIS, answer
        else:
            answer.errback(NotAnswered("there is no Telemetry stream of the client"))
        return answer

    def answer(self, nonce: str, status: v2.Status, text: str) -> None:
        """It answers what it was asked; nothing happens where it was not, or long ago."""
        asked = self._asked.pop(nonce, None)
        if asked is not None:
            asked[1].callback((status, text))

    def give_up(self, now: int) -> None:
        """Wait no more for answers that are late."""
        for nonce in [nonce for nonce, (deadline, _) in self._asked.items() if deadline <= now]:
            self._asked.pop(nonce)[1].errback(NotAnswered("call remote timeout", is_late=True))

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call back once the session is over; at once if it is."""
        if not self.is_open:
            callback(self)
        else:
            self._on_lost[callback] = None

    def close(self, reason: str) -> None:
        """The session is over: it is a member of nothing any more."""
        if not self.is_open:
            return
        self.is_open = False
        if self._stream is not None:
            self._stream.call.finish()
        for _, answer in self._asked.values():
            answer.errback(NotAnswered("the client has gone"))
        self._asked.clear()
        callbacks, self._on_lost = list(self._on_lost), {}
        for callback in callbacks:
            callback(self)


class Sessions:
    """All sessions by client id; at most `maxGrpcClients`."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._known: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._known.values()))

    def get(self, client_id: str) -> Session | None:
        """The session of a client."""
        return self._known.get(client_id)

    def known(self, client_id: str) -> Session:
        """The session of a client that has said its settings. Raises `Refused`."""
        session = self._known.get(client_id)
        if session is None or not session.has_settings:
            raise no_settings()
        return session

    def of(self, caller: Caller, now: int) -> Session:
        """The session of who calls, begun if there is none. Raises `Refused` where there are too many."""
        session = self._known.get(caller.client_id)
        if session is not None:
            session.heard(caller, now)
            return session
        most = self._options.max_grpc_clients
        if len(self._known) >= most:
            raise Refused(
                Code.TOO_MANY_REQUESTS, f"{most} clients are known, no more are allowed (maxGrpcClients)"
            )
        session = self._known[caller.client_id] = Session(caller, now)
        session.on_lost(self._forget)
        return session

    def tick(self, now: int) -> None:
        """End the sessions of silent clients, and wait no more for late answers; `now` is monotonic, ms."""
        oldest = now - self._options.channel_expired_timeout
        for session in self:
            session.give_up(now)
            if session.heard_at < oldest:
                session.close("nothing was heard of the client for too long")

    def _forget(self, session: Session) -> None:
        del self._known[session.client_id]
