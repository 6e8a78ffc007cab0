"""Loads that Apache publishes: `org.apache.rocketmq.example.benchmark.Producer` and `Consumer`, unchanged."""

import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.loads import running_load
from bench.measure import Usage, usage
from bench.rows import Row
from compat_tests.support.artifacts import OPENS, class_path
from compat_tests.support.servers import Server

PACKAGE = "org.apache.rocketmq.example.benchmark"
JVM = ("-Xms512m", "-Xmx1g", "-XX:+UseSerialGC", *OPENS)
WARM_UP_LINES = 5
"""Lines that do not count; the programs print one a second here."""
SAYS_SECONDS_MAX = 60


@contextmanager
def running(
    program: str, server: Server, topic: str, row: Row, *more: str
) -> Iterator["subprocess.Popen[str]"]:
    """One of the programs at work, printing a line a second; killed when left."""
    command = [
        "java",
        *JVM,
        "-cp",
        class_path("example"),
        f"{PACKAGE}.{program}",
        "-n",
        server.namesrv_address,
    ]
    command += ["-t", topic, "-w", str(row.threads), "-ri", "1000", *more]
    with running_load(command, row.arrangement) as process:
        yield process


def official_load(row: Row, server: Server, topic: str) -> tuple[dict[str, float], float, Usage]:
    """Run the producer, or producer and consumer, and read what they print; as `bench.run.load`.

    Raises `RuntimeError` when a program falls silent.
    """
    size = ("-s", str(row.body_bytes))
    if row.work == "official-send":
        with running("Producer", server, topic, row, *size) as producer:
            return _watch(producer, r"Send TPS: (\d+)", r"Send Failed: (\d+)", row.amount, server)
    with (
        running("Consumer", server, topic, row) as consumer,
        running("Producer", server, topic, row, *size) as producer,
    ):
        drained = subprocess.Popen(["cat"], stdin=producer.stdout, stdout=subprocess.DEVNULL)
        try:
            return _watch(consumer, r"Consume TPS: (\d+)", r"Consume Fail: (\d+)", row.amount, server)
        finally:
            producer.kill()
            drained.wait()


def _watch(
    process: "subprocess.Popen[str]", rate: str, failures: str, seconds: int, server: Server
) -> tuple[dict[str, float], float, Usage]:
    """The rate over so many lines after the warm-up, and what the server used meanwhile."""
    rates: list[int] = []
    said: list[str] = []
    before = Usage(0, 0)
    deadline = time.monotonic() + SAYS_SECONDS_MAX + seconds
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        found = re.search(rate, line)
        if found is not None and (rates or found[1] != "0"):
            rates.append(int(found[1]))
            if len(rates) == WARM_UP_LINES:
                before = usage(server.pids)
                began = time.monotonic()
            if len(rates) == WARM_UP_LINES + seconds:
                after, took = usage(server.pids), time.monotonic() - began
                mean = statistics.mean(rates[WARM_UP_LINES:])
                failed = re.search(failures, line)
                result = {"perSecond": mean, "count": mean * took, "failed": int(failed[1]) if failed else 0}
                return result, after.cpu_seconds - before.cpu_seconds, after
        if time.monotonic() > deadline:
            break
    raise RuntimeError(f"the official program fell silent:\n{''.join(said[-20:])}")
