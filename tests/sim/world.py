"""True time, machines and the lines between them, for code that runs on a reactor.

Nothing is polled: everything is an event at a moment of true time, so that hours with few events cost little.
A `Process` is the reactor and the clock of the code in it. Its clock has its own speed. While it is frozen,
input waits in its sockets and timers wait too; when it is thawed, it reads first. A machine can be cut off in
one direction from any other: sent bytes wait as with TCP, and new connections are not established.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.error import TimeoutError as ConnectTimedOut
from twisted.python.failure import Failure

BEGIN_MILLIS = 1_700_000_000_000
LATENCY = (0.0001, 0.002)
"""Minimum and maximum latency of bytes, in seconds."""
SYN_SECONDS = 1.0
"""Delay before a connection attempt without an answer is repeated."""
BUFFER = 64 * 1024
"""Number of buffered bytes above which the producer is paused."""


class Event:
    """Work scheduled for a moment; that of a frozen process waits."""

    __slots__ = ("at", "given", "is_input", "process", "work")

    def __init__(self, at: float, process: Process | None, work: Any, given: tuple[Any, ...]) -> None:
        self.at, self.process = at, process
        self.work, self.given = work, given
        self.is_input = True

    def run(self) -> None:
        """Do the work. A dead process drops it; a frozen one holds it until it is thawed."""
        process, work = self.process, self.work
        if work is None or (process is not None and process.is_dead):
            return
        if process is not None and process.is_frozen:
            process.held.append(self)
            return
        self.work = None
        work(*self.given)


class Timer:
    """A delayed call in Twisted's sense."""

    __slots__ = ("_event", "_process", "_work")

    def __init__(self, process: Process, delay: float, work: Callable[[], object]) -> None:
        self._process, self._work = process, work
        self._set(delay)

    def _set(self, delay: float) -> None:
        process = self._process
        self._event = process.world.at(delay / process.speed, process, self._work)
        self._event.is_input = False

    def active(self) -> bool:
        return self._event.work is not None

    def cancel(self) -> None:
        self._event.work = None

    def reset(self, delay: float) -> None:
        self.cancel()
        self._set(delay)

    def getTime(self) -> float:
        process = self._process
        return process.seconds() + (self._event.at - process.world.now) * process.speed


