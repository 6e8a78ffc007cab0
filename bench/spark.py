"""`python -m bench spark`: a full read of a topic by the Spark source, beside the Java pull consumer.

Both read the same messages of one server, in turn: the official client with two threads (`Pull.java`), Spark
with two workers (`local[2]`) into a sink that discards rows. Figures are medians; CPU is that of Spark's JVM
and workers over the measured run. A separate run for each reader, which is not measured, counts that all
messages are read. Needs `mqgateway[spark]`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import psutil

from bench.frame import Invocation, benchmark
from bench.measure import measured_on
from bench.run import CLIENT_JVM, LOAD_SECONDS_MAX
from compat_tests.support.artifacts import CURRENT, program
from compat_tests.support.servers import Server
from mqgateway.pipeline.jobs.session import new_session

THREADS = 2
BODY_BYTES = 1024
TOPIC, WARM_UP = "bench_spark", "bench_spark_warm_up"
WORKS = {
    "nine": "Spark source, all nine columns",
    "body": "Spark source, the column body alone",
    "java": "Java pull consumer",
}

Run = dict[str, float]


def java(what: str, *arguments: str) -> Run:
    """Run a program of ours with the official client to its end, and return its result."""
    command = ["java", *CLIENT_JVM, "-cp", program("bench", "client", CURRENT), f"bench.{what}"]
    done = subprocess.run(
        [*command, *arguments], check=True, capture_output=True, text=True, timeout=LOAD_SECONDS_MAX
    )
    [result] = [line for line in done.stdout.splitlines() if line.startswith("{") and "perSecond" in line]
    run: Run = json.loads(result)
    return run


def fill(server: Server, topic: str, count: int) -> None:
    """Store messages in a topic with the official client."""
    command = ["java", *CLIENT_JVM, "-cp", program("bench", "client", CURRENT), "bench.Load", "fill"]
    command += [server.namesrv_address, topic, str(count), "1", str(BODY_BYTES)]
    subprocess.run(command, check=True, capture_output=True, timeout=LOAD_SECONDS_MAX)


def cpu_seconds() -> float:
    """Return the CPU seconds that our child processes have used so far: Spark's JVM and its workers."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system
    return used


def frame_of(session: Any, server: Server, topic: str, work: str) -> Any:
    """Return a topic as a data frame of Spark."""
    options = {"nameServer": server.namesrv_address, "topic": topic}
    if work == "body":
        options["includeColumns"] = "body"
    return session.read.format("rocketmq").options(**options).load()


def spark_run(session: Any, server: Server, topic: str, work: str, count: int) -> Run:
    """Read a topic of `count` messages and discard its rows."""
    frame = frame_of(session, server, topic, work)
    before, began = cpu_seconds(), time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    seconds = time.perf_counter() - began
    used = cpu_seconds() - before
    return {"count": count, "perSecond": count / seconds, "cpuPerMillion": used / count * 1e6}


def count_all(session: Any, server: Server) -> int:
    """Return the number of messages in the topic. Raises `AssertionError` if the readers disagree."""
    found = {work: int(frame_of(session, server, TOPIC, work).count()) for work in ("nine", "body")}
    found["java"] = int(java("Pull", server.namesrv_address, TOPIC, str(THREADS))["count"])
    assert len(set(found.values())) == 1, f"readers do not agree: {found}"
    return found["java"]


def section(runs: dict[str, list[Run]], count: int, pairs: int) -> list[str]:
    """The section of the page."""
    lines = [
        "## Spark",
        "",
        measured_on(),
        f"A topic of {count:,} messages of 1 KB on one mqgateway server, read whole {pairs} times in turn:",
        "by the Spark source on `local[2]` (one machine, two workers) into a sink that throws rows away, and",
        f"by the official pull consumer {CURRENT} with {THREADS} threads, each with one pull of 32 messages",
        "under way, and a new JVM for each run, whose start does not count.",
        "Readers and server shared these cores; figures are medians. CPU is that of Spark's JVM and workers.",
        "`python -m bench spark` repeats it.",
        "",
        "No figure of Spark's Kafka source stands beside it: we found none that is published for one machine",
        "and messages of a known size, and this benchmark does not run Kafka.",
        "",
        "| reader | messages/s | reader CPU s/million |",
        "| --- | ---: | ---: |",
    ]
    for work, title in WORKS.items():
        rate = statistics.median(run["perSecond"] for run in runs[work])
        cpu = statistics.median(run.get("cpuPerMillion", 0.0) for run in runs[work])
        lines.append(f"| {title} | {rate:,.0f} | {f'{cpu:.1f}' if cpu else '-'} |")
    return lines


@benchmark("spark --messages 100000 --pairs 1", pairs=3)
@click.option("--messages", default=400_000, show_default=True, help="Messages in the topic.")
def main(given: Invocation, messages: int) -> None:
    """Read a topic with the Spark source and with the Java pull consumer."""
    runs: dict[str, list[Run]] = {work: [] for work in WORKS}
    with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
        server = Server("ours", Path(folder), {}, production=True).start()
        session = None
        try:
            fill(server, TOPIC, messages)
            fill(server, WARM_UP, messages // 10)
            session = new_session("bench", f"local[{THREADS}]")
            for work in ("nine", "body"):
                frame_of(session, server, WARM_UP, work).write.format("noop").mode("overwrite").save()
            count = count_all(session, server)
            for _ in range(given.pairs):
                for work in WORKS:
                    if work == "java":
                        run = java("Pull", server.namesrv_address, TOPIC, str(THREADS))
                    else:
                        run = spark_run(session, server, TOPIC, work, count)
                    runs[work].append(run)
                    given.console.print(f"{WORKS[work]:36} {run['perSecond']:12,.0f}/s")
        finally:
            if session is not None:
                session.stop()
            server.stop()
    given.save(runs=runs)
    given.write("Spark", section(runs, count, given.pairs))
