"""`python -m bench topics`: very many topics, each created by the first send to it.

A server of ours in a temporary folder gets a message to each new topic, over some connections that wait for
each answer. Meanwhile one more connection, the probe, sends to an existing topic every 10 ms and records the
latencies. Then the server is stopped by SIGTERM. The load encodes little and decodes nothing, as it shares
the cores.
"""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import psutil

from bench.frame import Invocation, benchmark
from bench.measure import measured_on, usage
from bench.requests import request
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, our_serve
from mqgateway.engine.clock import SystemClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.frame import FrameCutter

PROBED = "bench_probed"
PROBE_SECONDS = 0.01
STOP_SECONDS = 300.0
BODY = bytes(100)


@dataclass
class Making:
    """Figures for one number of topics: seconds, CPU seconds of the server, the probe's latencies in ms."""

    topics: int
    seconds: float
    cpu_seconds: float
    resident_mb: float
    probes: int
    p50_ms: float
    p99_ms: float
    longest_ms: float
    stop_seconds: float
    stop_cpu_seconds: float
    load_average: float


def send_frame(topic: str) -> bytes:
    """Return a send as a frame; a missing topic is to be created with four queues."""
    fields = {"a": "bench_topics", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0"}
    fields |= {"g": str(SystemClock().millis()), "h": "0", "i": "", "j": "0", "k": "false", "m": "false"}
    return request(RequestCode.SEND_MESSAGE_V2, 1, fields, BODY)


class Sender(asyncio.Protocol):
    """A connection that sends one message after another."""

    def __init__(self) -> None:
        self._cutter = FrameCutter()
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for payload in self._cutter.feed(data):
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(payload)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server has closed the connection"))

    async def send(self, frame: bytes) -> None:
        """Send and wait for the answer. Raises `RuntimeError` if it is no success or the previous answer is
        outstanding, and `ConnectionError`.
        """
        assert self._transport is not None
        if self._transport.is_closing():
            raise ConnectionError("the server has closed the connection")
        if self._answer is not None and not self._answer.done():
            raise RuntimeError("an answer is outstanding")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        answer = await self._answer
        if b'"code":0,' not in answer:
            raise RuntimeError(f"a send failed: {answer!r}")

    def close(self) -> None:
        """Close the connection."""
        assert self._transport is not None
        self._transport.close()


async def connected(port: int) -> Sender:
    """Open a connection to the broker."""
    _, sender = await asyncio.get_running_loop().create_connection(Sender, HOST, port)
    return sender


async def make(port: int, topics: int, connections: int) -> tuple[float, list[float]]:
    """Create the topics; return the duration and the probe's latencies, all in seconds."""
    probe, *senders = [await connected(port) for _ in range(connections + 1)]
    await probe.send(send_frame(PROBED))
    names = iter(f"bench_topic_{number:06d}" for number in range(topics))
    latencies: list[float] = []
    began = time.perf_counter()
    probing = asyncio.create_task(probe_on(probe, latencies))
    await asyncio.gather(*(make_some(sender, names) for sender in senders))
    seconds = time.perf_counter() - began
    probing.cancel()
    return seconds, latencies


async def make_some(sender: Sender, names: Iterator[str]) -> None:
    """Create topics until there are no more names."""
    for name in names:
        await sender.send(send_frame(name))


async def probe_on(probe: Sender, latencies: list[float]) -> None:
    """Send to an existing topic forever, one message each `PROBE_SECONDS`."""
    while True:
        began = time.perf_counter()
        await probe.send(send_frame(PROBED))
        took = time.perf_counter() - began
        latencies.append(took)
        await asyncio.sleep(max(0.0, PROBE_SECONDS - took))


def measure(topics: int, connections: int) -> Making:
    """Start a server, create the topics, stop it."""
    with tempfile.TemporaryDirectory(prefix="mqgateway-topics-") as folder:
        namesrv, broker = free_ports(), free_ports((-2, 0))
        settings = {"autoCreateTopicEnable": "true", "maxTopics": str(topics + 1000)}
        server = our_serve(Path(folder) / "server", namesrv, broker, settings)
        server.start()
        try:
            before = usage([server.pid])
            seconds, latencies = asyncio.run(make(broker, topics, connections))
            after = usage([server.pid])
            stop_seconds, stop_cpu = stop(server.pid)
        finally:
            server.stop()
    latencies.sort()
    p50, p99 = (latencies[int(len(latencies) * share)] * 1000 for share in (0.5, 0.99))
    return Making(
        topics,
        seconds,
        after.cpu_seconds - before.cpu_seconds,
        after.resident_bytes / 2**20,
        len(latencies),
        p50,
        p99,
        latencies[-1] * 1000,
        stop_seconds,
        stop_cpu,
        os.getloadavg()[0],
    )


def stop(pid: int) -> tuple[float, float]:
    """Terminate a process; return the seconds and CPU seconds until it has ended. Raises `TimeoutError`."""
    process = psutil.Process(pid)
    first = cpu = usage([pid]).cpu_seconds
    began = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    while time.perf_counter() - began < STOP_SECONDS:
        if process.status() == psutil.STATUS_ZOMBIE:
            return time.perf_counter() - began, cpu - first
        cpu = max(cpu, usage([pid]).cpu_seconds)
        time.sleep(0.02)
    raise TimeoutError(f"the server does not stop within {STOP_SECONDS:.0f} s")


def section(found: Sequence[Making], connections: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## Many topics",
        "",
        measured_on(),
        f"A message to each of so many topics that are not there, over {connections} connections that wait",
        "for each answer, while one more sends to a topic that is there every 10 ms; name server and broker",
        "in one process; then SIGTERM. `python -m bench topics` repeats it.",
        "",
        "| topics | seconds | CPU s | resident MB | others' p50 ms | p99 ms | longest ms | stop s"
        " | stop CPU s | load average |",
        "| ---: |" + " ---: |" * 9,
    ]
    for one in found:
        making = f"{one.seconds:.1f} | {one.cpu_seconds:.1f} | {one.resident_mb:.0f}"
        probes = f"{one.p50_ms:.1f} | {one.p99_ms:.0f} | {one.longest_ms:.0f}"
        stopping = f"{one.stop_seconds:.1f} | {one.stop_cpu_seconds:.1f} | {one.load_average:.1f}"
        lines.append(f"| {one.topics:,} | {making} | {probes} | {stopping} |")
    return lines


@benchmark("topics --topics 10000")
@click.option("--topics", "counts", multiple=True, default=(10_000, 100_000), type=click.IntRange(1))
@click.option("--connections", default=32, show_default=True, help="Connections that make topics.")
def main(given: Invocation, counts: tuple[int, ...], connections: int) -> None:
    """Create topics by sends, and measure the effect on other senders and on the stop."""
    found = []
    for count in counts:
        found.append(measure(count, connections))
        given.console.print(found[-1])
    given.save(makings=[asdict(one) for one in found])
    given.write("many topics", section(found, connections))
