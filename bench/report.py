"""Medians, ratios, the table on the console and the page in the documentation."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench.aims import Aimed, misses
from bench.arrangements import TITLES, Arrangement
from bench.rows import FALLS, Row


@dataclass(frozen=True)
class Sample:
    """One run of one row on one server; None if the work has no such figure.

    `cpu_per_million` is broker CPU seconds a million messages; `cpu_percent` is the share of one core that
    an idle server uses; latencies are in microseconds; `resident_mb` is taken right after the run.
    """

    per_second: float | None = None
    cpu_per_million: float | None = None
    resident_mb: float | None = None
    failed: int = 0
    p50_us: float | None = None
    p99_us: float | None = None
    cpu_percent: float | None = None


@dataclass
class Comparison:
    """All runs of one row on both servers, and when they were made: `date` is ISO, `commit` short."""

    row: Row
    ours: list[Sample] = field(default_factory=list)
    apache: list[Sample] = field(default_factory=list)
    machine: str = ""
    date: str = ""
    commit: str = ""
    is_compiled: bool = False

    def median(self, server: str, name: str) -> float | None:
        """Return the median of one figure over the runs on `ours` or `apache`; None without such a figure."""
        values = [getattr(sample, name) for sample in getattr(self, server)]
        return statistics.median(values) if values and values[0] is not None else None

    def ratio(self, name: str) -> float | None:
        """Return our median divided by Apache's; None if one is missing."""
        ours, apache = self.median("ours", name), self.median("apache", name)
        return ours / apache if ours is not None and apache else None

    @property
    def failed(self) -> int:
        """Messages or clients that failed in any run."""
        return sum(sample.failed for sample in (*self.ours, *self.apache))

    def misses(self) -> list[str]:
        """Return the figures that miss the row's aim, as texts."""
        row = self.row
        aim = row.compiled_aim if self.is_compiled and row.compiled_aim else row.aim
        return misses(
            (
                Aimed("throughput", self.ratio("per_second"), aim.faster, is_least=True),
                Aimed("CPU", self.ratio("cpu_percent" if row.is_at_rest else "cpu_per_million"), aim.cpu),
                Aimed("p50", self.ratio("p50_us"), aim.p50),
                Aimed("p99", self.ratio("p99_us"), aim.p99),
                Aimed("memory", self.ratio("resident_mb"), aim.resident),
            )
        )


