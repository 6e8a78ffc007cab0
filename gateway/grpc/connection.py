"""gRPC connection over a Twisted transport.

It shares the turns of remoting connections: the input of one read is served, the store's work is done once,
then all output is written at once. A peer that does not read is not read either. It is disconnected if it
leaves too much unread, or if its unfinished input grows too large (`PendingInput`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.gateway.grpc import conversation
from mqgateway.gateway.grpc.call import RpcPeer
from mqgateway.gateway.grpc.conversation import Conversation
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings as RemotingSettings
from mqgateway.gateway.remoting.pending_input import PendingInput
from mqgateway.gateway.runtime.loop import Transport

log = logging.getLogger(__name__)

PING_SECONDS = 20.0
"""Time in which a peer must answer a ping; as in grpc-java."""


@dataclass
class GrpcConnectionSettings:
    """Settings shared by all gRPC connections of one server."""

    calls: conversation.CallSettings
    remoting: RemotingSettings
    pending: PendingInput
    idle_seconds: float
    """Idle time after which a connection without calls is closed, and one with calls is pinged."""


@implementer(IHandshakeListener)
class GrpcConnection:
    """gRPC connection; see `Conversing`. `on_made` and `on_gone` are called at its start and end."""

    transport: Transport  # set before any call

    def __init__(
        self,
        settings: GrpcConnectionSettings,
        on_made: Callable[[GrpcConnection], None],
        on_gone: Callable[[GrpcConnection], None],
    ) -> None:
        self._settings = settings
        self._on_made = on_made
        self._on_gone = on_gone
        self._conversation: Conversation | None = None
        self._source: tuple[str, int] | None = None
        self.address = ""
        self.is_open = False
        self.is_secure = False
        self._has_output = False  # registered with the turn
        self._unsent = 0
        self._is_full = False  # state of the transport's buffer
        self._is_reading = True
        self._kept = 0
        self._was_read = True  # since the last idle sweep
        self._silent_since = 0.0
        self._pinged_at: float | None = None
        self._settled: Deferred[None] | None = None

    # Callbacks of Twisted and of the server

    def set_address(self, ip: str, port: int) -> None:
        """See `Conversing`."""
        self._source = (ip, port)
        self.address = format_address(ip, port)

    def handshakeCompleted(self) -> None:
        """See `Conversing`."""
        self.is_secure = True

    def makeConnection(self, transport: Transport) -> None:
        """See `Conversing`."""
        self.transport = transport
        if self._source is None:
            self.set_address(*host_and_port(transport.getPeer()))
        no_delay = getattr(transport, "setTcpNoDelay", None)  # TCP only
        if no_delay is not None:
            no_delay(True)
        self.is_open = True
        transport.registerProducer(self, True)
        self._on_made(self)

    def dataReceived(self, data: bytes) -> None:
        """See `Conversing`."""
        if not self.is_open:
            return
        self._was_read = True
        calls = self._conversation or self._begin()
        turn = self._settings.remoting.turn
        is_ours = turn.begin()
        try:
            calls.receive(data)
        finally:
            self._speak()
            if is_ours:
                turn.end()
        self._count_kept()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `Conversing`."""
        self.is_open = False
        self._let_go()
        if self._conversation is not None:
            self._conversation.lost()
        self._check_settled()
        self._on_gone(self)

    def pauseProducing(self) -> None:
        """Start counting written bytes, because the transport's buffer is full."""
        self._is_full = True

    def resumeProducing(self) -> None:
        """Continue reading, because everything written has been sent."""
        self._is_full = False
        self._unsent = 0
        if not self._is_reading and self.is_open:
            self._is_reading = True
            self.transport.resumeProducing()

    def stopProducing(self) -> None:
        """Do nothing; `connectionLost` follows."""

    def close(self, reason: str) -> None:
        """See `Conversing`."""
        if not self.is_open:
            return
        if reason:
            log.info("%s is closed: %s", self.address, reason)
        if self._conversation is not None:
            self._conversation.leave()
        self.flush()
        self._lose()

    def is_idle(self, now: float, limit: float) -> bool:
        """See `Conversing`; uses the limit of gRPC, and pings a peer with open calls first."""
        if self._was_read or not self.is_open:
            self._was_read = False
            self._silent_since = now
            self._pinged_at = None
            return False
        if now - self._silent_since < self._settings.idle_seconds:
            return False
        if self._conversation is None or not self._conversation.open_calls:
            return True
        if self._pinged_at is None:
            self._pinged_at = now
            self._conversation.http2.ping()
            self._speak()
            return False
        return now - self._pinged_at >= PING_SECONDS

    def quiet(self, now: float) -> float:
        """See `Conversing`."""
        return 0.0 if self._was_read else now - self._silent_since

    @property
    def last_request(self) -> str:
        """See `Conversing`: the method without the name of its service."""
        return "" if self._conversation is None else self._conversation.last_path.rpartition("/")[2]

    def settled(self) -> Deferred[None]:
        """See `Conversing`: no calls are accepted any more, and streams end."""
        if self._conversation is None or not self.is_open:
            return succeed(None)
        settled: Deferred[None] = Deferred()
        self._settled = settled
        self._conversation.leave()
        self._speak()
        return settled

    def say_refused(self, peer: str, reason: str) -> None:
        """See `Conversing`."""
        remoting = self._settings.remoting
        unsaid = remoting.notices.say(f"gRPC: {reason}", remoting.reactor.seconds())
        if unsaid is not None:
            more = f" ({unsaid} more did since this was last said)" if unsaid else ""
            log.warning("%s is refused by gRPC: %s%s", peer, reason, more)

    # Callbacks of shared components

    def flush(self) -> None:
        """Write pending output; see `Speaker`."""
        self._has_output = False
        calls = self._conversation
        if calls is None or not self.is_open:
            return
        data = calls.take()
        if data:
            self.transport.write(data)
            self._count_unsent(len(data))
        if calls.is_over and self.is_open:
            self.say_refused(self.address, calls.http2.complaint)
            self._lose()
        self._check_settled()

    def tick(self, now: float) -> None:
        """Handle the passing of a second."""
        if self._conversation is not None:
            self._conversation.tick(now, self._settings.idle_seconds)
            self._count_kept()

    def cut_off(self, reason: str) -> None:
        """See `Keeper`."""
        log.warning("%s is disconnected: %s", self.address, reason)
        self._kept = 0
        self.abort()

    def abort(self) -> None:
        """Abort the connection."""
        self.is_open = False
        self.transport.abortConnection()

    # Internals

    def _begin(self) -> Conversation:
        host, port = self._source or ("", 0)
        local_host, local_port = host_and_port(self.transport.getHost())
        peer = RpcPeer(host, port, local_host, local_port, self.is_secure)
        self._conversation = made = Conversation(self._settings.calls, peer, self._speak)
        return made

    def _speak(self) -> None:
        if not self._has_output and self.is_open:
            self._has_output = True
            if not self._settings.remoting.turn.add(self):
                self.flush()

    def _count_unsent(self, size: int) -> None:
        if not self._is_full:
            return
        remoting = self._settings.remoting
        self._unsent += size
        if self._unsent > remoting.unsent_limit:
            log.warning("%s is disconnected: it has left %d bytes unread", self.address, self._unsent)
            self.abort()
        elif self._unsent > remoting.high_water_mark and self._is_reading:
            self._is_reading = False
            self.transport.pauseProducing()

    def _count_kept(self) -> None:
        calls = self._conversation
        kept = calls.kept if calls is not None and self.is_open else 0
        if kept or self._kept:
            before, self._kept = self._kept, kept
            self._settings.pending.set(self, self._host(), kept, is_new=kept < before)

    def _let_go(self) -> None:
        if self._kept:
            self._kept = 0
            self._settings.pending.set(self, self._host(), 0, is_new=True)

    def _host(self) -> str:
        return self._source[0] if self._source is not None else ""

    def _check_settled(self) -> None:
        settled, calls = self._settled, self._conversation
        if settled is not None and (
            not self.is_open or calls is None or not (calls.open_calls or calls.http2.held)
        ):
            self._settled = None
            settled.callback(None)

    def _lose(self) -> None:
        self.is_open = False
        # A transport with a paused producer would wait for it instead of closing.
        self.transport.unregisterProducer()
        self.transport.loseConnection()
