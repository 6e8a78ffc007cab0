"""What this package needs of Twisted's reactor and transports, as structural types.

The real things are `IReactorTime`, `IReactorTCP`, `ITCPTransport` and `IListeningPort`; the doubles of
`twisted.internet.testing` fit as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol


class Timer(Protocol):
    """A call that is still to come: `IDelayedCall`. Times are in seconds of the loop's clock."""

    def getTime(self) -> float: ...

    def reset(self, secondsFromNow: float, /) -> object: ...

    def cancel(self) -> object: ...

    def active(self) -> bool: ...


class Transport(Protocol):
    """A connection's bytes, going out: `ITCPTransport`."""

    def write(self, data: bytes, /) -> object: ...

    def writeSequence(self, data: Iterable[bytes], /) -> object: ...

    def loseConnection(self) -> object: ...

    def abortConnection(self) -> object: ...

    def getPeer(self) -> Any: ...

    def getHost(self) -> Any: ...

    def setTcpNoDelay(self, enabled: bool, /) -> object: ...

    def registerProducer(self, producer: Any, streaming: bool, /) -> object: ...

    def unregisterProducer(self) -> object: ...

    def pauseProducing(self) -> object: ...

    def resumeProducing(self) -> object: ...


class ListeningPort(Protocol):
    """A port that takes connections: `IListeningPort`."""

    def getHost(self) -> Any: ...

    def stopListening(self) -> Any: ...


class Clockwork(Protocol):
    """The reactor's time: `IReactorTime`."""

    def seconds(self) -> float: ...

    def callLater(self, delay: float, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> Timer: ...


class Reactor(Clockwork, Protocol):
    """The reactor, as far as servers and clients use it."""

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "", /) -> Any: ...

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None, /
    ) -> Any: ...
