"""The reactor of a service that can be killed: from one moment to the next nothing of it moves any more.

Whatever the service sets in motion goes through here: timers, ports, connections of both kinds. `kill` ends
them all without telling the service anything it could still answer.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IProtocolFactory
from twisted.internet.protocol import Protocol
from zope.interface import directlyProvides  # type: ignore[import-untyped, unused-ignore]

from mqgateway.gateway.remoting.transport import listen
from mqgateway.gateway.runtime.loop import Reactor, Timer


class MortalReactor:
    """Stands before a reactor. `refuses`: new connections are closed at once, as by a firewall."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor: Any = reactor
        self._ports: list[Any] = []
        self._protocols: set[Protocol] = set()
        self._is_dead = False
        self.refuses = False

    def seconds(self) -> float:
        """The loop's time."""
        seconds: float = self._reactor.seconds()
        return seconds

    def callLater(self, delay: float, callable: Any, /, *args: Any, **kw: Any) -> Timer:
        """See `IReactorTime`; timers of the dead come to nothing."""
        timer: Timer = self._reactor.callLater(delay, self._call, callable, args, kw)
        return timer

    def callFromThread(self, callable: Any, /, *args: Any, **kw: Any) -> None:
        """See `IReactorFromThreads`."""
        self._reactor.callFromThread(self._call, callable, args, kw)

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        """See `IReactorTCP`."""
        self._ports.append(listen(self._reactor, port, _Watched(factory, self, True), backlog, interface))
        return self._ports[-1]

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: Any = None
    ) -> Any:
        """See `IReactorTCP`."""
        return self._reactor.connectTCP(host, port, _Watched(factory, self, False), timeout, bindAddress)

    def cut(self) -> None:
        """Break all connections, of both kinds."""
        for protocol in list(self._protocols):
            transport: Any = protocol.transport
            if transport is not None:
                transport.abortConnection()
        self._protocols.clear()

    def kill(self) -> list[Any]:
        """End it; what its ports give on closing, which may be Deferreds."""
        self._is_dead = True
        self.cut()
        return [port.stopListening() for port in self._ports]

    def watch(self, protocol: Protocol | None) -> Protocol | None:
        """A connection was made."""
        if protocol is not None:
            self._protocols = {
                one for one in self._protocols if getattr(one.transport, "connected", True)
            } | {protocol}
        return protocol

    def _call(self, callable: Any, args: Any, kw: Any) -> None:
        if not self._is_dead:
            callable(*args, **kw)


class _Watched:
    """A factory whose connections are known to the reactor."""

    def __init__(self, factory: Any, reactor: MortalReactor, listens: bool) -> None:
        self._factory = factory
        self._reactor = reactor
        self._listens = listens
        directlyProvides(self, IProtocolFactory)

    def buildProtocol(self, address: Any) -> Protocol | None:
        if self._listens and self._reactor.refuses:
            return None
        return self._reactor.watch(self._factory.buildProtocol(address))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._factory, name)
