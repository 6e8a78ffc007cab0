"""The part `container` of `bench.scale`: the cost of a container's idle broker processes."""

import time
from collections.abc import Iterator, Sequence

import psutil

from bench.contained import Contained
from bench.measure import usage
from bench.scale_load import beside
from bench.scale_part import Column, Finding, Part, Plan

BROKERS = (1, 2, 4, 8)
SETTLE_SECONDS = 5.0
REST_SECONDS = 15.0

LEAD = (
    "Name server, container and its broker processes, each with a store of its own, empty but for one topic;",
    "from the start of the first to the last broker's registration. Resident counts what processes share",
    "once for each, proportional memory (PSS) once in all.",
)
COLUMNS = (
    Column("start_seconds", "start s", "{:,.2f}"),
    Column("start_cpu_seconds", "start CPU s", "{:,.2f}"),
    Column("cpu_percent", "at rest, % of a core", "{:,.1f}"),
    Column("resident_mb", "resident MB", "{:,.0f}"),
    Column("proportional_mb", "proportional MB", "{:,.0f}"),
    Column("processes", "processes", "{:,.0f}"),
    Column("threads", "threads", "{:,.0f}"),
)


def measure(plan: Plan) -> Iterator[Finding]:
    """Measure one container after another."""
    for count in BROKERS:
        plan.notify(f"{count} brokers")
        server = Contained(plan.work / f"contained-{count}", count)
        began = time.monotonic()
        server.start()
        figures = {"start_seconds": time.monotonic() - began}
        try:
            figures["start_cpu_seconds"] = usage(server.pids).cpu_seconds
            time.sleep(SETTLE_SECONDS)
            pids = server.pids
            rest = beside(pids, _rest)
            processes = [psutil.Process(pid) for pid in pids]
            figures |= {name: rest[name] for name in ("cpu_percent", "resident_mb")}
            figures["proportional_mb"] = sum(one.memory_full_info().pss for one in processes) / 1e6
            figures["processes"] = len(pids)
            figures["threads"] = sum(one.num_threads() for one in processes)
        finally:
            server.stop()
        yield Finding("container", "ours", f"{count} broker{'s' if count > 1 else ''}", figures)


def _rest() -> dict[str, float]:
    time.sleep(REST_SECONDS)
    return {}


def model(findings: Sequence[Finding]) -> list[str]:
    """Return the cost of each further broker, and a projection beyond the cores of this machine."""
    if len(findings) < 2:
        return []
    first, last = findings[0], findings[-1]
    more = int(last.what.split()[0]) - int(first.what.split()[0])
    each = {name: (last.figures[name] - first.figures[name]) / more for name in first.figures}
    lines = [
        f"**More.** Each further broker costs {each['proportional_mb']:.0f} MB (resident"
        f" {each['resident_mb']:.0f}), {each['start_cpu_seconds']:.2f} s of CPU",
        f"at the start and {each['cpu_percent']:.2f} % of a core at rest. A model, by these costs:",
        "",
        "| brokers | cores | start s at least | proportional MB | at rest, % of a core |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for brokers, cores in ((16, 16), (32, 32), (64, 64)):
        start = first.figures["start_cpu_seconds"] + each["start_cpu_seconds"] * (brokers - 1) / cores
        memory, percent = (
            first.figures[name] + each[name] * (brokers - 1) for name in ("proportional_mb", "cpu_percent")
        )
        lines.append(f"| {brokers} | {cores} | {start:.1f} | {memory:,.0f} | {percent:.1f} |")
    return lines


PART = Part("container", "Broker processes of a container", LEAD, COLUMNS, measure, model)
