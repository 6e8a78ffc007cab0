"""`python -m bench.watched`: what it costs to be watched.

The load `sync-64` on two servers of ours in turn: one that exports no metrics and has no console, and one
that is scraped every 5 s while somebody has the console's overview open: its figures as they come, and what
the page asks for again and again.
"""

import datetime
import json
import re
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
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


class Watcher:
    """Who scrapes, and has the console open."""

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

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Meanwhile everything is looked at, from threads."""
        self._over.clear()
        works = [self._scrape, self._listen, *(self._polling(path, seconds) for path, seconds in POLLED)]
        threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(10)

    def _scrape(self) -> None:
        while not self._over.is_set():
            with urlopen(self._metrics, timeout=10) as answer:
                answer.read()
            self.scrapes += 1
            self._over.wait(SCRAPE_SECONDS)

    def _listen(self) -> None:
        with self._opener.open(f"{self._api}/events", timeout=30) as events:
            while not self._over.is_set() and events.readline():
                self.events += 1

    def _polling(self, path: str, seconds: float) -> Callable[[], None]:
        def work() -> None:
            while not self._over.is_set():
                self._opener.open(self._api + path, timeout=10).read()
                self._over.wait(seconds)

        return work


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Server, Server, Watcher]]:
    """One that nobody watches, one that is watched, and who does that."""
    metrics, console = free_ports(), free_ports()
    exporting = {
        "metricsExporterType": "PROM",
        "metricsPromExporterHost": HOST,
        "metricsPromExporterPort": str(metrics),
        "consolePort": str(console),
    }
    with (
        Server("ours", folder, {"consolePort": "0"}, production=True) as plain,
        Server("ours", folder, exporting, production=True) as watched,
    ):
        found = re.search(
            rf"http://{HOST}:{console}/#token=[\w-]+", (watched.folder / "serve.log").read_text()
        )
        assert found is not None, "the log has no link to the console"
        yield plain, watched, Watcher(f"http://{HOST}:{metrics}/metrics", found[0])


def compare(pairs: int, scale: float) -> dict[str, list[Sample]]:
    """Runs on both in turn, after one on each that does not count."""
    (row,) = choose((ROW,))
    row = row.scaled(scale)
    samples: dict[str, list[Sample]] = {"off": [], "on": []}
    with (
        tempfile.TemporaryDirectory(prefix="mqgateway-watched-") as folder,
        servers(Path(folder)) as (plain, watched, watcher),
    ):
        for number in range(-1, pairs):
            for kind in ("off", "on") if number % 2 else ("on", "off"):
                mine, other = (plain, watched) if kind == "off" else (watched, plain)
                look = watcher.watching() if kind == "on" else nullcontext()
                with suspended(other.pids):
                    mine.wait_until_registered()
                    with look:
                        sample = run_row(row, mine, number)
                if number >= 0:
                    samples[kind].append(sample)
                    click.echo(f"{kind}: {sample.per_second:,.0f}/s")
        assert watcher.scrapes > pairs and watcher.events, "nobody watched"
    return samples


def section(samples: dict[str, list[Sample]]) -> list[str]:
    """The section of the page."""

    def median(kind: str, name: str) -> float:
        return float(statistics.median(getattr(sample, name) for sample in samples[kind]))

    lines = [
        "## Being watched",
        "",
        f"Measured on {datetime.date.today().isoformat()}, {commit()}: {machine()}.",
        f"`{ROW}` on a server of ours without metrics and console, and on one that is scraped every",
        f"{SCRAPE_SECONDS} s while the console's overview is open; medians of {len(samples['on'])} runs",
        "each, in turn. `python -m bench.watched` repeats it.",
        "",
        "| watched | messages/s | CPU s for a million |",
        "| --- | ---: | ---: |",
    ]
    for kind in ("off", "on"):
        figures = f"{median(kind, 'per_second'):,.0f} | {median(kind, 'cpu_per_million'):.1f}"
        lines.append(f"| {kind} | {figures} |")
    cost = 1 - median("on", "per_second") / median("off", "per_second")
    lines += ["", f"Being watched costs {cost:.1%} of the throughput; the aim is {COST_MAX:.0%} at most."]
    return lines


@click.command()
@click.option("--pairs", default=7, show_default=True, help="Runs on each server, alternating.")
@click.option("--scale", default=1.0, show_default=True, help="Share of the row's seconds.")
@page_option()
def main(pairs: int, scale: float, page_path: str | None) -> None:
    """Measure a server that nobody watches and one that is, with the official Java client as load."""
    lines = section(compare(pairs, scale))
    Console(width=160).print("\n".join(lines), highlight=False, markup=False)
    if page_path:
        write_section(Path(page_path), "watched", lines)


if __name__ == "__main__":
    main()
