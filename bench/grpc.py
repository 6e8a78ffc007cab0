"""`python -m bench grpc`: Apache's proxy and broker beside ours, with the official Java gRPC client as load.

CPU and memory are those of all processes of a server: Apache's name server, broker and proxy, and our single
process. Figures are medians, written as ours / Apache's = ratio.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from bench.frame import Invocation, benchmark
from bench.measure import measured_on, suspended, usage
from bench.pairs import SIDES, Pair, turns
from bench.rest import Clients
from bench.rows import Row
from bench.run import CLIENT_JVM, measured
from compat_tests.support.grpc.builds import JAVA_CLIENT, jars, java_program
from compat_tests.support.grpc.doors import GrpcServer

SETTLE_SECONDS = 10

ROWS = (
    *(
        Row(f"grpc-{count}", "send", f"send, {count} in flight, 1 KB", 8, threads=count)
        for count in (1, 16, 64)
    ),
    Row("grpc-receive", "receive", "receive and acknowledge, 8 calls at a time, 1 KB", 20_000, threads=8),
    Row("grpc-latency", "latency", "send 1,000/s, to the listener", 8),
    Row("grpc-idle", "idle", "1,000 idle Telemetry streams", 20, threads=1_000),
)


@dataclass(frozen=True)
class Run:
    """Figures of one run; None if the work has no such figure."""

    resident_mb: float
    failed: int = 0
    per_second: float | None = None
    cpu_per_million: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_percent: float | None = None


FIGURES = (
    ("per_second", "messages/s", "{:,.0f}"),
    ("cpu_per_million", "server CPU s/million", "{:.0f}"),
    ("p50_ms", "p50 ms", "{:.2f}"),
    ("p99_ms", "p99 ms", "{:.2f}"),
    ("cpu_percent", "CPU at rest, % of a core", "{:.1f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)


class GrpcPair(Pair[Row]):
    """All runs of one row on both servers."""

    @property
    def failed(self) -> int:
        """Messages or clients that failed in any run."""
        return sum(run.failed for runs in self.runs.values() for run in runs)


def run(row: Row, server: GrpcServer, number: int) -> Run:
    """Put the row's load on a server; each run has its own topic."""
    if row.work == "idle":
        return idle(row, server)
    topic = server.make_topic(f"bench_{row.name.replace('-', '_')}_{number}", queues=8)
    server.make_group(f"group_of_{topic}")
    program = java_program("bench", jars("client", JAVA_CLIENT))
    command = ["java", *CLIENT_JVM, "-cp", program, "bench.GrpcLoad", row.work, server.endpoints, topic]
    command += [str(row.amount), str(row.threads), str(row.body_bytes)]
    result, used, after = measured(command, server, row)
    return Run(
        resident_mb=after.resident_bytes / 1e6,
        failed=int(result["failed"]),
        per_second=result["perSecond"],
        cpu_per_million=used / max(1.0, result["count"]) * 1e6,
        p50_ms=result["p50us"] / 1000,
        p99_ms=result["p99us"] / 1000,
    )


def idle(row: Row, server: GrpcServer) -> Run:
    """Measure a server with idle clients, after it has settled with them."""
    command = [sys.executable, "-m", "bench.grpc_idle", str(row.threads), server.endpoints]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            clients = Clients(process, [])
            clients.answer("ready")
            time.sleep(SETTLE_SECONDS)
            before, began = usage(server.pids), time.monotonic()
            time.sleep(row.amount)
            after, took = usage(server.pids), time.monotonic() - began
            lost = row.threads - clients.count()
        finally:
            process.kill()
    used = after.cpu_seconds - before.cpu_seconds
    return Run(after.resident_bytes / 1e6, lost, cpu_percent=used / took * 100)


def section(pairs: Sequence[GrpcPair], runs: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## gRPC",
        "",
        measured_on(),
        f"The official Java client {JAVA_CLIENT} put each load in turn on mqgateway and on Apache's",
        f"name server, broker and proxy 5.5.0, {runs} run{'s' if runs > 1 else ''} each; client and server",
        "shared these cores. Figures are medians, written as ours / Apache's = ratio. CPU and memory are of",
        "all processes of a server. Latencies are of a send; of a receive of up to 32 messages; of a message",
        "from the send to the listener. `python -m bench grpc` repeats it.",
        "",
        "| work | " + " | ".join(title for _, title, _ in FIGURES) + " | failed |",
        "| --- |" + " ---: |" * (len(FIGURES) + 1),
    ]
    for pair in pairs:
        cells = [pair.cell(name, form) for name, _, form in FIGURES]
        lines.append(f"| {pair.row.title} | {' | '.join(cells)} | {pair.failed} |")
    return lines


def compare(row: Row, count: int, servers: dict[str, GrpcServer], console: Console) -> GrpcPair:
    """Run one row on both servers in turn, after one run on each that does not count."""
    for kind in SIDES:
        if row.work != "idle":
            run(row.scaled(0.5), servers[kind], -1)
    pair = GrpcPair(row)
    for number, kind in turns(count):
        other = servers["ours" if kind == "apache" else "apache"]
        with suspended(other.pids):
            servers[kind].wait_until_registered()  # it was suspended just now
            result = run(row, servers[kind], number)
        pair.runs[kind].append(result)
        console.print(f"{row.name:13} {kind:7} {result}")
    return pair


@benchmark(
    "grpc --row grpc-16 --pairs 1",
    rows=[row.name for row in ROWS],
    pairs=3,
    is_scaled=True,
)
def main(given: Invocation) -> None:
    """Send and receive over gRPC on Apache's proxy and on ours, with the official Java client as load."""
    with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
        servers: dict[str, GrpcServer] = {}
        try:
            for kind in SIDES:
                servers[kind] = GrpcServer(kind, Path(folder), {}, production=True).start()
            rows = [row.scaled(given.scale) for row in given.select(ROWS)]
            pairs = [compare(row, given.pairs, servers, given.console) for row in rows]
        finally:
            for server in servers.values():
                server.discard()
    given.save(rows=[asdict(pair) for pair in pairs])
    given.write("grpc", section(pairs, given.pairs))
