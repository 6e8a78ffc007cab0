"""`python -m bench.watched`: what it costs to be watched.

The load `sync-64` on three servers of ours in turn: two that export no metrics and have no console, and one
that is scraped every 5 s while somebody has the console's overview open: its figures as they come, and what
the page asks for again and again.

One run differs from the next by far more than this costs. So what counts is the ratio within a round, of
runs that follow one another at once; by how much the two that nobody watches differ says what that is worth.
"""

import datetime
import json
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener, urlopen

import click
from rich.console import Console

from bench.measure import machine, suspended
from bench.pages import page_option, write_section
from bench.report import Sample
from bench.results import commit
from bench.rows import choose
from bench.run import run_row
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, Server

ROW = "sync-64"
SCRAPE_SECONDS = 5
POLLED = (("/overview", 10), ("/series?minutes=60", 30))
"""What the page of the overview asks for, and every how many seconds."""
COST_MAX = 0.03
OFF, AGAIN, ON = KINDS = ("not watched", "not watched either", "watched")

Samples = dict[str, list[Sample]]


class Watcher:
    """Who scrapes, and has the console open, both since whenever. `cpu_seconds` are its own, of `seconds` in
    which it watched."""

    def __init__(self, metrics: str, console: str) -> None:
        self._metrics = metrics
        self._api, _, token = console.partition("/#token=")
        self._api += "/api/v1"
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        login = Request(f"{self._api}/session", json.dumps({"token": token}).encode())
        login.add_header("Content-Type", "application/json")
        self._opener.open(login, timeout=10).close()
        self._over = threading.Event()
        self.scrapes = self.events = 0
        self.cpu_seconds = self.seconds = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Meanwhile everything is looked at, from threads."""
        self._over.clear()
        began = time.monotonic()
        works = [self._listen, partial(self._again, SCRAPE_SECONDS, self._scrape)]
        works += [partial(self._again, seconds, partial(self._poll, path)) for path, seconds in POLLED]
        threads = [threading.Thread(target=self._work, args=(work,), daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(10)
            self.seconds += time.monotonic() - began

    def _work(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self.cpu_seconds += time.thread_time()

    def _again(self, seconds: float, work: Callable[[], None]) -> None:
        pause = random.uniform(0, seconds)
        while not self._over.wait(pause):
            work()
            pause = seconds

    def _scrape(self) -> None:
        with urlopen(self._metrics, timeout=10) as answer:
            answer.read()
        self.scrapes += 1

    def _poll(self, path: str) -> None:
        with self._opener.open(self._api + path, timeout=10) as answer:
            answer.read()

    def _listen(self) -> None:
        with self._opener.open(f"{self._api}/events", timeout=30) as events:
            while not self._over.is_set() and events.readline():
                self.events += 1


@contextmanager
def servers(folder: Path) -> Iterator[tuple[dict[str, Server], Watcher]]:
    """Two that nobody watches, one that is watched, and who does that."""
    metrics, console = free_ports(), free_ports()
    exporting = {
        "metricsExporterType": "PROM",
        "metricsPromExporterHost": HOST,
        "metricsPromExporterPort": str(metrics),
        "consolePort": str(console),
    }
    with ExitStack() as stack:
        started = {
            kind: stack.enter_context(Server("ours", folder, settings, production=True))
            for kind, settings in (
                (OFF, {"consolePort": "0"}),
                (AGAIN, {"consolePort": "0"}),
                (ON, exporting),
            )
        }
        found = re.search(
            rf"http://{HOST}:{console}/#token=[\w-]+", (started[ON].folder / "serve.log").read_text()
        )
        assert found is not None, "the log has no link to the console"
        yield started, Watcher(f"http://{HOST}:{metrics}/metrics", found[0])


def compare(rounds: int, scale: float) -> tuple[Samples, Watcher]:
    """Runs on each in turn, after one on each that does not count; each kind is first, second and last
    equally often. And who watched."""
    (row,) = choose((ROW,))
    row = row.scaled(scale)
    samples: Samples = {kind: [] for kind in KINDS}
    with (
        tempfile.TemporaryDirectory(prefix="mqgateway-watched-") as folder,
        servers(Path(folder)) as (started, watcher),
    ):
        for number in range(-1, rounds):
            at = number % len(KINDS)
            for kind in KINDS[at:] + KINDS[:at]:
                others = [pid for name, one in started.items() if name != kind for pid in one.pids]
                look = watcher.watching() if kind == ON else nullcontext()
                with suspended(others):
                    started[kind].wait_until_registered()
                    with look:
                        sample = run_row(row, started[kind], number)
                if number >= 0:
                    samples[kind].append(sample)
                    cpu = f"{sample.cpu_per_million:.1f} CPU s for a million"
                    click.echo(f"{kind}: {sample.per_second:,.0f}/s, {cpu}")
        assert watcher.scrapes and watcher.events, "nobody watched"
    return samples, watcher


def ratios(samples: Samples, name: str) -> tuple[list[float], list[float]]:
    """Of each round: watched to the mean of what is not, and the one of these to the other."""
    off, again, on = ([float(getattr(one, name)) for one in samples[kind]] for kind in KINDS)
    watched = [2 * mine / (one + other) for mine, one, other in zip(on, off, again, strict=True)]
    return watched, [other / one for one, other in zip(off, again, strict=True)]


def spread(values: Sequence[float]) -> str:
    """The median in percent of more or less than the same, and between what half of them lie."""
    low, middle, high = (f"{value - 1:+.1%}" for value in statistics.quantiles(values, method="inclusive"))
    return f"{middle} ({low} to {high})"


def section(samples: Samples, share: float) -> list[str]:
    """The section of the page; `share` is what who watched took of a core."""
    rounds = f"{len(samples[ON])} rounds of a run each"
    lines = [
        "## Being watched",
        "",
        f"Measured on {datetime.date.today().isoformat()}, {commit()}: {machine()}.",
        f"`{ROW}` on two servers of ours without metrics and console, and on one that is scraped every",
        f"{SCRAPE_SECONDS} s while the console's overview is open; {rounds}, in",
        "changing order. Ratios are those within a round: their median, and between what half of them lie.",
        "`python -m bench.watched` repeats it.",
        "",
        "| | messages/s | CPU s for a million |",
        "| --- | ---: | ---: |",
    ]
    for kind in KINDS:
        rates, cpu = (
            statistics.median(getattr(sample, name) for sample in samples[kind])
            for name in ("per_second", "cpu_per_million")
        )
        lines.append(f"| {kind}, median | {rates:,.0f} | {cpu:.1f} |")
    rates, cpu = ratios(samples, "per_second"), ratios(samples, "cpu_per_million")
    for title, place in (("watched to not watched", 0), ("not watched to not watched", 1)):
        lines.append(f"| {title} | {spread(rates[place])} | {spread(cpu[place])} |")
    cost = 1 - statistics.median(rates[0])
    lines += ["", f"Being watched costs {cost:.1%} of the throughput; the aim is {COST_MAX:.0%} at most."]
    return [*lines, f"Who watched used {share:.2%} of a core."]


@click.command()
@click.option(
    "--rounds", type=click.IntRange(2), default=12, show_default=True, help="Runs on each server, in turn."
)
@click.option("--scale", default=0.5, show_default=True, help="Share of the row's seconds.")
@page_option()
def main(rounds: int, scale: float, page_path: str | None) -> None:
    """Measure servers that nobody watches and one that is, with the official Java client as load."""
    samples, watcher = compare(rounds, scale)
    lines = section(samples, watcher.cpu_seconds / watcher.seconds)
    Console(width=160).print("\n".join(lines), highlight=False, markup=False)
    if page_path:
        write_section(Path(page_path), "watched", lines)


if __name__ == "__main__":
    main()