class World:
    """All events, by seed; `now` is true time in seconds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # For Twisted's pauses between attempts to connect.
        random.seed(seed)
        self.now = 0.0
        self.ports: dict[tuple[str, int], Port] = {}
        self.cuts: set[tuple[str, str]] = set()
        """Pairs of addresses: no bytes get from the first to the second."""
        self.slowness: dict[str, float] = {}
        """Additional seconds of latency for bytes from and to an address."""
        self._waiting: list[Way] = []
        self._queue: list[tuple[float, int, Event]] = []
        self._numbers = itertools.count()

    def at(self, delay: float, process: Process | None, work: Callable[..., object], *given: Any) -> Event:
        """Schedule work after `delay` seconds of true time."""
        event = Event(self.now + delay, process, work, given)
        heapq.heappush(self._queue, (event.at, next(self._numbers), event))
        return event

    def run(self, seconds: float) -> None:
        """Advance the time by `seconds` and run the events that are due."""
        queue, end = self._queue, self.now + seconds
        while queue and queue[0][0] <= end:
            when, _, event = heapq.heappop(queue)
            self.now = max(self.now, when)
            event.run()
        self.now = end

    def latency(self, source: str = "", target: str = "") -> float:
        """Return the latency of the next bytes, in seconds."""
        slow = self.slowness
        beyond = slow.get(source, 0.0) + slow.get(target, 0.0) if slow else 0.0
        return beyond + self.random.uniform(*LATENCY)

    def is_cut(self, source: str, target: str) -> bool:
        """Return True if no bytes get from one machine to the other."""
        return (source, target) in self.cuts

    def wait_for_line(self, way: Way) -> None:
        """Resume this direction once the line is mended."""
        self._waiting.append(way)

    def mend(self, address: str) -> None:
        """Remove all cuts and delays to and from a machine."""
        self.cuts = {cut for cut in self.cuts if address not in cut}
        self.slowness.pop(address, None)
        waiting, self._waiting = self._waiting, []
        for way in waiting:
            way.kick()


class Process:
    """The reactor, the wall clock and the monotonic clock of one process at an address. `ahead` is how far
    the wall clock was set forward, ms."""

    def __init__(self, world: World, address: str, speed: float = 1.0, ahead: int = 0) -> None:
        self.world, self.address = world, address
        self.speed, self.ahead = speed, ahead
        self._begin, self._since = 0.0, 0.0
        self.is_frozen = self.is_dead = False
        self.held: list[Event] = []
        self.ends: dict[End, None] = {}
        self._ports: list[tuple[str, int]] = []

    # Clocks.

    def seconds(self) -> float:
        return self._begin + (self.world.now - self._since) * self.speed

    monotonic = seconds

    def millis(self) -> int:
        return BEGIN_MILLIS + self.ahead + round(self.seconds() * 1000)

    def drift(self, speed: float) -> None:
        """Set the speed of the clock from now on."""
        self._begin, self._since, self.speed = self.seconds(), self.world.now, speed

    # The reactor.

    def callLater(self, delay: float, work: Callable[..., Any], *given: Any, **named: Any) -> Timer:
        return Timer(self, delay, partial(work, *given, **named) if given or named else work)

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Port:
        place = self.address, port
        self.world.ports[place] = listening = Port(self, port, factory)
        self._ports.append(place)
        return listening

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: object = None
    ) -> Connector:
        connector = Connector(self, host, port, factory)
        factory.doStart()
        factory.startedConnecting(connector)
        self.world.at(self.world.latency(), None, connector.reach)
        connector.limit = self.callLater(timeout, connector.time_out)
        return connector

    # Faults.

    def freeze(self) -> None:
        """Stop all work until the process is thawed."""
        self.is_frozen = True

    def thaw(self) -> None:
        """Resume: first with input, then with timers that are due."""
        if not self.is_frozen:
            return
        self.is_frozen = False
        held, self.held = self.held, []
        for event in sorted(held, key=lambda one: not one.is_input):
            event.run()

    def die(self, *, silently: bool = False) -> None:
        """End the process. Its peers are notified, unless the machine lost its power (`silently`)."""
        self.is_dead, self.is_frozen = True, False
        self.held.clear()
        for place in self._ports:
            if self.world.ports.get(place) is not None and self.world.ports[place].process is self:
                del self.world.ports[place]
        for end in list(self.ends):
            end.vanish(silently=silently)


class Port:
    """A listening port."""

    def __init__(self, process: Process, port: int, factory: Any) -> None:
        self.process, self.port, self.factory = process, port, factory

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", self.process.address, self.port)

    def stopListening(self) -> None:
        self.process.world.ports.pop((self.process.address, self.port), None)


class Connector:
    """An attempt to connect."""

    def __init__(self, process: Process, host: str, port: int, factory: Any) -> None:
        self.process, self.host, self.port, self.factory = process, host, port, factory
        self.is_over = False
        self.limit: Any = None

    def reach(self) -> None:
        """Deliver the first packet; on a cut line repeat it later."""
        world, here = self.process.world, self.process.address
        if self.is_over or self.process.is_dead:
            return
        if world.is_cut(here, self.host) or world.is_cut(self.host, here):
            world.at(SYN_SECONDS, None, self.reach)
            return
        listening = world.ports.get((self.host, self.port))
        if listening is None:
            world.at(world.latency(), self.process, self._fail, ConnectionRefusedError())
            return
        self.is_over = True
        ours, theirs = End(self.process), End(listening.process)
        join(ours, theirs, self.port)
        world.at(0, listening.process, self._accept, listening, theirs)
        world.at(world.latency(), self.process, self._connected, ours)

    def _accept(self, listening: Port, end: End) -> None:
        protocol = listening.factory.buildProtocol(end.getPeer())
        if protocol is None:
            end.abortConnection()
            return
        end.begin(protocol)

    def _connected(self, end: End) -> None:
        self.limit.cancel()
        protocol = self.factory.buildProtocol(end.getPeer())
        if protocol is None:
            end.abortConnection()
        else:
            end.begin(protocol)

    def _fail(self, reason: Exception) -> None:
        if not self.is_over:
            self.is_over = True
            self.limit.cancel()
            self.factory.clientConnectionFailed(self, Failure(reason))

    def time_out(self) -> None:
        self._fail(ConnectTimedOut())

    def stopConnecting(self) -> None:
        self._fail(ConnectionAborted())

    disconnect = stopConnecting

    def getDestination(self) -> IPv4Address:
        return IPv4Address("TCP", self.host, self.port)


def join(here: End, there: End, port: int) -> None:
    """Make a connection of two ends."""
    random_port = here.process.world.random.randrange(20_000, 60_000)
    here.host = there.peer = IPv4Address("TCP", here.process.address, random_port)
    here.peer = there.host = IPv4Address("TCP", there.process.address, port)
    here.out, there.out = Way(here, there), Way(there, here)


class Way:
    """One direction of a connection, with its bytes in order."""

    def __init__(self, source: End, target: End) -> None:
        self.source, self.target = source, target
        self.chunks: list[bytes] = []
        self.size = 0
        self.ends_with: Exception | None = None
        self._is_in_progress = False

    def kick(self) -> None:
        """Schedule an arrival."""
        if not self._is_in_progress:
            self._is_in_progress = True
            source, target = self.source.process, self.target.process
            world = source.world
            world.at(world.latency(source.address, target.address), target, self.arrive)

    def arrive(self) -> None:
        """Deliver the sent bytes, if the line is not cut and the other side reads."""
        self._is_in_progress = False
        source, target = self.source, self.target
        world = source.process.world
        if world.is_cut(source.process.address, target.process.address):
            world.wait_for_line(self)
            return
        if target.protocol is None:
            if not target.is_gone:
                self.kick()
            return
        if not target.is_reading and not isinstance(self.ends_with, ConnectionLost):
            return
        chunks, self.chunks, self.size = self.chunks, [], 0
        if chunks and not target.is_gone and not target.is_closing:
            target.protocol.dataReceived(b"".join(chunks))
        source.has_room()
        if self.ends_with is not None and not self.chunks:
            target.lose(self.ends_with)
            if source.is_closing:
                world.at(0, source.process, source.lose, ConnectionDone())


class End:
    """One end of a connection, the transport of `protocol`."""

    host: IPv4Address
    peer: IPv4Address
    out: Way

    def __init__(self, process: Process) -> None:
        self.process = process
        self.protocol: Any = None
        self.producer: Any = None
        self.is_paused = False
        self.is_reading = True
        self.is_closing = self.is_gone = False
        process.ends[self] = None

    def begin(self, protocol: Any) -> None:
        """Start the protocol of this side."""
        if not self.is_gone:
            self.protocol = protocol
            protocol.makeConnection(self)

    def has_room(self) -> None:
        """Resume the producer if few enough bytes are left to be sent."""
        if self.is_paused and self.out.size <= BUFFER:
            self.is_paused = False
            if self.producer is not None and not self.process.is_dead:
                self.process.world.at(0, self.process, self._resume)

    def _resume(self) -> None:
        if self.producer is not None and not self.is_gone:
            self.producer.resumeProducing()

    def lose(self, reason: Exception) -> None:
        """End the connection on this side."""
        if not self.is_gone:
            self._is_no_more()
            if self.protocol is not None and not self.process.is_dead:
                self.protocol.connectionLost(Failure(reason))

    def _is_no_more(self) -> None:
        self.is_gone = True
        self.process.ends.pop(self, None)

    def vanish(self, *, silently: bool) -> None:
        """End the connection of a dead process; its sent bytes still arrive, unless `silently`."""
        self._is_no_more()
        if silently:
            self.out.chunks.clear()
        else:
            self._end(ConnectionLost())

    def _end(self, reason: Exception) -> None:
        if self.out.ends_with is None:
            self.out.ends_with = reason
            self.out.kick()

    # ITCPTransport

    def write(self, data: bytes) -> None:
        assert type(data) is bytes
        out = self.out
        if self.is_gone or self.is_closing:
            return
        out.chunks.append(data)
        out.size += len(data)
        out.kick()
        if out.target.is_gone and out.target.process.is_dead:
            # A restarted machine has no such connection.
            self.process.world.at(0.001, self.process, self._reset)
        elif out.size > BUFFER and self.producer is not None and not self.is_paused:
            self.is_paused = True
            self.producer.pauseProducing()

    def _reset(self) -> None:
        target = self.out.target.process
        if any(place[0] == target.address for place in self.process.world.ports):
            self.lose(ConnectionLost())

    def writeSequence(self, data: Any) -> None:
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        if not self.is_closing and not self.is_gone:
            self.is_closing = True
            self._end(ConnectionDone())

    def abortConnection(self) -> None:
        if self.is_gone:
            return
        self.is_closing = True
        self.out.chunks.clear()
        self._end(ConnectionLost())
        self.process.world.at(0, self.process, self.lose, ConnectionAborted())

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert streaming and self.producer is None
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None

    def pauseProducing(self) -> None:
        self.is_reading = False

    def resumeProducing(self) -> None:
        self.is_reading = True
        if self.out.target.out.chunks or self.out.target.out.ends_with is not None:
            self.out.target.out.kick()

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Do nothing: small writes are not gathered."""

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """Do nothing: dead peers are detected in another way."""

    def getHost(self) -> IPv4Address:
        return self.host

    def getPeer(self) -> IPv4Address:
        return self.peer
