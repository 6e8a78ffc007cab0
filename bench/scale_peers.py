"""Simulated brokers and clients of a name server: `python -m bench.scale_peers PORT BROKERS TOPICS SPREAD`.

Each has its own connection and speaks the remoting protocol. A line of input is a command, `[name,
arguments]` as JSON, and is answered by a line; the process exits at the end of its input. The load encodes
little and decodes nothing, as it shares the cores with the measured server.
"""

import asyncio
import gc
import json
import random
import resource
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.prepared import topic_config
from bench.requests import request
from bench.scale_part import percentiles
from bench.topics import Sender
from compat_tests.support.servers import HOST
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.transport import first_spare

OPENED_AT_ONCE = 100
SOURCES = 8
"""Number of source addresses: each has 28,000 ports towards one address of the server."""
PERIOD_SECONDS = 30.0
"""Period of the brokers' registrations, and of the clients' route requests for each of their topics."""
TICK_SECONDS = 0.01
OWN_FILES = 60
"""Open files of a process besides connections."""
FILES_MAX = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@dataclass(frozen=True)
class Layout:
    """Clusters of `spread` brokers each; every topic of a cluster is on all of its brokers."""

    brokers: int
    topics: int
    spread: int

    def topics_of(self, broker: int) -> Iterator[str]:
        """Return the topics of a broker."""
        clusters = max(1, self.brokers // self.spread)
        return (topic_name(number) for number in range(broker // self.spread, self.topics, clusters))


def topic_name(number: int) -> str:
    """Return the name of a topic."""
    return f"bench_scale_{number:06d}"


def registration(layout: Layout, number: int, version: int, more: Iterable[str] = ()) -> bytes:
    """Return the registration of a broker as a frame; `version` counts the changes of its topics."""
    fields = {
        "brokerName": f"broker-{number:05d}",
        "brokerAddr": address(number),
        "clusterName": f"cluster-{number // layout.spread}",
        "haServerAddr": address(number).replace("10911", "10912"),
        "brokerId": "0",
        "heartbeatTimeoutMillis": "120000",
        "enableActingMaster": "false",
        "compressed": "false",
        "bodyCrc32": "0",
    }
    table = {name: topic_config(name, 4) for name in (*layout.topics_of(number), *more)}
    wrapper = {
        "topicConfigTable": table,
        "dataVersion": {"counter": version, "stateVersion": 0, "timestamp": 1},
        "topicQueueMappingInfoMap": {},
        "topicQueueMappingDetailMap": {},
    }
    body = {"topicConfigSerializeWrapper": wrapper, "filterServerList": []}
    return request(RequestCode.REGISTER_BROKER, 1, fields, json.dumps(body).encode())


def heartbeat(layout: Layout, number: int) -> bytes:
    """Return the heartbeat of a broker as a frame."""
    fields = {
        "brokerName": f"broker-{number:05d}",
        "brokerAddr": address(number),
        "clusterName": f"cluster-{number // layout.spread}",
        "brokerId": "0",
    }
    return request(RequestCode.BROKER_HEARTBEAT, 1, fields, b"")


def route_request(topic: str) -> bytes:
    """Return the request for a topic's route as a frame."""
    return request(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, 1, {"topic": topic, "acceptStandardJsonOnly": "true"}, b""
    )


def address(number: int) -> str:
    """Return the advertised address of a simulated broker."""
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:10911"


async def connected(port: int, number: int) -> Sender:
    """Open a connection from one of the source addresses."""
    source = (f"127.0.1.{1 + number % SOURCES}", 0)
    _, sender = await asyncio.get_running_loop().create_connection(Sender, HOST, port, local_addr=source)
    return sender


@dataclass
class Timings:
    """Durations of requests in seconds, and the number of failed ones."""

    taken: list[float] = field(default_factory=list)
    failed: int = 0
    began: float = field(default_factory=time.perf_counter)

    async def time(self, asked: Awaitable[None]) -> None:
        """Wait for an answer, and record its duration or the failure."""
        began = time.perf_counter()
        try:
            await asked
        except (RuntimeError, ConnectionError):
            self.failed += 1
        else:
            self.taken.append(time.perf_counter() - began)

    def figures(self) -> dict[str, float]:
        """Return the timings as figures of a finding."""
        seconds = time.perf_counter() - self.began
        rate = len(self.taken) / seconds
        return {"seconds": seconds, "per_second": rate, "failed": self.failed, **percentiles(self.taken)}


class Peers:
    """The peers of one name server; each public method is a command."""

    def __init__(self, port: int, layout: Layout) -> None:
        self._port = port
        self._layout = layout
        self._brokers: list[Sender] = []
        self._clients: deque[Sender] = deque()
        self._said: list[bytes] = []
        self._routes = [route_request(topic_name(number)) for number in range(layout.topics)]

    async def open_brokers(self) -> dict[str, float]:
        """Connect all brokers."""
        self._brokers = await self._open(self._layout.brokers)
        return {"open": len(self._brokers)}

    async def open_clients(self, count: int) -> dict[str, float]:
        """Connect clients, at most as many as a server of ours can have open under the file limit."""
        room = first_spare() - len(self._brokers) - OWN_FILES
        began = time.perf_counter()
        self._clients.extend(await self._open(min(count, room)))
        return {"open": len(self._clients), "seconds": time.perf_counter() - began}

    async def register(self, version: int, at_once: int) -> dict[str, float]:
        """Register every broker; with a version above 1, each has one more topic, its own."""
        layout = self._layout
        if not self._said or version > 1:
            more = [[f"own_{version}_{n}"] if version > 1 else [] for n in range(layout.brokers)]
            self._said = [registration(layout, n, version, more[n]) for n in range(layout.brokers)]
        return await self._all(zip(self._brokers, self._said, strict=True), at_once)

    async def heartbeats(self, at_once: int) -> dict[str, float]:
        """Send a heartbeat of every broker."""
        frames = [heartbeat(self._layout, number) for number in range(self._layout.brokers)]
        return await self._all(zip(self._brokers, frames, strict=True), at_once)

    async def ask_all(self, at_once: int) -> dict[str, float]:
        """Request the route of every topic once, over `at_once` clients that each wait for their answer."""
        clients = [self._clients[number] for number in range(at_once)]
        frames = iter(self._routes)
        timings = Timings()

        async def ask(client: Sender) -> None:
            for frame in frames:
                await timings.time(client.send(frame))

        await asyncio.gather(*map(ask, clients))
        return timings.figures()

    async def poll(self, clients: int, topics: int, seconds: float) -> dict[str, float]:
        """Simulate the route requests of `clients` clients with `topics` topics each, on the next free
        connections, while the brokers register at their normal rate."""
        routes, registrations = Timings(), Timings()
        turns = deque(range(len(self._brokers)))

        def route() -> Awaitable[None]:
            return self._ask_from_free(routes, random.choice(self._routes))

        def register() -> Awaitable[None]:
            turns.rotate(-1)
            return registrations.time(self._brokers[turns[0]].send(self._said[turns[0]]))

        late, _ = await asyncio.gather(
            paced(clients * topics / PERIOD_SECONDS, seconds, route),
            paced(len(self._brokers) / PERIOD_SECONDS, seconds, register),
        )
        figures = {f"registration_{name}": value for name, value in percentiles(registrations.taken).items()}
        figures |= {"late_ms": late * 1000, "failed": routes.failed + registrations.failed}
        return routes.figures() | figures

    async def _ask_from_free(self, timings: Timings, frame: bytes) -> None:
        try:
            client = self._clients.popleft()
        except IndexError:
            timings.failed += 1
            return
        await timings.time(client.send(frame))
        self._clients.append(client)

    async def leave(self) -> dict[str, float]:
        """Close the connections of all brokers."""
        for broker in self._brokers:
            broker.close()
        self._brokers = []
        return {}

    async def _open(self, count: int) -> list[Sender]:
        senders: list[Sender] = []
        for first in range(0, count, OPENED_AT_ONCE):
            numbers = range(first, min(first + OPENED_AT_ONCE, count))
            senders += await asyncio.gather(*(connected(self._port, number) for number in numbers))
        return senders

    async def _all(self, work: Iterable[tuple[Sender, bytes]], at_once: int) -> dict[str, float]:
        """Send each frame on its connection, `at_once` at a time."""
        left, timings = iter(work), Timings()

        async def send_some() -> None:
            for sender, frame in left:
                await timings.time(sender.send(frame))

        await asyncio.gather(*(send_some() for _ in range(at_once)))
        return timings.figures()


async def paced(per_second: float, seconds: float, start: Callable[[], Awaitable[None]]) -> float:
    """Call `start` at a fixed rate for `seconds`, regardless of the outcomes, and wait for all at the end.

    Returns the longest delay of this process itself, in seconds.
    """
    loop, in_flight, started = asyncio.get_running_loop(), set[asyncio.Future[None]](), 0
    began, late, before = loop.time(), 0.0, 0.0
    while (passed := loop.time() - began) < seconds:
        late, before = max(late, passed - before - TICK_SECONDS), passed
        while started < passed * per_second:
            task = asyncio.ensure_future(start())
            in_flight.add(task)
            task.add_done_callback(in_flight.discard)
            started += 1
        await asyncio.sleep(TICK_SECONDS)
    await asyncio.gather(*in_flight)
    return late


async def main(port: int, layout: Layout) -> None:
    """Do what the input says."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    gc.disable()  # a collection over all peers would look like a pause of the server
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    peers = Peers(port, layout)
    while line := await lines.readline():
        name, arguments = json.loads(line)
        answer: dict[str, Any] = await getattr(peers, name)(**arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(main(given[0], Layout(*given[1:])))
