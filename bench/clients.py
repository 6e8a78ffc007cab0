"""`python -m bench clients`: the Python client beside the official Java client, in turn, on our broker.

Both put the same kinds of load on one server: the Java client with `Load.java`, ours with `mqgateway perf`.
Figures are medians, written as ours / Java's = ratio; CPU is that of the client's process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import psutil

from bench.frame import Invocation, benchmark
from bench.loads import running_load
from bench.measure import measured_on
from bench.pairs import Pair, turns
from bench.rows import Row
from bench.run import CLIENT_JVM, LOAD_SECONDS_MAX
from compat_tests.support.artifacts import CURRENT, program
from compat_tests.support.servers import Server

CLIENTS = ("java", "python")
ASYNC_IN_FLIGHT = 256
"""The value in `Load.java`."""

ROWS = (
    Row("sync-1", "sync", "sync send, 1 at a time, 1 KB", 8, threads=1),
    Row("sync-16", "sync", "sync send, 16 at a time, 1 KB", 8, threads=16),
    Row("async", "async", "async send, 256 in flight, 1 KB", 8, threads=ASYNC_IN_FLIGHT),
    Row("batch-32", "batch", "batches of 32 x 128 B, 8 at a time", 8, threads=8, body_bytes=128),
    Row("consume", "consume", "consume from the start, 1 KB, push", 100_000, threads=20),
)


@dataclass(frozen=True)
class Run:
    """Figures of one run; `cpu_per_million` is CPU seconds of the client for a million messages."""

    per_second: float
    cpu_per_million: float
    resident_mb: float


class ClientPair(Pair[Row]):
    """All runs of one row with both clients."""

    sides = CLIENTS


def java(row: Row, server: Server, topic: str) -> list[str]:
    """Return the command of the Java client."""
    threads = 1 if row.work == "async" else row.threads
    command = ["java", *CLIENT_JVM, "-cp", program("bench", "client", CURRENT), "bench.Load", row.work]
    return [*command, server.namesrv_address, topic, str(row.amount), str(threads), str(row.body_bytes)]


def python(row: Row, server: Server, topic: str) -> list[str]:
    """Return the command of our client. It has no warm-up, as it has no JIT compiler."""
    command = [sys.executable, "-m", "mqgateway.gateway.cli.main", "perf"]
    common = [topic, "-n", server.namesrv_address, "--json"]
    if row.work == "consume":
        limits = ["--messages", str(row.amount), "--seconds", str(LOAD_SECONDS_MAX)]
        return [*command, "consume", *common, "-g", f"python_{topic}", "--from", "first", *limits]
    sizes = ["--size", str(row.body_bytes), "--concurrency", str(row.threads), "--seconds", str(row.amount)]
    batch = ["--batch", "32"] if row.work == "batch" else []
    return [*command, "produce", *common, *sizes, *batch, "--set", "compressMsgBodyOverHowmuch=2147483647"]


def run(client: str, row: Row, server: Server, number: int) -> Run:
    """Run one load to its end. Raises `RuntimeError` with the client's last lines if it gave no result."""
    topic = f"clients_{row.name.replace('-', '_')}_{client}_{number}"
    if row.work == "consume":
        fill = Row("fill", "fill", "", row.amount, 1, row.body_bytes)
        subprocess.run(java(fill, server, topic), check=True, capture_output=True, timeout=LOAD_SECONDS_MAX)
    command = (java if client == "java" else python)(row, server, topic)
    used, resident, result, said = 0.0, 0, None, []
    with running_load(command) as process:
        watched = psutil.Process(process.pid)
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            answer: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if "perSecond" in answer or "messagesPerSecond" in answer:
                times = watched.cpu_times()
                used, resident = times.user + times.system, watched.memory_info().rss
                result = answer
                break
    if result is None:
        raise RuntimeError(f"{client} gave no result for {row.name}:\n{''.join(said[-20:])}")
    rate = float(result.get("perSecond") or result["messagesPerSecond"])
    count = float(result.get("count") or result["messages"])
    return Run(rate, used / count * 1e6, resident / 1e6)


FIGURES = (
    ("per_second", "messages/s", "{:,.0f}"),
    ("cpu_per_million", "client CPU s/million", "{:.1f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)


def section(pairs: Sequence[ClientPair], runs: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## Clients",
        "",
        measured_on(),
        "The Python client (`mqgateway perf`, one process) and the official Java client 5.5.0 (`Load.java`)",
        f"took turns on one mqgateway server, {runs} runs each; client and server shared these cores, each",
        "in a session of its own.",
        "Figures are medians, written as ours / Java's = ratio. CPU and memory are those of the client's",
        "process from its start, a JVM's warming up included. Java's client has a thread for each of its",
        "synchronous sends; ours begins the next when an answer comes: a program with as many blocking",
        "threads pays for switches between them besides. `python -m bench clients` repeats it.",
        "",
        "| work | " + " | ".join(title for _, title, _ in FIGURES) + " |",
        "| --- |" + " ---: |" * len(FIGURES),
    ]
    for pair in pairs:
        cells = [pair.cell(name, form) for name, _, form in FIGURES]
        lines.append(f"| {pair.row.title} | {' | '.join(cells)} |")
    return lines


@benchmark("clients --row sync-16 --pairs 1", rows=[row.name for row in ROWS], pairs=3)
@click.option("--seconds", type=click.IntRange(1), help="Length of a run, instead of the row's.")
def main(given: Invocation, seconds: int | None) -> None:
    """Compare the Python client with the official Java client, on our broker."""
    pairs = []
    with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
        server = Server("ours", Path(folder), {}, production=True).start()
        try:
            for row in given.select(ROWS):
                if seconds and row.work != "consume":
                    row = Row(row.name, row.work, row.title, seconds, row.threads, row.body_bytes)
                pair = ClientPair(row)
                for number, client in turns(given.pairs, CLIENTS):
                    result = run(client, row, server, number)
                    pair.runs[client].append(result)
                    given.console.print(
                        f"{row.name:10} {client:7} {result.per_second:12,.0f}/s  "
                        f"{result.cpu_per_million:8.1f} CPU s/million  {result.resident_mb:7,.0f} MB"
                    )
                pairs.append(pair)
        finally:
            server.stop()
    given.save(rows=[asdict(pair) for pair in pairs])
    given.write("clients", section(pairs, given.pairs))
