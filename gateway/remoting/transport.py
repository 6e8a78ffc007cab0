"""TCP transports that send at once what nothing waits before.

Twisted's own put every write into a buffer, ask the system to be told when the socket takes bytes, send on
the next turn of the loop, and take the question back: two system calls for each reply or request that the
socket would have taken right away. Here `write` tries the socket first and falls back to the buffer with
whatever does not fit. `offer` is for writers that keep their bytes themselves: pieces go to the socket as
they are, and what it does not take stays with the writer. `writeSequence` stays as it was: what is written
through it is joined until the loop turns.

Some of the files that a process may have open are kept for those that it writes: a connection that is given
one of the last descriptors is closed at once. Without that as many clients as the limit allows would let a
broker refuse everybody's messages, as for a full disk.
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

PIECES_MAX: Final = 1024
"""Pieces that the system takes in one call (`IOV_MAX`)."""
SPARE_FILES = 1024
"""Files that connections leave to others at the most: twice as many as a store keeps open."""


def spare_files(open_files: int) -> int:
    """How many of the files that a process may have open connections leave to others."""
    return min(SPARE_FILES, open_files // 4)


def first_spare() -> int:
    """The descriptor from which on this process keeps them for others."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - spare_files(limit)


class _Eager(Connection):
    """What both kinds have in common."""

    SEND_LIMIT = 1024 * 1024
    """Bytes offered to the socket at once; large enough for a whole pull reply."""
    producerPaused: bool

    _waits = False  # for the socket: something is buffered, or the end has been asked for

    def write(self, data: bytes) -> None:
        """Send what the socket takes now and buffer the rest; like any transport's otherwise."""
        if self._waits or not self.connected:
            super().write(data)  # type: ignore[no-untyped-call]
            return
        sent = self.writeSomeData(data)
        if not isinstance(sent, int):
            sent = 0  # the connection is broken: the loop finds out and tells, as it always does
        if sent < len(data):
            super().write(data[sent:])  # type: ignore[no-untyped-call]

    def offer(self, pieces: Sequence[bytes | bytearray | memoryview]) -> int:
        """Send pieces without a copy, at most `PIECES_MAX`; return how many bytes the socket took.

        The caller, which must be the registered producer, keeps the others. It may offer them again at once.
        After 0 it is resumed when the socket takes bytes; a broken connection is found by the loop then.
        """
        if not self.connected:
            return 0
        if not self._waits:
            try:
                return self.socket.sendmsg(pieces)
            except OSError:
                pass  # the loop finds out whether it is full or broken
        self.producerPaused = True
        self.startWriting()
        return 0

    def startWriting(self) -> None:
        """The loop will tell when the socket takes bytes."""
        self._waits = True
        super().startWriting()  # type: ignore[no-untyped-call]

    def stopWriting(self) -> None:
        """Nothing is left to be sent."""
        self._waits = False
        super().stopWriting()  # type: ignore[no-untyped-call]


class EagerTransport(_Eager, Server):
    """The transport of one accepted connection, which ends at once where the port has no room for it."""

    def __init__(
        self, sock: Any, protocol: Any, client: Any, server: Any, sessionno: int, reactor: Any
    ) -> None:
        super().__init__(sock, protocol, client, server, sessionno, reactor)
        if not server.has_room_for(sock.fileno()):
            self.abortConnection()  # type: ignore[no-untyped-call]


class EagerClient(_Eager, Client):
    """The transport of a connection that we make."""


class EagerPort(Port):
    """A listening port whose connections have eager transports."""

    transport = EagerTransport
    _was_full = False

    def startListening(self) -> None:
        """Begin to take connections."""
        self._first_spare = first_spare()
        super().startListening()

    def has_room_for(self, descriptor: int) -> bool:
        """Whether a connection may have this descriptor; said once until one may again."""
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
    """A reactor as far as who connects needs it; connections have eager transports."""

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
    """What makes connections with eager transports where the reactor has sockets, else the reactor itself."""
    return Connecting(reactor) if isinstance(reactor, PosixReactorBase) else reactor


def listen(reactor: Reactor, port: int, factory: Any, backlog: int, interface: str) -> ListeningPort:
    """Listen with eager transports where the reactor watches file descriptors, else as it does itself.

    Raises `twisted.internet.error.CannotListenError`.
    """
    if not IReactorFDSet.providedBy(reactor):
        listening: ListeningPort = reactor.listenTCP(port, factory, backlog, interface)
        return listening
    eager = EagerPort(port, factory, backlog, interface, reactor)
    eager.startListening()
    return eager
