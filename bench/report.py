"""Medians, ratios, the table on the console and the page in the documentation."""

import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench.rows import Row


@dataclass(frozen=True)
class Sample:
    """One run of one row on one server.

    `cpu_per_million` is broker CPU seconds for a million messages; latencies are in microseconds,
    None where the work has none; `resident_mb` is taken right after the run.
    """

    per_second: float
    cpu_per_million: float
    resident_mb: float
    failed: int
    p50_us: float | None = None
    p99_us: float | None = None


@dataclass
class Comparison:
    """All runs of one row on both servers."""

    row: Row
    ours: list[Sample] = field(default_factory=list)
    apache: list[Sample] = field(default_factory=list)

    def median(self, server: str, name: str) -> float | None:
        """The median of one figure over the runs on `ours` or `apache`; None where it has no such figure."""
        values = [getattr(sample, name) for sample in getattr(self, server)]
        return statistics.median(values) if values and values[0] is not None else None

    def ratio(self, name: str) -> float | None:
        """Ours divided by Apache's."""
        ours, apache = self.median("ours", name), self.median("apache", name)
        return ours / apache if ours is not None and apache else None


FIGURES = (
    ("per_second", "messages/s", "{:,.0f}"),
    ("p50_us", "p50 µs", "{:,.0f}"),
    ("p99_us", "p99 µs", "{:,.0f}"),
    ("cpu_per_million", "broker CPU s/million", "{:.1f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)


def cells(comparison: Comparison, name: str, form: str) -> str:
    """`ours / Apache's = ratio` of one figure, or a dash."""
    ours, apache = comparison.median("ours", name), comparison.median("apache", name)
    ratio = comparison.ratio(name)
    if ours is None or apache is None or ratio is None:
        return "-"
    return f"{form.format(ours)} / {form.format(apache)} = {ratio:.2f}"


def print_table(comparisons: Sequence[Comparison], console: Console) -> None:
    """The side-by-side table."""
    table = Table(title="ours / Apache's = ratio, medians")
    table.add_column("work")
    for _, title, _ in FIGURES:
        table.add_column(title, justify="right")
    for comparison in comparisons:
        table.add_row(comparison.row.title, *(cells(comparison, name, form) for name, _, form in FIGURES))
    console.print(table)


def bar(ratio: float) -> str:
    """A ratio as a bar; one block is a tenth, at most thirty."""
    return "█" * min(30, max(1, round(ratio * 10)))


def section(
    title: str, comparisons: Sequence[Comparison], starts: dict[str, float], machine: str, pairs: int
) -> list[str]:
    """The section of the page: how it was measured, the table and throughput ratios as a picture."""
    today = datetime.date.today().isoformat()
    lines = [
        f"## {title}",
        "",
        f"Measured on {today}: {machine}.",
        "Load and server shared these cores; nothing was pinned; the server that was not measured was",
        "suspended. Apache RocketMQ 5.5.0 (name server, broker, `-Xms1g -Xmx2g`,",
        f"otherwise defaults) and mqgateway took turns, {pairs} runs each after one that does not count;",
        "figures are medians, written as ours / Apache's = ratio. The load is the official Java client 5.5.0",
        "(`compat_tests/java/bench/Load.java`), and where the table says so the benchmark programs of",
        "`rocketmq-example` 5.5.0. CPU and memory are the operating system's figures for name",
        "server and broker together. `tox -e bench` repeats it.",
        "",
        "| work | " + " | ".join(title for _, title, _ in FIGURES) + " |",
        "| --- |" + " ---: |" * len(FIGURES),
    ]
    for comparison in comparisons:
        row = " | ".join(cells(comparison, name, form) for name, _, form in FIGURES)
        lines.append(f"| {comparison.row.title} | {row} |")
    lines += ["", f"Start to ready: ours {starts['ours']:.2f} s, Apache's {starts['apache']:.2f} s.", ""]
    lines += ["Throughput ratio (1.0 = ten blocks):", "", "```"]
    for comparison in comparisons:
        ratio = comparison.ratio("per_second")
        if ratio is not None:
            lines.append(f"{comparison.row.title:48} {ratio:5.2f} {bar(ratio)}")
    return [*lines, "```"]
