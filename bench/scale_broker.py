"""The parts `broker` and `connections` of `bench.scale`: a very large store, and very many connections.

The first has one broker whose store and tables grow from step to step (`bench.scale_fill`); after each step
the broker is started, left idle, sent to, and stopped. The second has a broker with a small store.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.rest import idle_clients
from bench.scale_load import beside, open_files, used_by
from bench.scale_part import Column, Finding, Part, Plan, percentiles
from bench.store_starts import START_SECONDS_MAX
from bench.topics import connected, send_frame, stop
from compat_tests.support import servers
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, our_broker, our_namesrv
from compat_tests.support.servers import Part as Process
from mqgateway.gateway.cli.limits import raise_open_files
from mqgateway.gateway.remoting.transport import first_spare

TOPICS, GROUPS, TIMERS, FILES, CONNECTIONS = 100_000, 5_000, 10_000_000, 1_000, 20_000
CONNECTION_STEPS = (0.25, 0.5, 1.0)
REST_SECONDS = 15.0
SETTLE_SECONDS = 5.0
PROBE_SECONDS = 10.0
PROBE_EVERY_SECONDS = 0.005
SERVERS_OWN_FILES = 60
"""Open files of a broker besides its connections and the files kept for its store."""
PROBED = "bench_probed"

LEAD = (
    "One broker beside a name server; each row adds to the store of the row before. Timers: units of the",
    "timer log for 100,000 messages in turn, due within two days. Log: files of 1 GiB of which the first",
    "and the last have messages, the others are sparse. Sends: one connection, one send of 100 bytes each",
    "5 ms. At rest: nothing but the broker's own beat, and the heartbeats of connections, each 30 s.",
)
COLUMNS = (
    Column("start_seconds", "start s", "{:,.2f}"),
    Column("start_cpu_seconds", "start CPU s", "{:,.2f}"),
    Column("cpu_percent", "at rest, % of a core", "{:,.1f}"),
    Column("resident_mb", "resident MB", "{:,.0f}"),
    Column("files", "open files", "{:,.0f}"),
    Column("p50_ms", "send p50 ms", "{:,.2f}"),
    Column("p99_ms", "p99 ms", "{:,.2f}"),
    Column("longest_ms", "longest ms", "{:,.0f}"),
    Column("failed", "failed", "{:,.0f}"),
    Column("stop_seconds", "stop s", "{:,.2f}"),
)


@dataclass(frozen=True)
class Addresses:
    """Addresses of the two servers, for idle clients."""

    namesrv_address: str
    broker_address: str


class Bench:
    """A store and the broker that is started on it."""

    def __init__(self, plan: Plan, part: str = "broker") -> None:
        self._plan = plan
        self._part = part
        self._folder = plan.work / part
        self._folder.mkdir()
        self._namesrv_port, self._port = free_ports(), free_ports((-2, 0, 1))
        self.namesrv = our_namesrv(plan.work / "namesrv", self._namesrv_port)
        self.settings = {"maxTopics": "200000"}

    @property
    def store(self) -> Path:
        """The folder of the store."""
        return self._folder / "store"

    def fill(self, **sizes: int) -> None:
        """Add to the store."""
        command = [sys.executable, "-m", "bench.scale_fill", str(self.store)]
        for name, size in sizes.items():
            command += [f"--{name}", str(size)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def run(self, what: str, connections: int = 0, *, killed: bool = False) -> Finding:
        """Start the broker, leave it idle, send, stop it; with `killed` it recovers as after a crash."""
        self._plan.notify(what)
        if killed:
            (self.store / "abort").write_text("1")
        broker = our_broker(self._folder, self._port, f"{HOST}:{self._namesrv_port}", self.settings)
        servers.START_SECONDS = int(START_SECONDS_MAX)
        began = time.monotonic()
        broker.start()
        figures = {"start_seconds": time.monotonic() - began}
        figures["start_cpu_seconds"] = used_by(broker.pid)["cpu_seconds"]
        try:
            if connections:
                where = Addresses(f"{HOST}:{self._namesrv_port}", f"{HOST}:{self._port}")
                with idle_clients("connections", connections, where) as clients:
                    figures |= self._watch(broker)
                    figures["failed"] += connections - clients.count()
            else:
                figures |= self._watch(broker)
            figures["stop_seconds"] = stop(broker.pid)[0]
        finally:
            broker.kill9()
        return Finding(self._part, "ours", what, figures)

    def _watch(self, broker: Process) -> dict[str, float]:
        """Measure the broker idle, then with sends."""
        time.sleep(SETTLE_SECONDS)
        rest = beside([broker.pid], rested)
        sent = asyncio.run(probe(self._port))
        figures = {"cpu_percent": rest["cpu_percent"], **sent, "files": open_files(broker.pid)}
        return {**figures, "resident_mb": used_by(broker.pid)["resident_mb"]}


async def probe(port: int) -> dict[str, float]:
    """Send every few milliseconds; return latencies in ms and the number of failed sends."""
    sender = await connected(port)
    taken: list[float] = []
    failed = 0
    end = time.perf_counter() + PROBE_SECONDS
    while (began := time.perf_counter()) < end:
        try:
            await sender.send(send_frame(PROBED))
        except (RuntimeError, ConnectionError):
            failed += 1
            if failed > 100:
                break
        took = time.perf_counter() - began
        taken.append(took)
        await asyncio.sleep(max(0.0, PROBE_EVERY_SECONDS - took))
    sender.close()
    return {**percentiles(taken), "failed": failed}


def rested() -> dict[str, float]:
    """Wait `REST_SECONDS`; there are no figures of its own."""
    time.sleep(REST_SECONDS)
    return {}


def measure(plan: Plan) -> Iterator[Finding]:
    """Measure the growing store, then the broker with connections."""
    topics, groups = plan.scaled(TOPICS, 20), plan.scaled(GROUPS)
    timers, files = plan.scaled(TIMERS), plan.scaled(FILES, 3)
    connections = connections_of(plan)
    bench = Bench(plan)
    bench.namesrv.start()
    try:
        yield bench.run("an empty store")
        plan.notify("topics and groups are made")
        bench.fill(topics=topics, groups=groups)
        yield bench.run(f"{topics:,} topics with a queue and a message each, {groups:,} groups")
        plan.notify("timers are made")
        bench.fill(timers=timers)
        yield bench.run(f"{timers:,} timers that wait")
        plan.notify("the log is made long")
        bench.fill(files=files)
        yield bench.run(f"{files:,} GiB of log")
        yield bench.run("the same, not stopped in order", killed=True)
        yield bench.run(f"{connections:,} connections", connections)
    finally:
        bench.namesrv.kill9()


def connections_of(plan: Plan, share: float = 1.0) -> int:
    """Return the number of connections to open: the planned number, bounded by this machine's file limit."""
    raise_open_files()
    return min(round(plan.scaled(CONNECTIONS) * share), first_spare() - SERVERS_OWN_FILES)


