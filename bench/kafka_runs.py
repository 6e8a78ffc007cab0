"""Rows of `bench.kafka`, and one run of a row: a perf program of Kafka's own as load on a running server."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from bench.loads import running_load
from bench.measure import Usage
from compat_tests.kafka.support.builds import class_path
from compat_tests.kafka.support.servers import KafkaServer

TOOLS = "org.apache.kafka.tools"
CLIENT_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
SERVER_JVM = ("-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
"""The heap and the collector of `kafka-server-start.sh`."""
LOAD_SECONDS_MAX = 300
SETTLE_SECONDS = 10
"""Time after the start until the memory of an idle server is read."""
SETTINGS = {
    "apache": {"broker.session.timeout.ms": "3600000"},
    "ours": {"kafkaGroupInitialRebalanceDelayMillis": "0"},
}
"""Apache's server is suspended while the other is measured, and must not miss its own heartbeats. A new group
waits for more members on neither, which would be most of the time of `consume`."""


@dataclass(frozen=True)
class Row:
    """One kind of work.

    `work` is `produce`, `consume`, `latency` or `start`; `amount` is the number of records, and `is_fresh`
    gives each run a server of its own that has just started. Aims are ours / Apache's: records/s `faster` at
    least, `cpu`, `memory` and `start` at most; `p50_ms` is in ms.
    """

    name: str
    work: str
    title: str
    amount: int
    size: int = 100
    acks: str = "1"
    settings: tuple[str, ...] = ()
    is_fresh: bool = False
    faster: float | None = None
    cpu: float | None = None
    p50_ms: float | None = None
    memory: float | None = 0.15
    start: float | None = None

    def scaled(self, share: float) -> Row:
        """Return the row with a share of its records."""
        return replace(self, amount=max(1, round(self.amount * share)))


CODECS = ("lz4", "zstd", "gzip", "snappy")
ROWS = (
    *(
        Row(
            f"produce-{short}{'-all' if acks == 'all' else ''}",
            "produce",
            f"produce {title}, acks={acks}",
            amount,
            size,
            acks,
            faster=1.0,
            cpu=0.6,
        )
        for acks in ("1", "all")
        for short, title, size, amount in (("100", "100 B", 100, 1_000_000), ("1k", "1 KB", 1024, 300_000))
    ),
    Row("first", "produce", "first million after the start, 100 B", 1_000_000, is_fresh=True, faster=2.5),
    Row(
        "single",
        "produce",
        "one record a batch, 100 B",
        150_000,
        settings=("batch.size=0", "linger.ms=0"),
        faster=1.0,
        cpu=0.8,
    ),
    Row("latency", "latency", "end to end, one at a time, 100 B, acks=all", 10_000, acks="all", p50_ms=1.0),
    Row("consume-100", "consume", "consume 100 B", 1_000_000, faster=0.9, cpu=1.5),
    Row("consume-1k", "consume", "consume 1 KB", 300_000, 1024, faster=0.9, cpu=1.5),
    *(
        Row(
            f"{work}-{codec}",
            work,
            f"{work} 1 KB, {codec}",
            200_000,
            1024,
            settings=(f"compression.type={codec}",),
            faster=1.0,
        )
        for codec in CODECS
        for work in ("produce", "consume")
    ),
    Row("start", "start", "start to ready; memory at rest", 1, is_fresh=True, memory=0.25, start=0.15),
)


@dataclass(frozen=True)
class Run:
    """Figures of one run; None where the work has no such figure.

    `cpu_per_million` is CPU seconds of the server for a million records, `client_cpu` those of the load.
    """

    resident_mb: float
    per_second: float | None = None
    cpu_per_million: float | None = None
    client_cpu: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    start_seconds: float | None = None


@dataclass(frozen=True)
class Load:
    """Output of a perf program, and the CPU seconds that it and the server used meanwhile."""

    output: str
    server: Usage
    client_seconds: float


def server_of(kind: str, folder: Path) -> KafkaServer:
    """Return a server that is not started."""
    return KafkaServer(kind, folder, SETTINGS[kind], jvm=SERVER_JVM)


def usage_of(server: KafkaServer) -> Usage:
    """Return what the process of a server and its children have used."""
    process = psutil.Process(server.pid)
    times = process.cpu_times()
    used = times.user + times.system + times.children_user + times.children_system
    return Usage(used, process.memory_info().rss)


def run_row(row: Row, server: KafkaServer, number: int) -> Run:
    """Put the load of a row on a running server. Each run has a topic of its own."""
    topic = f"bench-{row.name}-{number}"
    if row.work == "latency":
        return latency(row, server, topic)
    if row.work == "consume":
        produce(row, server, topic)
        return consume(row, server, topic)
    return produce(row, server, topic)


def start_row(kind: str, folder: Path) -> tuple[KafkaServer, Run]:
    """Start a server; return it, the time until it answered, and its memory once it is idle."""
    server = server_of(kind, folder)
    began = time.monotonic()
    server.start()
    seconds = time.monotonic() - began
    time.sleep(SETTLE_SECONDS)
    return server, Run(usage_of(server).resident_bytes / 1e6, start_seconds=seconds)


def produce(row: Row, server: KafkaServer, topic: str) -> Run:
    """Produce the records of a row. Raises `RuntimeError` unless all were acknowledged."""
    properties = [f"acks={row.acks}", *row.settings]
    command = ["ProducerPerformance", "--bootstrap-server", server.address, "--topic", topic]
    command += ["--num-records", str(row.amount), "--record-size", str(row.size), "--throughput", "-1"]
    command += ["--command-property", *properties]  # of several such options the last one counts
    load = loaded(command, server)
    count, rate, p50, p99 = produced(load.output)
    if count != row.amount:
        raise RuntimeError(f"{count} of {row.amount} records were acknowledged:\n{load.output[-2000:]}")
    return _run(load, count, rate, p50, p99)


def consume(row: Row, server: KafkaServer, topic: str) -> Run:
    """Consume the records of a row from the start. Raises `RuntimeError` unless all came."""
    command = ["ConsumerPerformance", "--bootstrap-server", server.address, "--topic", topic]
    command += ["--num-records", str(row.amount), "--timeout", "60000", "--hide-header"]
    load = loaded(command, server)
    count, rate = consumed(load.output)
    if count < row.amount:
        raise RuntimeError(f"{count} of {row.amount} records came:\n{load.output[-2000:]}")
    return _run(load, count, rate)


def latency(row: Row, server: KafkaServer, topic: str) -> Run:
    """Send records one at a time, and wait for each in a consumer."""
    command = ["EndToEndLatency", server.address, topic, str(row.amount), row.acks, str(row.size)]
    load = loaded(command, server)
    p50, p99 = waited(load.output)
    return _run(load, row.amount, None, p50, p99)


def _run(
    load: Load, count: int, rate: float | None, p50: float | None = None, p99: float | None = None
) -> Run:
    return Run(
        load.server.resident_bytes / 1e6,
        rate,
        load.server.cpu_seconds / count * 1e6,
        load.client_seconds / count * 1e6,
        p50,
        p99,
    )


def loaded(command: Sequence[str], server: KafkaServer) -> Load:
    """Run a perf program to its end. Raises `RuntimeError` if it fails."""
    java = ["java", *CLIENT_JVM, "-cp", class_path("server"), f"{TOOLS}.{command[0]}", *command[1:]]
    before, children = usage_of(server), psutil.Process().cpu_times()
    with running_load(java) as process:
        try:
            output, _ = process.communicate(timeout=LOAD_SECONDS_MAX)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"{command[0]} took more than {LOAD_SECONDS_MAX} s") from error
    after, ended = usage_of(server), psutil.Process().cpu_times()
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{output[-2000:]}")
    client = ended.children_user + ended.children_system - children.children_user - children.children_system
    return Load(output, Usage(after.cpu_seconds - before.cpu_seconds, after.resident_bytes), client)


def produced(output: str) -> tuple[int, float, float, float]:
    """Return count, records/s, p50 and p99 (ms) of `ProducerPerformance`, from its last line."""
    found = re.findall(
        r"(\d+) records sent, ([\d.]+) records/sec .*?(\d+) ms 50th, .*?(\d+) ms 99th,", output
    )
    if not found:
        raise RuntimeError(f"ProducerPerformance printed no result:\n{output[-2000:]}")
    count, rate, p50, p99 = found[-1]
    return int(count), float(rate), float(p50), float(p99)


def consumed(output: str) -> tuple[int, float]:
    """Return count and records/s, the join of the group included, of `ConsumerPerformance`."""
    rows = [line.split(", ") for line in output.splitlines()]
    results = [row for row in rows if len(row) == len(CONSUMED)]
    if not results:
        raise RuntimeError(f"ConsumerPerformance printed no result:\n{output[-2000:]}")
    result = dict(zip(CONSUMED, results[-1], strict=True))
    return int(result["count"]), float(result["rate"])


CONSUMED = (
    "start",
    "end",
    "mb",
    "mb rate",
    "count",
    "rate",
    "rebalance ms",
    "fetch ms",
    "fetch mb rate",
    "fetch rate",
)
"""Columns of `ConsumerPerformance`."""


def waited(output: str) -> tuple[float, float]:
    """Return p50 and p99 (ms) of `EndToEndLatency`."""
    found = re.search(r"50th = (\d+), 99th = (\d+)", output)
    if found is None:
        raise RuntimeError(f"EndToEndLatency printed no result:\n{output[-2000:]}")
    return float(found[1]), float(found[2])
