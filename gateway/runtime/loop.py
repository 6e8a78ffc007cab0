"""Structural types of Twisted's reactor and transports, with the methods that are used.

They match `IReactorTime`, `IReactorTCP`, `ITCPTransport` and `IListeningPort`, and the doubles of
`twisted.internet.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from twisted.internet.base import ReactorBase

from mqgateway.engine.clock import monotonic_seconds


class Timer(Protocol):
    """A pending call: `IDelayedCall`. Times are in seconds of the loop's clock."""

    def getTime(self) -> float: ...

    def reset(self, secondsFromNow: float, /) -> object: ...

    def cancel(self) -> object:
        """Cancel the call."""
        ...

    def active(self) -> bool:
        """Return True if the call is still pending."""
        ...


class Transport(Protocol):
    """The outgoing side of a connection: `ITCPTransport`."""

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
    """A port that accepts connections: `IListeningPort`."""

    def getHost(self) -> Any: ...

    def stopListening(self) -> Any: ...


class Clockwork(Protocol):
    """The reactor's time: `IReactorTime`."""

    def seconds(self) -> float:
        """Return the time of the loop's clock in seconds."""
        ...

    def callLater(self, delay: float, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> Timer: ...


class Reactor(Clockwork, Protocol):
    """The reactor, as far as servers and clients use it."""

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "", /) -> Any: ...

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None, /
    ) -> Any: ...


def use_monotonic_time(reactor: Any) -> None:
    """Make one of Twisted's reactors use the monotonic clock, also for its pending calls. Other reactors are
    unchanged.

    By default the reactor uses the wall clock. If that is set back by an hour, no timer fires for an hour.
    """
    if not isinstance(reactor, ReactorBase) or reactor.seconds is monotonic_seconds:
        return
    calls: Iterable[Any] = list(reactor.getDelayedCalls())
    left = [call.getTime() - reactor.seconds() for call in calls]
    reactor.seconds = monotonic_seconds
    for call, seconds in zip(calls, left, strict=True):
        call.seconds = monotonic_seconds
        call.reset(max(0.0, seconds))