def measure_connections(plan: Plan) -> Iterator[Finding]:
    """Measure a small broker without connections, then with more and more."""
    bench = Bench(plan, "connections")
    bench.namesrv.start()
    try:
        yield bench.run("no connections")
        for share in CONNECTION_STEPS:
            count = connections_of(plan, share)
            yield bench.run(f"{count:,} connections", count)
    finally:
        bench.namesrv.kill9()


def connections_model(findings: Sequence[Finding]) -> list[str]:
    """Return the cost of a connection."""
    if len(findings) < 2:
        return []
    first, last = findings[0].figures, findings[-1].figures
    count = float(findings[-1].what.split()[0].replace(",", ""))
    memory = (last["resident_mb"] - first["resident_mb"]) * 1000 / count
    percent = (last["cpu_percent"] - first["cpu_percent"]) / count * 1000
    return [
        f"A connection costs {memory:.1f} KB, a thousand of them {percent:.2f} % of a core. A process may",
        f"have {raise_open_files():,} files open here; more connections need a higher limit (`LimitNOFILE`),",
        "and a higher `maxConnections`.",
    ]


def model(findings: Sequence[Finding]) -> list[str]:
    """Return the cost of each item, by the differences between rows; a negative difference is noise."""
    steps = [one for one in findings if "not stopped" not in one.what]
    if len(steps) < 2:
        return []
    lines = ["Each by the difference to the row before:", ""]
    for before, after in pairwise(steps):
        count = float(after.what.split()[0].replace(",", ""))
        memory, start = (
            max(0.0, after.figures[name] - before.figures[name])
            for name in ("resident_mb", "start_cpu_seconds")
        )
        name = after.what.partition(" ")[2]
        lines.append(
            f"- {name}: {memory * 1e6 / count:,.0f} bytes and {start / count * 1e6:,.1f} µs of a start each."
        )
    return lines


PART = Part("broker", "A broker with a large store", LEAD, COLUMNS, measure, model)
CONNECTIONS_PART = Part(
    "connections",
    "A broker with many connections",
    (
        "One broker with a small store; each connection says once in 30 s that it is there. Sends as",
        "above. There are as many as the files that a process may have open here leave room for.",
    ),
    COLUMNS,
    measure_connections,
    connections_model,
)
