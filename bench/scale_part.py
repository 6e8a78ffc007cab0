"""Common ground of the parts of `bench.scale`: findings, and the tables and files that hold them."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.measure import commit, form, machine, today


@dataclass
class Finding:
    """One step of a part on one server. `figures` are keyed by the part's columns, in their units."""

    part: str
    server: str
    what: str
    figures: dict[str, float]
    load_average: float = field(default_factory=lambda: os.getloadavg()[0])
    date: str = field(default_factory=today)
    commit: str = field(default_factory=commit)
    form: str = field(default_factory=form)


@dataclass(frozen=True)
class Column:
    """A figure: its name in findings, its heading, its format."""

    name: str
    heading: str
    form: str = "{:,.1f}"


@dataclass(frozen=True)
class Plan:
    """Options of a part: the scale of its sizes, True to measure Apache's server too, the work folder, and
    the function that receives its progress."""

    scale: float
    apache: bool
    work: Path
    notify: Callable[[str], None]

    def scaled(self, size: int, least: int = 1) -> int:
        """Return a size multiplied by `scale`, at least `least`."""
        return max(least, round(size * self.scale))


@dataclass(frozen=True)
class Part:
    """One part: its name and title, the text above its table, the columns, the function that measures it, and
    the one that draws conclusions from its findings."""

    name: str
    title: str
    lead: tuple[str, ...]
    columns: tuple[Column, ...]
    measure: Callable[[Plan], Iterator[Finding]]
    model: Callable[[Sequence[Finding]], list[str]] = lambda _: []

    def section(self, findings: Sequence[Finding]) -> list[str]:
        """Return the section of the page; empty without findings."""
        own = [one for one in findings if one.part == self.name]
        if not own:
            return []
        first, loads = own[0], [one.load_average for one in own]
        columns = [column for column in self.columns if any(column.name in one.figures for one in own)]
        several = len({one.server for one in own}) > 1
        heads = [*(["server"] if several else []), "what", *(column.heading for column in columns)]
        lines = [
            f"### {self.title}",
            "",
            f"Measured on {first.date}, {first.commit} ({first.form}): {machine()}; load average of the",
            f"machine {min(loads):.1f} to {max(loads):.1f}, of which this benchmark is a part.",
            *self.lead,
            "",
            f"| {' | '.join(heads)} |",
            "| --- |" + (" --- |" if several else "") + " ---: |" * len(columns),
        ]
        for one in own:
            cells = [
                column.form.format(one.figures[column.name]) if column.name in one.figures else "-"
                for column in columns
            ]
            lines.append(f"| {' | '.join([*([one.server] if several else []), one.what, *cells])} |")
        model = self.model(own)
        return [*lines, "", *model, ""] if model else [*lines, ""]


def load_findings(path: Path | None) -> list[Finding]:
    """Return the findings of a file; an empty list if there is no file."""
    if path is None or not path.exists():
        return []
    return [Finding(**one) for one in json.loads(path.read_text())]


def save_findings(path: Path, findings: Sequence[Finding]) -> None:
    """Write all findings to a file."""
    path.write_text(json.dumps([asdict(one) for one in findings], indent=1) + "\n")


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return median, 99th percentile and maximum in ms; empty for no values."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    last = len(ordered) - 1
    taken = {f"p{share}_ms": ordered[min(last, len(ordered) * share // 100)] for share in (50, 99)}
    return {name: one * 1000 for name, one in {**taken, "longest_ms": ordered[-1]}.items()}
