"""`python -m bench kafka`: Apache Kafka beside our Kafka front end, with the perf programs of Java's client.

Servers take turns; the one that is not measured is suspended. Figures are medians, written as
ours / Apache's = ratio. CPU and memory are those of the server's process.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from bench.aims import Aimed, misses
from bench.frame import Invocation, benchmark
from bench.kafka_runs import ROWS, Row, Run, run_row, server_of, start_row
from bench.measure import commit, is_compiled, machine, suspended, today
from bench.pairs import SIDES, Pair, turns
from compat_tests.kafka.support.builds import KAFKA
from compat_tests.kafka.support.servers import KafkaServer

WARMING = 0.5
"""Share of a row's records in the run that does not count."""
FIGURES = (
    ("per_second", "records/s", "{:,.0f}"),
    ("cpu_per_million", "server CPU s/million", "{:.2f}"),
    ("client_cpu", "client CPU s/million", "{:.1f}"),
    ("p50_ms", "p50 ms", "{:,.0f}"),
    ("p99_ms", "p99 ms", "{:,.0f}"),
    ("start_seconds", "start s", "{:.2f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)


@dataclass
class KafkaPair(Pair[Row]):
    """All runs of one row on both servers. `load` is the least and the greatest load average meanwhile."""

    date: str = ""
    commit: str = ""
    is_compiled: bool = False
    load: tuple[float, float] = (0.0, 0.0)

    def misses(self) -> list[str]:
        """Return the aims of the row that were not reached."""
        row = self.row
        return misses(
            (
                Aimed("records/s", self.ratio("per_second"), row.faster, is_least=True),
                Aimed("CPU", self.ratio("cpu_per_million"), row.cpu),
                Aimed("start", self.ratio("start_seconds"), row.start),
                Aimed("memory", self.ratio("resident_mb"), row.memory),
                Aimed("p50", self.median("ours", "p50_ms"), row.p50_ms, unit=" ms"),
            )
        )


Pairs = dict[tuple[str, bool], KafkaPair]
"""Pairs by the name of their row, and whether our server was compiled."""


def compare(rows: Sequence[Row], pairs: int, console: Console) -> Iterator[KafkaPair]:
    """Run all rows, those that need no fresh server on the same two. A row that fails is reported and left
    out."""
    shared = [row for row in rows if not row.is_fresh]
    with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
        servers: dict[str, KafkaServer] = {}
        try:
            for kind in SIDES if shared else ():
                servers[kind] = server_of(kind, Path(folder)).start()
            for row in shared:
                yield from _attempt(row, pairs, servers, console)
        finally:
            for server in servers.values():
                server.kill9()
    for row in rows:
        if row.is_fresh:
            yield from _attempt(row, pairs, {}, console)


def _attempt(row: Row, pairs: int, servers: dict[str, KafkaServer], console: Console) -> Iterator[KafkaPair]:
    pair = KafkaPair(row, date=today(), commit=commit(), is_compiled=is_compiled())
    loads: list[float] = []
    try:
        for kind in servers:
            _one(row.scaled(WARMING), kind, servers, -1)
        for number, kind in turns(pairs):
            run = _one(row, kind, servers, number)
            pair.runs[kind].append(run)
            loads.append(os.getloadavg()[0])
            console.print(line(row, kind, run))
    except RuntimeError as failure:
        console.print(f"{row.name} FAILED: {failure}", markup=False)
        return
    pair.load = min(loads), max(loads)
    yield pair


def _one(row: Row, kind: str, servers: dict[str, KafkaServer], number: int) -> Run:
    """Run a row once, on a server that has just started if there are none."""
    if servers:
        others = [server.pid for other, server in servers.items() if other != kind]
        with suspended(others):
            return run_row(row, servers[kind], number)
    with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
        if row.work == "start":
            server, run = start_row(kind, Path(folder))
            server.kill9()
            return run
        with server_of(kind, Path(folder)) as server:
            return run_row(row, server, number)


def line(row: Row, kind: str, run: Run) -> str:
    """Return a run as a line of the console."""
    figures = [
        f"{form.format(value)} {title}"
        for name, title, form in FIGURES
        if (value := getattr(run, name)) is not None
    ]
    return f"{row.name:16} {kind:7} {', '.join(figures)}, load {os.getloadavg()[0]:.1f}"


def section(pairs: Sequence[KafkaPair]) -> list[str]:
    """Return the section of the page."""
    lines = [
        "## Kafka",
        "",
        f"Apache Kafka {KAFKA} (one process, broker and controller, heap 1 GB, defaults) and",
        "`mqgateway serve` took turns; the server that was not measured was suspended. The load is the",
        f"perf programs of the Java client {KAFKA} (`ProducerPerformance`, `ConsumerPerformance`,",
        "`EndToEndLatency`). Topics have four partitions, and batches are the client's default of 16 KB.",
        f"Load and server shared these cores: {machine()}.",
        "Figures are medians, written as ours / Apache's = ratio, after one run each that does not count",
        "(none for a fresh server). CPU and memory are of the server's process. Load is the load average",
        "of the machine, of which this benchmark is a part. `python -m bench kafka` repeats it.",
        "",
    ]
    for compiled, title in ((True, "Compiled form"), (False, "Plain Python")):
        some = [pair for pair in pairs if pair.is_compiled is compiled]
        if some:
            lines += [f"### Kafka, {title.lower()}", "", *table(some), *short(some), ""]
    return lines[:-1]


def table(pairs: Sequence[KafkaPair]) -> list[str]:
    """Return the table of rows that were measured in one form."""
    lines = [
        "| work | " + " | ".join(title for _, title, _ in FIGURES) + " | runs | load | measured |",
        "| --- |" + " ---: |" * (len(FIGURES) + 3),
    ]
    for pair in pairs:
        cells = " | ".join(pair.cell(name, form) for name, _, form in FIGURES)
        runs, (least, most) = len(pair.runs["ours"]), pair.load
        measured = f"{runs} | {least:.1f} to {most:.1f} | {pair.date} {pair.commit}"
        lines.append(f"| {pair.row.title} | {cells} | {measured} |")
    return lines


def short(pairs: Sequence[KafkaPair]) -> list[str]:
    """Return what falls short of the aims."""
    found = [f"- {pair.row.title}: {'; '.join(texts)}." for pair in pairs if (texts := pair.misses())]
    return ["", "Short of what is aimed at:", "", *found] if found else []


def load_pairs(path: Path) -> Pairs:
    """Return the pairs of a file, none if there is no file; rows that no longer exist are left out."""
    rows = {row.name: row for row in ROWS}
    pairs: Pairs = {}
    for one in json.loads(path.read_text()) if path.exists() else ():
        if one["row"] in rows:
            runs = {kind: [Run(**run) for run in one[kind]] for kind in SIDES}
            least, most = one["load"]
            pair = KafkaPair(
                rows[one["row"]], runs, one["date"], one["commit"], one["compiled"], (least, most)
            )
            pairs[pair.row.name, pair.is_compiled] = pair
    return pairs


def save_pairs(path: Path, pairs: Pairs) -> None:
    """Write all pairs to a file."""
    rows = [
        {
            "row": pair.row.name,
            "compiled": pair.is_compiled,
            "date": pair.date,
            "commit": pair.commit,
            "load": pair.load,
            **{kind: [asdict(run) for run in pair.runs[kind]] for kind in SIDES},
        }
        for pair in ordered(pairs)
    ]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def ordered(pairs: Pairs) -> list[KafkaPair]:
    """Return the pairs in the order of the rows."""
    keys = [(row.name, compiled) for compiled in (True, False) for row in ROWS]
    return [pairs[key] for key in keys if key in pairs]


@benchmark(
    "kafka --row produce-1k --pairs 1 --json kafka.json",
    rows=[row.name for row in ROWS],
    pairs=3,
    is_scaled=True,
    is_kept=True,
)
def main(given: Invocation) -> None:
    """Produce and consume on Apache Kafka and on ours, with the perf programs of Java's client as load."""
    pairs = load_pairs(given.json_path) if given.json_path else {}
    rows = [row.scaled(given.scale) for row in given.select(ROWS)]
    for pair in () if given.no_run else compare(rows, given.pairs, given.console):
        pairs[pair.row.name, pair.is_compiled] = pair
        if given.json_path:
            save_pairs(given.json_path, pairs)
    given.write("kafka", section(ordered(pairs)))
