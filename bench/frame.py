"""The frame of a benchmark: the options that benchmarks share, the file of its figures, its page sections."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click
from rich.console import Console

from bench.measure import commit, is_compiled, machine, today


class Named(Protocol):
    """A row, part or curve that `--row` selects."""

    @property
    def name(self) -> str:
        """The name."""


N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class Invocation:
    """The shared options of one call, parsed. An option that the benchmark lacks has the value given here."""

    names: tuple[str, ...] = ()
    pairs: int = 0
    scale: float = 1.0
    json_path: Path | None = None
    page_path: Path | None = None
    no_run: bool = False
    console: Console = field(default_factory=lambda: Console(width=200, stderr=True, highlight=False))
    """The console for progress; results go to standard output."""

    def selects(self, name: str) -> bool:
        """Return True if a row is to be measured: all are without `--row`."""
        return not self.names or name in self.names

    def select(self, rows: Sequence[N]) -> list[N]:
        """Return the rows to be measured, in their order."""
        return [row for row in rows if self.selects(row.name)]

    def save(self, **figures: object) -> None:
        """Write figures to the file of `--json`, with the machine, the date and the commit."""
        if self.json_path is not None:
            origin = {"machine": machine(), "date": today(), "commit": commit(), "compiled": is_compiled()}
            self.json_path.write_text(json.dumps({**origin, **figures}, indent=1) + "\n")

    def write(self, section: str, lines: list[str]) -> None:
        """Print a section, and write it to the page of `--page`."""
        click.echo("\n".join(lines))
        self.write_page(section, lines)

    def write_page(self, section: str, lines: list[str]) -> None:
        """Write a section to the page of `--page`, in the place it had."""
        if self.page_path is not None:
            write_section(self.page_path, section, lines)


def benchmark(
    example: str,
    *,
    rows: Sequence[str] = (),
    selected: Sequence[str] = (),
    pairs: int = 0,
    is_scaled: bool = False,
    is_kept: bool = False,
    json_help: str = "",
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function of an `Invocation` and of its own options.

    `example` is a call without `python -m bench`. `rows` are the values of `--row`, and `selected` those
    without it, all if empty; `pairs` is the default of `--pairs`. A benchmark without rows or pairs has no
    such option. `is_scaled` adds `--scale`. `is_kept` means that the figures in the file of `--json` have
    dates of their own and stay until they are measured again; it adds `--no-run`. `json_help` replaces the
    text of `--json`.
    """

    def decorate(work: Callable[..., None]) -> click.Command:
        @wraps(work)
        def main(
            json_path: Path | None,
            page_path: Path | None,
            names: tuple[str, ...] = (),
            pairs: int = 0,
            scale: float = 1.0,
            no_run: bool = False,
            **own: Any,
        ) -> None:
            work(Invocation(names, pairs, scale, json_path, page_path, no_run), **own)

        json_text = json_help or (KEPT if is_kept else _JSON)
        given: list[tuple[object, Decorator]] = [
            (rows, _rows_option(rows, selected)),
            (pairs, click.option("--pairs", default=pairs, show_default=True, help=_PAIRS)),
            (is_scaled, click.option("--scale", default=1.0, show_default=True, help=_SCALE)),
            (True, click.option("--json", "json_path", type=_FILE, help=json_text)),
            (True, click.option("--page", "page_path", type=_FILE, help=_PAGE)),
            (is_kept, click.option("--no-run", is_flag=True, help=_NO_RUN)),
        ]
        command: Callable[..., None] = main
        for is_given, option in reversed(given):
            command = option(command) if is_given else command
        return click.command(epilog=f"Example: python -m bench {example}")(command)

    return decorate


_FILE = click.Path(dir_okay=False, path_type=Path)
_PAIRS = "Runs on each side, alternating."
_SCALE = "Share of each row's seconds, messages or sizes."
_JSON = "Write all figures to this file."
KEPT = "Keep all figures in this file; those measured now replace older ones."
_PAGE = "Write the sections of this page, with all figures of --json."
_NO_RUN = "Measure nothing: write what the file of --json has."

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _rows_option(rows: Sequence[str], selected: Sequence[str]) -> Decorator:
    usual = f"  [default: {', '.join(selected)}]" if selected else ""
    return click.option(
        "--row",
        "names",
        multiple=True,
        type=click.Choice(rows),
        metavar="ROW",
        default=selected,
        help=f"Only this row; repeatable. One of {', '.join(rows)}.{usual}",
    )


def write_section(path: Path, name: str, lines: list[str]) -> None:
    """Replace a section of a page, or append it; the page is created if it does not exist."""
    begin, end = f"<!-- {name}: written by the benchmark -->", f"<!-- end of {name} -->"
    text = path.read_text() if path.exists() else "# Benchmarks\n"
    section = "\n".join([begin, "", *lines, "", end])
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    replaced, count = pattern.subn(lambda _: section, text)
    path.write_text(replaced if count else f"{text.rstrip()}\n\n{section}\n")
