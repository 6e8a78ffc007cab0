"""`python -m bench replication`: replication of our pair beside Apache's, and what clients see of a failover.

Both kinds take turns, each run on a new pair, so that nothing else runs meanwhile. A load is put on the
master with the official client, after one that does not count; a new slave copies a whole log; and of two
masters, one with a slave, that one is killed (`kill -9`) while a Java producer and a Java consumer work.
Figures are medians, written as ours / Apache's = ratio.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
from rich.console import Console

from bench.frame import Invocation, benchmark
from bench.measure import measured_on
from bench.pairs import SIDES, cell, turns
from bench.replication_pair import Pair
from bench.replication_runs import (
    FAILOVER_THREADS,
    KILLED,
    MODES,
    STAYS,
    SYNC_MASTER,
    Figures,
    pair_of,
    run_copy,
    run_failover,
    run_load,
)
from bench.rows import Row

LOADS = (
    Row("sync-16", "sync", "sync send, 16 threads, 1 KB", 8, threads=16),
    Row("async", "async", "async send, 1 KB", 8),
)
COPIED_MESSAGES = 400_000
PARTS = ("load", "copy", "failover")

LOAD_COLUMNS = (
    ("per_second", "messages/s", "{:,.0f}"),
    ("p50_us", "p50 µs", "{:,.0f}"),
    ("p99_us", "p99 µs", "{:,.0f}"),
    ("lag_ms", "lag, median ms", "{:,.1f}"),
    ("lag_p99_ms", "lag, p99 ms", "{:,.1f}"),
    ("lag_kb", "most lag, KB", "{:,.0f}"),
    ("behind_ms", "behind at the end, ms", "{:,.0f}"),
    ("master_cpu", "master CPU s/million", "{:.1f}"),
    ("slave_cpu", "slave CPU s/million", "{:.1f}"),
)
COPY_COLUMNS = (
    ("mb_per_second", "MB/s", "{:,.0f}"),
    ("master_cpu", "master CPU s/GB", "{:.2f}"),
    ("slave_cpu", "slave CPU s/GB", "{:.2f}"),
)
FAILOVER_COLUMNS = (
    ("noSendMillis", "no send acknowledged, ms", "{:,.0f}"),
    ("slowestMillis", "slowest send, ms", "{:,.0f}"),
    ("disturbedMillis", "last slow send, ms after", "{:,.0f}"),
    ("failed", "sends failed", "{:,.0f}"),
    ("firstReadMillis", "first message read, ms after", "{:,.0f}"),
    ("lastOldMillis", "dead master's all read, ms after", "{:,.0f}"),
    ("repeated", "read twice", "{:,.0f}"),
)
Columns = tuple[tuple[str, str, str], ...]


@dataclass
class Line:
    """All runs of one kind of work on both kinds of pairs."""

    title: str
    columns: Columns
    runs: dict[str, list[Figures]] = field(default_factory=lambda: {kind: [] for kind in SIDES})

    def cells(self) -> list[str]:
        """`ours / Apache's = ratio` of each figure."""
        return [self._cell(name, form) for name, _, form in self.columns]

    def _cell(self, name: str, form: str) -> str:
        apache, ours = (statistics.median(run[name] for run in self.runs[kind]) for kind in SIDES)
        return cell(ours, apache, form)


class Bench:
    """One run of the benchmark."""

    def __init__(self, work: Path, pairs: int, seconds: int | None, messages: int, console: Console) -> None:
        self._work = work
        self._pairs = pairs
        self._messages = messages
        self._console = console
        self._loads = [row if seconds is None else replace(row, amount=seconds) for row in LOADS]

    def loads(self) -> list[Line]:
        """Loads on masters that wait for their slave, and on those that do not."""
        lines = {
            (mode, row): Line(f"{mode}, {row.title}", LOAD_COLUMNS) for mode in MODES for row in self._loads
        }
        for mode in MODES:
            for number, kind, folder in self._turns(mode):
                with pair_of(kind, folder, mode).start() as pair:
                    for row in self._loads:
                        run_load(pair, replace(row, amount=max(2, row.amount // 2)), f"warm_{row.work}")
                        result = run_load(pair, row, f"load_{row.work}")
                        self._add(lines[mode, row], kind, number, result)
        return list(lines.values())

    def copies(self) -> list[Line]:
        """A new slave."""
        megabytes = self._messages * 1.2 / 1000
        line = Line(f"a new slave copies {megabytes:,.0f} MB", COPY_COLUMNS)
        for number, kind, folder in self._turns("copy"):
            with pair_of(kind, folder, "ASYNC_MASTER").start(with_slave=False) as pair:
                self._add(line, kind, number, run_copy(pair, self._messages, 1024))
        return [line]

    def failovers(self) -> list[Line]:
        """One of two masters dies."""
        line = Line("two masters, one killed", FAILOVER_COLUMNS)
        settings = {**SYNC_MASTER, "brokerName": KILLED}
        for number, kind, folder in self._turns("failover"):
            with Pair(kind, folder, settings, [STAYS]).start() as pair:
                self._add(line, kind, number, run_failover(pair, "failover"))
        return [line]

    def _turns(self, what: str) -> Iterator[tuple[int, str, Path]]:
        for number, kind in turns(self._pairs):
            with tempfile.TemporaryDirectory(prefix=f"{what}-{kind}-", dir=self._work) as folder:
                yield number, kind, Path(folder)

    def _add(self, line: Line, kind: str, number: int, result: Figures) -> None:
        line.runs[kind].append(result)
        said = "  ".join(f"{title} {form.format(result[name])}" for name, title, form in line.columns)
        self._console.print(f"{number} {kind:7} {line.title}: {said}")


def table(lines: Sequence[Line]) -> list[str]:
    """Lines of the same columns as the page has them."""
    titles = [title for _, title, _ in lines[0].columns]
    rows = ["| work | " + " | ".join(titles) + " |", "| --- |" + " ---: |" * len(titles)]
    return rows + [f"| {line.title} | {' | '.join(line.cells())} |" for line in lines]


def section(parts: dict[str, list[Line]], pairs: int) -> list[str]:
    """The section of the page: how it was measured, and the tables."""
    lines = [
        "## Replication",
        "",
        measured_on(),
        "A master, its slave and a name server of one kind, each a process, all on these cores together with",
        f"the load; both kinds took turns, runs of each: {pairs}, on new stores (Apache RocketMQ 5.5.0 with",
        "`-Xms1g -Xmx2g`). Figures are medians, written as ours / Apache's = ratio.",
        "`python -m bench replication` repeats it.",
    ]
    notes = {
        "load": [
            "The load is the official Java client's, after one that does not count. A SYNC_MASTER has",
            "`inSyncReplicas=2`: a send is acknowledged when its slave has it. The lag is how long ago the",
            "master's log ended where the slave's (what it has acknowledged) ends now, asked every 50 ms.",
        ],
        "copy": ["Time and CPU from the first bytes that the slave acknowledged until it had everything."],
        "failover": [
            f"A SYNC_MASTER ({KILLED}) with its slave, and another master ({STAYS}); a producer with",
            f"{FAILOVER_THREADS} threads and a push consumer, the official Java client's, with defaults.",
            f"{KILLED} is ended with `kill -9`; the consumer had been paused for 3 s before, so that what",
            "the dead master had taken meanwhile can be read from its slave only. Nothing that was",
            "acknowledged was lost in any run. A slow send took more than 200 ms.",
        ],
    }
    for name, found in parts.items():
        lines += ["", *notes[name], "", *table(found)]
    return lines


@benchmark("replication --row load --pairs 1", rows=PARTS, pairs=3)
@click.option("--seconds", type=click.IntRange(2), help="Length of a load, instead of the row's.")
@click.option("--messages", default=COPIED_MESSAGES, show_default=True, help="Messages that a slave copies.")
def main(given: Invocation, seconds: int | None, messages: int) -> None:
    """Measure replication and failover of a master and its slave, ours beside Apache's."""
    with tempfile.TemporaryDirectory(prefix="mqgateway-replication-") as folder:
        bench = Bench(Path(folder), given.pairs, seconds, messages, given.console)
        works: dict[str, Callable[[], list[Line]]] = {
            "load": bench.loads,
            "copy": bench.copies,
            "failover": bench.failovers,
        }
        parts = {name: works[name]() for name in PARTS if given.selects(name)}
    given.save(parts={name: [vars(line) for line in lines] for name, lines in parts.items()})
    given.write("replication", section(parts, given.pairs))
