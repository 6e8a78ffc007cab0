"""`python -m bench profile`: a breakdown of our server's CPU time for each row, by `perf`.

Each row's load runs on a server of ours, after a warm-up that does not count, while `perf record` samples its
processes 2,000 times a second. The shares of the samples divide the CPU time for a message, as the system
reports it. Files of `--json` keep the figures of other commits, for tables of before and after.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.frame import Invocation, benchmark
from bench.measure import commit, is_compiled, machine, today
from bench.rows import CONSUMING, Row, choose
from bench.run import fill, load, run_row
from compat_tests.support.servers import Server

ROWS = ("sync-1", "sync-16", "sync-64", "async", "batch-32", "consume", "pop", "tag", "sql", "flush-1")
FREQUENCY = 1999
PARTS = {
    "the system": r"\[.*\]",
    "interpreter": r"(lib)?python.*",
    "compiled modules": r".*__mypyc\..*",
    "extension": r"native\..*",
    "other libraries": r".*",
}
"""Parts of the CPU time, each with a pattern of its binaries' names in perf; the first match counts."""


@dataclass
class Profile:
    """CPU time of a message in µs, in total and in each part."""

    row: str
    title: str
    commit: str
    date: str
    is_compiled: bool
    cpu_us: float
    parts: dict[str, float]


@contextmanager
def recorded(pids: Sequence[int], path: Path) -> Iterator[None]:
    """Record processes with perf within this context. Raises `RuntimeError` if perf cannot."""
    command = ["perf", "record", "-q", "-F", str(FREQUENCY), "-o", str(path)]
    command += ["-p", ",".join(map(str, pids))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    if not path.exists():
        raise RuntimeError(f"perf recorded nothing: {said}")


def shares(path: Path) -> dict[str, float]:
    """Return the share of each part; all parts together make 1."""
    command = ["perf", "report", "-i", str(path), "--stdio", "--no-children", "--sort", "dso"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = dict.fromkeys(PARTS, 0.0)
    for percent, name in re.findall(r"^\s+(\d+\.\d+)%\s+(\S+)", report, re.MULTILINE):
        part = next(part for part, pattern in PARTS.items() if re.fullmatch(pattern, name))
        found[part] += float(percent) / 100
    return found


def profile(row: Row, server: Server, folder: Path) -> Profile:
    """Profile one row on a running server."""
    run_row(row.scaled(0.5), server, -1)
    topic = f"profile_{row.name.replace('-', '_')}"
    loaded = fill(row, server, topic) if row.work in CONSUMING else row
    path = folder / f"{row.name}.perf"
    with recorded(server.pids, path):
        result, used, _ = load(loaded, server, topic)
    cpu_us = used / result["count"] * 1e6
    parts = {part: share * cpu_us for part, share in shares(path).items()}
    return Profile(row.name, row.title, commit(), today(), is_compiled(), cpu_us, parts)


def section(profiles: Sequence[Profile]) -> list[str]:
    """Return the table: rows of the same work below each other, plain Python before compiled."""
    lines = [
        "## Profiles",
        "",
        f"CPU time of our server for a message, in µs, and what it is spent in, by `perf`: {machine()}.",
        "`python -m bench profile` repeats it.",
        "",
        f"| work | measured | CPU | {' | '.join(PARTS)} |",
        f"| --- | --- | ---: |{' ---: |' * len(PARTS)}",
    ]
    order = [row.name for row in choose(())]
    for one in sorted(profiles, key=lambda one: (order.index(one.row), not one.is_compiled)):
        form = "compiled" if one.is_compiled else "plain"
        cells = " | ".join(f"{one.parts[part]:.1f}" for part in PARTS)
        lines.append(f"| {one.title} | {one.date} {one.commit}, {form} | {one.cpu_us:.1f} | {cells} |")
    return lines


@benchmark(
    "profile --row sync-64 --json profiles.json",
    rows=[row.name for row in choose(())],
    selected=ROWS,
    is_kept=True,
)
def main(given: Invocation) -> None:
    """Find where the CPU time of the server goes, row by row; needs `perf`."""
    kept: dict[tuple[str, str, bool], Profile] = {}
    if given.json_path and given.json_path.exists():
        before = [Profile(**one) for one in json.loads(given.json_path.read_text())]
        kept = {(one.row, one.commit, one.is_compiled): one for one in before}
    rows = () if given.no_run else choose(given.names)
    for shared in dict.fromkeys(row.server for row in rows):
        same = [row for row in rows if row.server == shared]
        with (
            tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder,
            Server("ours", Path(folder), dict(same[0].broker), production=True) as server,
        ):
            for row in same:
                one = profile(row, server, Path(folder))
                kept[one.row, one.commit, one.is_compiled] = one
                given.console.print(section([one])[-1])
        if given.json_path:
            given.json_path.write_text(json.dumps([asdict(one) for one in kept.values()], indent=1))
    given.write("profiles", section(list(kept.values())))
