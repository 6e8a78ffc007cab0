"""Runs on a pair: a load, a full copy to a new slave, a failover after a killed master."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.replication_pair import Pair, Watch
from bench.rows import Row
from bench.run import CLIENT_JVM, load
from compat_tests.support.artifacts import CURRENT, program

ASYNC_MASTER = {"brokerRole": "ASYNC_MASTER"}
SYNC_MASTER = {"brokerRole": "SYNC_MASTER", "totalReplicas": "2", "inSyncReplicas": "2"}
MODES = {"ASYNC_MASTER": ASYNC_MASTER, "SYNC_MASTER": SYNC_MASTER}

KILLED, STAYS = "broker-a", "broker-b"
FAILOVER_SECONDS = 10
FAILOVER_THREADS = 4
COPY_SECONDS_MAX = 300

Figures = dict[str, float]
"""Results of one run, by the names of the tables' columns."""


def run_load(pair: Pair, row: Row, topic: str) -> Figures:
    """Put one load on the master while the slave follows. Raises `RuntimeError` if sends failed."""
    with Watch(pair) as watch:
        result, _, _ = load(row, pair, topic)  # type: ignore[arg-type]
        ended = time.monotonic()
        pair.wait_until_followed()
        behind = time.monotonic() - ended
        lag = watch.lag(ended - result["seconds"], ended)
    if result["failed"]:
        raise RuntimeError(f"{result['failed']:.0f} sends of {row.name} failed on the {pair.kind} pair")
    million = result["count"] / 1e6
    return {
        "per_second": result["perSecond"],
        "p50_us": result["p50us"],
        "p99_us": result["p99us"],
        "lag_ms": lag.median_ms,
        "lag_p99_ms": lag.p99_ms,
        "lag_kb": lag.most_kb,
        "behind_ms": behind * 1000,
        "master_cpu": lag.master_cpu / million,
        "slave_cpu": lag.slave_cpu / million,
    }


def run_copy(pair: Pair, messages: int, body_bytes: int) -> Figures:
    """Let a new slave copy the log of a master with `messages` messages, timed from the first bytes."""
    fill = Row("fill", "fill", "", messages, 1, body_bytes)
    load_command = [*client("bench.Load"), "fill", pair.namesrv_address, "copied"]
    load_command += [str(fill.amount), str(fill.threads), str(fill.body_bytes)]
    subprocess.run(load_command, check=True, capture_output=True, timeout=COPY_SECONDS_MAX)
    with Watch(pair) as watch:
        pair.slave.start()
        pair.wait_until_followed(COPY_SECONDS_MAX)
        time.sleep(0.2)
        samples = watch.between(0, time.monotonic())
    begin = next(index for index, sample in enumerate(samples) if sample.acknowledged) - 1
    end = next(index for index, sample in enumerate(samples) if sample.acknowledged >= sample.log_end > 0)
    first, last = samples[max(0, begin)], samples[end]
    copied = (last.acknowledged - first.acknowledged) / 1e6
    return {
        "mb": copied,
        "mb_per_second": copied / (last.at - first.at),
        "master_cpu": (last.master_cpu - first.master_cpu) / copied * 1000,
        "slave_cpu": (last.slave_cpu - first.slave_cpu) / copied * 1000,
    }


def run_failover(pair: Pair, topic: str) -> Figures:
    """Kill the master while messages flow over it and another one, and return the clients' results.

    Raises `RuntimeError` if a message was acknowledged and never read.
    """
    command = [*client("bench.Failover"), pair.namesrv_address, topic, KILLED]
    with conversation([*command, str(FAILOVER_SECONDS), str(FAILOVER_THREADS)]) as process:
        answer(process, "flowing")
        # The slave must know the topic, or it answers readers that there is none.
        pair.wait_for_tables(topic)
        write_line(process, "pause")
        answer(process, "paused")
        write_line(process, "killed")
        pair.master.kill9()
        result = answer(process, "sent")
    if result["missing"]:
        raise RuntimeError(f"{result['missing']} acknowledged messages were never read: {result}")
    return {name: float(value) for name, value in result.items()}


def client(main: str) -> list[str]:
    """Return the command of one of our Java programs with the official client."""
    return ["java", *CLIENT_JVM, "-cp", program("bench", "client", CURRENT), main]


@contextmanager
def conversation(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program that reads command lines and answers with lines; kill it on exit."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def write_line(process: subprocess.Popen[str], line: str) -> None:
    """Write the next command line to a program."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """Return the next object that has the key `name`.

    Raises `RuntimeError` with the program's last lines if there is none.
    """
    said = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if line.startswith("{") and name in (found := json.loads(line)):
            return dict(found)
    raise RuntimeError(f"no {name} came:\n{''.join(said[-20:])}")


def pair_of(kind: str, folder: Path, mode: str) -> Pair:
    """Return a pair of that kind, whose master replicates synchronously or not, by `mode`."""
    return Pair(kind, folder, MODES[mode])
