"""Machines in a `Net`: each can be disconnected, be frozen, or die, with everything that runs on it.

A `Host` is the reactor of its programs. While it is frozen, nothing of that happens: input waits in its
sockets, and due calls wait too. When it resumes, it reads before it runs due calls, as a process does that
was stopped while it waited for its sockets. A disconnected host continues to run, but nothing it sends
arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionRefusedError
from twisted.internet.error import TimeoutError as ConnectTimedOut
from twisted.python.failure import Failure

from tests.support.gateway.remoting.pair import Net, NetConnector, NetPort, Pair, Wire


class HostNet(Net):
    """Net that maps ports to hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[int, Host] = {}

    def meet(self, port: int, client: Any, client_address: tuple[str, int] = ("192.168.1.1", 54321)) -> Pair:
        server = self.ports[port].factory.buildProtocol(IPv4Address("TCP", *client_address))
        assert server is not None, "refused"
        pair = HostPair(None, self.owners.get(port), client, server, client_address, ("10.0.0.1", port))
        self.pairs.append(pair)
        return pair


class HostCall:
    """Delayed call on a host; it waits while the host is frozen."""

    def __init__(self, host: Host, delay: float, work: Callable[[], Any]) -> None:
        self.host, self.work = host, work
        self.call = host.net.callLater(delay, self.run)

    def run(self) -> None:
        if self.host.is_frozen:
            self.host.held.append(self)
            return
        if self in self.host.held:
            self.host.held.remove(self)
        if not self.host.is_dead:
            self.work()

    def active(self) -> bool:
        return self in self.host.held or self.call.active()

    def cancel(self) -> None:
        if self in self.host.held:
            self.host.held.remove(self)
        else:
            self.call.cancel()

    def reset(self, delay: float) -> None:
        if self in self.host.held:
            self.host.held.remove(self)
            self.call = self.host.net.callLater(delay, self.run)
        else:
            self.call.reset(delay)

    def getTime(self) -> float:
        return self.call.getTime()


class Host:
    """Machine; `None` as the end of a connection is the outside, which never fails."""

    def __init__(self, net: HostNet) -> None:
        self.net = net
        self.is_cut = self.is_frozen = self.is_dead = False
        self.held: list[HostCall] = []
        self._ports: set[int] = set()

    # Reactor interface for programs on the host

    def seconds(self) -> float:
        return self.net.seconds()

    def callLater(self, delay: float, work: Callable[..., Any], *given: Any, **named: Any) -> HostCall:
        return HostCall(self, delay, lambda: work(*given, **named))

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> NetPort:
        listening = self.net.listenTCP(port, factory, backlog, interface)
        self._ports.add(listening.port)
        self.net.owners[listening.port] = self
        return listening

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: object = None
    ) -> NetConnector:
        connector = HostConnector(self, host, port, factory)
        factory.doStart()
        factory.startedConnecting(connector)
        self.callLater(0, connector.reach)
        self.callLater(timeout, connector.time_out)
        return connector

    # Failures

    def die(self) -> None:
        self.is_dead, self.is_frozen = True, False
        self.held.clear()
        for port in self._ports:
            if self.net.owners.get(port) is self:
                self.net.ports.pop(port, None)
        for pair in self.net.pairs:
            if isinstance(pair, HostPair) and self in (pair.here, pair.there):
                pair.break_off(self)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self.is_frozen = True
        try:
            yield
        finally:
            self.thaw()

    def thaw(self) -> None:
        self.is_frozen = False
        for pair in list(self.net.pairs):
            pair.pump()
        while self.held:
            self.held[0].run()


def is_open(one: Host | None, other: Host | None) -> bool:
    """Return True if bytes can pass from one host to the other."""
    hosts = [host for host in (one, other) if host is not None]
    return not any(host.is_cut or host.is_frozen for host in hosts)


class HostPair(Pair):
    """Connection between two hosts, opened by `here`."""

    def __init__(self, here: Host | None, there: Host | None, *given: Any) -> None:
        self.here, self.there = here, there
        super().__init__(*given)

    def pump(self) -> bool:
        for count in range(10_000):
            moved = [
                self._carry(self.client, self.here, self.there),
                self._carry(self.server, self.there, self.here),
            ]
            if not any(moved):
                return count > 0
        raise AssertionError("the two ends never stop talking")

    def _carry(self, wire: Wire, source: Host | None, target: Host | None) -> bool:
        if source is not None and source.is_frozen:
            return False
        if wire.gone:
            if wire.other.gone or not is_open(source, target):
                return False
            _lose(wire.other, ConnectionDone(), target)
            return True
        if wire.aborted:
            _lose(wire, ConnectionAborted(), source)
            return True
        return is_open(source, target) and wire.carry()

    def break_off(self, host: Host) -> None:
        """Handle the death of one end; the other is notified as soon as possible."""
        wire = self.client if host is self.here else self.server
        wire.gone = True
        wire.pending.clear()


def _lose(wire: Wire, reason: Exception, host: Host | None) -> None:
    if host is not None and host.is_dead:
        wire.gone = True
    else:
        wire.lose(reason)


class HostConnector(NetConnector):
    """Connection attempt from a host."""

    def __init__(self, here: Host, host: str, port: int, factory: Any) -> None:
        super().__init__(here.net, host, port, factory)
        self.here = here

    def reach(self) -> None:
        there = self.here.net.owners.get(self.port)
        if self.over or not is_open(self.here, there):
            return
        self.over = True
        listening = self.net.ports.get(self.port)
        server = listening and listening.factory.buildProtocol(IPv4Address("TCP", "10.0.0.2", 50_000))
        if not server:
            self.factory.clientConnectionFailed(self, Failure(ConnectionRefusedError()))
            return
        client = self.factory.buildProtocol(IPv4Address("TCP", self.host, self.port))
        ends = ("10.0.0.2", 50_000), (self.host, self.port)
        self.net.pairs.append(HostPair(self.here, there, client, server, *ends))

    def time_out(self) -> None:
        if not self.over:
            self.over = True
            self.factory.clientConnectionFailed(self, Failure(ConnectTimedOut()))
