"""TCP transports that write to the socket at once if nothing is queued.

Twisted's own transports buffer every write, register for writability, send on the next turn of the event
loop, and unregister: two system calls for each reply or request that the socket would have accepted right
away. Here `write` tries the socket first and buffers only what does not fit. `offer` is for writers that keep
their own buffers: chunks go to the socket unchanged, and what it does not accept stays with the writer.
`writeSequence` is unchanged: its writes are joined until the loop turns.

Some of the files that a process may open are reserved for those that it writes: a connection that gets one of
the last descriptors is closed at once. Otherwise clients up to the limit would make a broker refuse all
messages, as with a full disk.
"""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.tcp import Client, Connection, Connector, Port, Server

from mqgateway.gateway.runtime.loop import ListeningPort, Reactor

log = logging.getLogger(__name__)

CHUNKS_MAX: Final = 1024
"""Maximum number of chunks in one system call (`IOV_MAX`)."""
SPARE_FILES = 1024
"""Maximum number of files reserved from connections: twice as many as a store keeps open."""


def spare_files(open_files: int) -> int:
    """Return how many of a process's `open_files` are reserved from connections."""
    return min(SPARE_FILES, open_files // 4)


def first_spare() -> int:
    """Return the first reserved descriptor of this process."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - spare_files(limit)


class _Eager(Connection):
    """Common part of both kinds."""

    SEND_LIMIT = 1024 * 1024
    """Bytes offered to the socket at once; large enough for a whole pull reply."""
    producerPaused: bool

    _waits = False  # for the socket: output is buffered, or closing

    def write(self, data: bytes) -> None:
        """Send what the socket accepts now and buffer the rest."""
        if self._waits or not self.connected:
            super().write(data)  # type: ignore[no-untyped-call]
            return
        sent = self.writeSomeData(data)
        if not isinstance(sent, int):
            sent = 0  # broken connection: the loop detects and reports it as usual
        if sent < len(data):
            super().write(data[sent:])  # type: ignore[no-untyped-call]

    def offer(self, chunks: Sequence[bytes | bytearray | memoryview]) -> int:
        """Send chunks without a copy, at most `CHUNKS_MAX`; return how many bytes the socket accepted.

        The caller must be the registered producer. It keeps the rest and may offer it again at once. After 0
        it is resumed when the socket is writable; a broken connection is then detected by the loop.
        """
        if not self.connected:
            return 0
        if not self._waits:
            try:
                return self.socket.sendmsg(chunks)
            except OSError:
                pass  # the loop detects whether it is full or broken
        self.producerPaused = True
        self.startWriting()
        return 0

    def startWriting(self) -> None:
        """Register for writability."""
        self._waits = True
        super().startWriting()  # type: ignore[no-untyped-call]

    def stopWriting(self) -> None:
        """Unregister, because nothing is left to send."""
        self._waits = False
        super().stopWriting()  # type: ignore[no-untyped-call]


class EagerTransport(_Eager, Server):
    """Transport of an accepted connection; closed at once if the port has no room for it."""

    def __init__(
        self, sock: Any, protocol: Any, client: Any, server: Any, sessionno: int, reactor: Any
    ) -> None:
        super().__init__(sock, protocol, client, server, sessionno, reactor)
        if not server.has_room_for(sock.fileno()):
            self.abortConnection()  # type: ignore[no-untyped-call]


class EagerClient(_Eager, Client):
    """Transport of an outgoing connection."""


class EagerPort(Port):
    """Listening port whose connections have eager transports."""

    transport = EagerTransport
    _was_full = False

    def startListening(self) -> None:
        """Start to accept connections."""
        self._first_spare = first_spare()
        super().startListening()

    def has_room_for(self, descriptor: int) -> bool:
        """Return True if a connection may use this descriptor. The first refusal of a series is logged."""
        is_full = descriptor >= self._first_spare
        if is_full and not self._was_full:
            log.warning(
                "connections are refused: LimitNOFILE (or `ulimit -n`) leaves room for %d of them",
                self._first_spare,
            )
        self._was_full = is_full
        return not is_full


class _EagerConnector(Connector):
    def _makeTransport(self) -> EagerClient:
        return EagerClient(self.host, self.port, self.bindAddress, self, self.reactor)  # type: ignore[no-untyped-call]


class Connecting:
    """Reactor facade for connectors; connections have eager transports."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self.callLater = reactor.callLater

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None
    ) -> Any:
        """See `IReactorTCP.connectTCP`."""
        connector = _EagerConnector(host, port, factory, timeout, bindAddress, self._reactor)
        connector.connect()
        return connector


def connecting(reactor: Reactor) -> Any:
    """Return a facade with eager transports if the reactor has sockets, else the reactor itself."""
    return Connecting(reactor) if isinstance(reactor, PosixReactorBase) else reactor


def listen(reactor: Reactor, port: int, factory: Any, backlog: int, interface: str) -> ListeningPort:
    """Listen with eager transports if the reactor watches file descriptors, else with its own.

    Raises `twisted.internet.error.CannotListenError`.
    """
    if not IReactorFDSet.providedBy(reactor):
        listening: ListeningPort = reactor.listenTCP(port, factory, backlog, interface)
        return listening
    eager = EagerPort(port, factory, backlog, interface, reactor)
    eager.startListening()
    return eager