FIGURES = (
    ("per_second", "messages/s", "{:,.0f}"),
    ("p50_us", "p50 µs", "{:,.0f}"),
    ("p99_us", "p99 µs", "{:,.0f}"),
    ("cpu_per_million", "broker CPU s/million", "{:.1f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)
REST_FIGURES = (
    ("cpu_percent", "CPU, % of a core", "{:.2f}"),
    ("resident_mb", "resident MB", "{:,.0f}"),
)
Figures = Sequence[tuple[str, str, str]]


def cells(comparison: Comparison, name: str, form: str) -> str:
    """Format one figure as `ours / Apache's = ratio`, or a dash."""
    ours, apache = comparison.median("ours", name), comparison.median("apache", name)
    ratio = comparison.ratio(name)
    if ours is None or apache is None or ratio is None:
        return "-"
    return f"{form.format(ours)} / {form.format(apache)} = {ratio:.2f}"


def line(comparison: Comparison, server: str) -> str:
    """Format the last run on a server as a line for the console."""
    sample: Sample = getattr(comparison, server)[-1]
    figures = FIGURES + REST_FIGURES[:1]
    shown = [
        f"{form.format(getattr(sample, name))} {title}"
        for name, title, form in figures
        if getattr(sample, name) is not None
    ]
    failed = [f"{sample.failed} FAILED"] if sample.failed else []
    return f"{comparison.row.name:20} {server:7} " + "  ".join(shown + failed)


def print_table(comparisons: Sequence[Comparison], console: Console) -> None:
    """Print the side-by-side tables."""
    for at_rest, figures in ((False, FIGURES), (True, REST_FIGURES)):
        those = [comparison for comparison in comparisons if comparison.row.is_at_rest == at_rest]
        if not those:
            continue
        table = Table(title="ours / Apache's = ratio, medians")
        table.add_column("at rest" if at_rest else "work")
        for _, title, _ in figures:
            table.add_column(title, justify="right")
        for comparison in those:
            table.add_row(comparison.row.title, *(cells(comparison, name, form) for name, _, form in figures))
        console.print(table)
    for text in (*falls(comparisons), *shortfalls(comparisons)):
        console.print(text, highlight=False)


def bar(ratio: float) -> str:
    """Draw a ratio as a bar; a block is a tenth, with at most thirty blocks."""
    return "█" * min(30, max(1, round(ratio * 10)))


def falls(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the changes of throughput from one row to another on each server, one per line."""
    known = {comparison.row.name: comparison for comparison in comparisons}
    lines = []
    for first, second, most in FALLS:
        if first not in known or second not in known:
            continue
        parts = []
        for server in ("ours", "apache"):
            before, after = (known[name].median(server, "per_second") for name in (first, second))
            if before and after:
                parts.append(f"{server} {after / before - 1:+.0%}")
        may = "as Apache's does" if most is None else f"by {most:.0%}"
        lines.append(f"From {first} to {second}: {', '.join(parts)}; may fall {may}.")
    return lines


def shortfalls(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the missed aims and the failures, one line a row."""
    lines = []
    for comparison in comparisons:
        short = comparison.misses() + ([f"{comparison.failed} failed"] if comparison.failed else [])
        if short:
            lines.append(f"{comparison.row.title}: {'; '.join(short)}.")
    return lines


def markdown_table(title: str, figures: Figures, comparisons: Sequence[Comparison]) -> list[str]:
    """Return the rows as a table of the page; the last column has date and commit of the measurement."""
    heads = [title, *(head for _, head, _ in figures), "runs", "measured"]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for one in comparisons:
        figure_cells = [cells(one, name, form) for name, _, form in figures]
        shown = [one.row.title, *figure_cells, str(len(one.ours)), f"{one.date} {one.commit}"]
        lines.append(f"| {' | '.join(shown)} |")
    return [*lines, ""]


def section(title: str, comparisons: Sequence[Comparison], starts: dict[str, float]) -> list[str]:
    """Return the section of the page: method, tables and throughput ratios as a picture."""
    machines = dict.fromkeys(comparison.machine for comparison in comparisons)
    at_work = [comparison for comparison in comparisons if not comparison.row.is_at_rest]
    at_rest = [comparison for comparison in comparisons if comparison.row.is_at_rest]
    lines = [
        f"## {title}",
        "",
        f"Measured on {'; '.join(machines)}.",
        "Load and server shared these cores, each in a session of its own, between which Linux shares them",
        "out as between services; nothing was pinned; the server that was not measured was",
        "suspended. Apache RocketMQ 5.5.0 (name server, broker, `-Xms1g -Xmx2g`,",
        "otherwise defaults) and mqgateway took turns, after one run each that does not count;",
        "figures are medians, written as ours / Apache's = ratio. The load is the official Java client 5.5.0",
        "(`compat_tests/support/java/bench/`), and where the table says so the benchmark programs of",
        "`rocketmq-example` 5.5.0. CPU and memory are the operating system's figures for name",
        "server and broker together. `tox -e bench` repeats it.",
        "",
    ]
    if at_work:
        lines += markdown_table("work", FIGURES, at_work)
    if at_rest:
        lines += markdown_table("at rest", REST_FIGURES, at_rest)
    if {"ours", "apache"} <= starts.keys():
        lines += [f"Start to ready: ours {starts['ours']:.2f} s, Apache's {starts['apache']:.2f} s.", ""]
    for text in falls(comparisons):
        lines += [text, ""]
    if short := shortfalls(comparisons):
        lines += ["Short of what is aimed at:", "", *(f"- {text}" for text in short), ""]
    return [*lines, *_picture(at_work)]


def arrangement_section(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the section that compares arrangements: throughput of the rows measured in several."""
    found = {(one.is_compiled, one.row.name, one.row.arrangement): one for one in comparisons}
    several = dict.fromkeys(key[:2] for key in found if key[2] is not Arrangement.APART)
    lines = [
        "## How the cores are shared",
        "",
        "The same work with load and servers in one session, with the load in a session of its own (as in",
        "the tables above), and with a core for the servers and one for the load: messages/s, ours /",
        "Apache's = ratio.",
        "",
        f"| work | {' | '.join(TITLES.values())} | runs | measured |",
        "| --- |" + " ---: |" * (len(TITLES) + 2),
    ]
    for is_compiled, name in several:
        row = [found.get((is_compiled, name, arrangement)) for arrangement in TITLES]
        known = [one for one in row if one is not None]
        shown = ["-" if one is None else cells(one, "per_second", "{:,.0f}") for one in row]
        runs = "/".join("-" if one is None else str(len(one.ours)) for one in row)
        when = ", ".join(dict.fromkeys(f"{one.date} {one.commit}" for one in known))
        title = f"{known[0].row.title}{', compiled' if is_compiled else ''}"
        lines.append(f"| {' | '.join([title, *shown, runs, when])} |")
    return lines


def _picture(comparisons: Sequence[Comparison]) -> list[str]:
    """Draw the throughput ratios as bars."""
    lines = ["Throughput ratio (1.0 = ten blocks):", "", "```"]
    for comparison in comparisons:
        ratio = comparison.ratio("per_second")
        if ratio is not None:
            lines.append(f"{comparison.row.title:52} {ratio:5.2f} {bar(ratio)}")
    return [*lines, "```"]
