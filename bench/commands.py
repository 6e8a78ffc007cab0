"""`python -m bench commands`: the cost of calling a command, from a shell's point of view.

Every call is a process, measured from its start to its end, beside an otherwise idle server of ours. CPU is
user plus system time of the process. Apache's tool is called only a few times: each call starts a JVM.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from bench.frame import Invocation, benchmark
from bench.measure import measured_on
from compat_tests.support.artifacts import OPENS, class_path
from compat_tests.support.servers import Server

MQADMIN = "import sys; from mqgateway.gateway.mqadmin.main import main; sys.exit(main())"
MQGATEWAY = "from mqgateway.gateway.cli.main import main; main()"
APACHES = "org.apache.rocketmq.tools.command.MQAdminStartup"


@dataclass
class Calls:
    """Cost of some calls of one command; `modules` counts the Python modules that a call loads."""

    title: str
    calls: int
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    modules: int | None


def measured(title: str, command: Sequence[str], calls: int, modules: int | None = None) -> Calls:
    """Measure `calls` calls after one that does not count. Raises `RuntimeError` if a call fails."""
    walls, cpus = [], []
    for number in range(calls + 1):
        before, began = os.times(), time.perf_counter()
        ended = subprocess.run(command, capture_output=True, check=False)
        wall, after = time.perf_counter() - began, os.times()
        if ended.returncode or not ended.stdout:
            raise RuntimeError(f"{title}: {ended.stderr.decode(errors='replace')}")
        if number:
            walls.append(wall * 1000)
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            cpus.append(cpu * 1000)
    p99 = sorted(walls)[min(calls - 1, calls * 99 // 100)]
    return Calls(title, calls, statistics.median(walls), p99, statistics.fmean(cpus), modules)


def python(program: str, *arguments: str) -> list[str]:
    """Return the command of a program of ours."""
    return [sys.executable, "-c", program, *arguments]


def modules_of(program: str, *arguments: str) -> int:
    """Return the number of modules that a call has loaded at exit."""
    counted = (
        f"import atexit, sys; atexit.register(lambda: print(len(sys.modules), file=sys.stderr)); {program}"
    )
    ended = subprocess.run(python(counted, *arguments), capture_output=True, text=True, check=True)
    return int(ended.stderr.split()[-1])


def measure(calls: int, apaches: int) -> list[Calls]:
    """Measure all commands, one after another."""
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder,
        Server("ours", Path(folder)) as server,
    ):
        asked = ["topicList", "-n", server.namesrv_address]
        for title, program, arguments in (
            ("`mqadmin topicList`", MQADMIN, asked),
            ("`mqadmin topicList -h`", MQADMIN, ["topicList", "-h"]),
            ("`mqadmin`", MQADMIN, []),
            ("`mqgateway --help`", MQGATEWAY, ["--help"]),
        ):
            modules = modules_of(program, *arguments)
            found.append(measured(title, python(program, *arguments), calls, modules))
        java = ["java", *OPENS, "-cp", class_path("tools"), APACHES, *asked]
        found.append(measured("Apache's `mqadmin topicList`", java, apaches))
    return found


def section(found: Sequence[Calls]) -> list[str]:
    """The section of the page."""
    lines = [
        "## Commands",
        "",
        measured_on(),
        "A call is a process from its start to its end; CPU is the mean of a call.",
        "`python -m bench commands` repeats it.",
        "",
        "| call | calls | p50, ms | p99, ms | CPU, ms | Python modules |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        modules = "" if one.modules is None else one.modules
        took = f"{one.p50_ms:.0f} | {one.p99_ms:.0f} | {one.cpu_ms:.0f}"
        lines.append(f"| {one.title} | {one.calls} | {took} | {modules} |")
    return lines


@benchmark("commands --calls 20 --apaches 1")
@click.option("--calls", default=100, show_default=True, help="Calls of each command of ours.")
@click.option("--apaches", default=5, show_default=True, help="Calls of Apache's tool.")
def main(given: Invocation, calls: int, apaches: int) -> None:
    """Time `mqadmin` beside Apache's tool, and `mqgateway --help`."""
    found = measure(calls, apaches)
    given.save(calls=[asdict(one) for one in found])
    given.write("commands", section(found))
