"""`python -m bench watched`: the cost of being monitored.

Three servers of ours get sends in turn: two that export no metrics and have no console, and one that is
scraped every 5 s while the console's overview is open, with its event stream and the periodic requests of the
page. The load is that of `sync-64`: 64 sends of 1 KB in flight on one connection, written as the official
client writes it.

The measure is the CPU time that a server's threads take for a message: other work on the machine changes it
less than the throughput. It still differs from second to second, and from one process to the next, by more
than the cost of monitoring. So rounds take a tenth of a second, only the ratio within a round counts, and
after some rounds all three servers are started again. The ratio of the two unmonitored servers shows the
noise, as does the bootstrap interval: 19 of 20 medians of resampled starts and rounds lie in it.

The median of such rounds is the cost for each message. The cost by the second, the answers to the watcher,
falls into few rounds. It is measured separately, as the CPU time of each server while another gets the sends,
and added.
"""

import json
import os
import random
import re
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.cookiejar import CookieJar
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener, urlopen

import click

from bench.frame import Invocation, benchmark
from bench.measure import measured_on
from bench.requests import send_request
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, Server
from mqgateway.gateway.codec.command import decode_command
from mqgateway.gateway.codec.frame import FrameCutter

IN_FLIGHT = 64
KEYS = 4096
WARM_SECONDS = 3.0
SCRAPE_SECONDS = 5
POLLED = (("/overview", 10), ("/series?minutes=60", 30))
"""Requests of the overview page, with their periods in seconds."""
COST_MAX = 0.03
DRAWS = 2000
OFF, AGAIN, ON = KINDS = ("not watched", "not watched either", "watched")


class Round(NamedTuple):
    """Figures of a server for one round of sends, a tenth of a second by default."""

    per_second: float
    cpu_per_million: float
    """CPU seconds for a million messages."""


class Start(NamedTuple):
    """Servers that were started together, by kind: the rounds of each, and its CPU seconds a second while
    another got the sends."""

    rounds: dict[str, list[Round]]
    rest: dict[str, float]


class Load:
    """Sends on one connection, with as many in flight as 64 blocking threads have."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keys = [f"7F00000100002A139F5545CA{number:08X}" for number in range(KEYS)]
        self._frames = cycle([send_request(number, key=key) for number, key in enumerate(keys)])

    def run(self, seconds: float) -> int:
        """Send for `seconds` and return the number of answers. Raises `RuntimeError` for an unsuccessful
        one."""
        cutter, count, in_flight = FrameCutter(), 0, 0
        until = time.monotonic() + seconds
        more = IN_FLIGHT
        while in_flight or more:
            for _ in range(more):
                self._socket.sendall(next(self._frames))
            in_flight += more
            answers = [decode_command(payload) for payload in cutter.feed(self._socket.recv(1 << 16))]
            failed = next((answer for answer in answers if answer.code), None)
            if failed is not None:
                raise RuntimeError(f"a send was answered {failed.code} {failed.remark}")
            in_flight -= len(answers)
            count += len(answers)
            more = len(answers) if time.monotonic() < until else 0
        return count

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU seconds of all live threads of these processes, to the nanosecond.

    `cpu_times` would give hundredths of a second.
    """
    used = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has just ended
                used += int((task / "schedstat").read_text().split()[0])
    return used / 1e9


class Watcher:
    """A scraper and console user with random phases. `cpu_seconds` is its own CPU time over `seconds` of
    watching."""

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
        """Scrape, poll and listen from threads within this context."""
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
    """Start two unmonitored servers, one monitored server and its watcher."""
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
        watcher = Watcher(f"http://{HOST}:{metrics}/metrics", found[0])
        with watcher.watching():
            yield started, watcher
        assert watcher.scrapes and watcher.events, "nobody watched"


def compare(number: int, rounds: int, seconds: float) -> tuple[Start, float]:
    """Run rounds on three newly started servers, after one that does not count.

    Each kind is first, second and last equally often. Also returns the watcher's share of a core.
    """
    # Hash collisions cost CPU time too: all three servers have the same.
    os.environ["PYTHONHASHSEED"] = str(number)
    samples: dict[str, list[Round]] = {kind: [] for kind in KINDS}
    rest = dict.fromkeys(KINDS, 0.0)
    with (
        tempfile.TemporaryDirectory(prefix="mqgateway-watched-") as folder,
        servers(Path(folder)) as (started, watcher),
    ):
        loads = {kind: Load(server.broker_address) for kind, server in started.items()}
        for load in loads.values():
            load.run(WARM_SECONDS)
        elsewhere = dict.fromkeys(KINDS, 0.0)
        for turn in range(rounds):
            at = (number + turn) % len(KINDS)
            for kind in KINDS[at:] + KINDS[:at]:
                before = {one: cpu_seconds(started[one].pids) for one in KINDS}
                began = time.monotonic()
                count = loads[kind].run(seconds)
                took = time.monotonic() - began
                used = {one: cpu_seconds(started[one].pids) - before[one] for one in KINDS}
                samples[kind].append(
                    Round(per_second=count / took, cpu_per_million=used.pop(kind) / count * 1e6)
                )
                for other, seconds_used in used.items():
                    rest[other] += seconds_used
                    elsewhere[other] += took
        for load in loads.values():
            load.close()
    rest = {kind: used / elsewhere[kind] for kind, used in rest.items()}
    return Start(samples, rest), watcher.cpu_seconds / watcher.seconds


Ratios = list[list[float]]
"""Ratios by start, then by round."""


def ratios(starts: Sequence[Start], name: str) -> tuple[Ratios, Ratios]:
    """Return the ratios of the watched server to the mean of the unwatched, and between the latter two."""
    watched, noise = [], []
    for start in starts:
        off, again, on = ([float(getattr(one, name)) for one in start.rounds[kind]] for kind in KINDS)
        watched.append([2 * mine / (one + other) for mine, one, other in zip(on, off, again, strict=True)])
        noise.append([other / one for one, other in zip(off, again, strict=True)])
    return watched, noise


def interval(found: Ratios) -> tuple[float, float, float]:
    """Return the bounds of the bootstrap interval, which holds 19 of 20 medians, around the median of all."""
    draw = random.Random(1)
    medians = sorted(
        statistics.median(
            one for start in draw.choices(found, k=len(found)) for one in draw.choices(start, k=len(start))
        )
        for _ in range(DRAWS)
    )
    middle = statistics.median(one for start in found for one in start)
    return medians[DRAWS // 40], middle, medians[-1 - DRAWS // 40]


def ratios_text(found: Ratios) -> str:
    """Format the interval as percent above or below equality."""
    low, middle, high = (f"{value - 1:+.1%}" for value in interval(found))
    return f"{middle} ({low} to {high})"


def by_the_second(starts: Sequence[Start]) -> float:
    """Return a server's CPU time for its watcher as a share of its CPU time for the sends, a second each."""
    more = statistics.mean(start.rest[ON] - (start.rest[OFF] + start.rest[AGAIN]) / 2 for start in starts)
    busy = statistics.median(
        one.per_second * one.cpu_per_million / 1e6
        for start in starts
        for kind in (OFF, AGAIN)
        for one in start.rounds[kind]
    )
    return more / busy


def section(starts: Sequence[Start], seconds: float, share: float) -> list[str]:
    """Return the section of the page; `share` is the watcher's share of a core."""
    rounds = len(starts[0].rounds[ON])
    lines = [
        "## Being watched",
        "",
        measured_on(),
        f"{IN_FLIGHT} sends of 1 KB in flight on one connection, to two servers of ours without metrics and",
        f"console, and to one that is scraped every {SCRAPE_SECONDS} s while the console's overview is open;",
        f"{len(starts)} starts of all three, {rounds} rounds of {seconds:g} s on each, in changing order.",
        "Ratios are those within a round: their median, and between what 19 of 20 medians of starts and",
        "rounds drawn from these lie. CPU time is that of all threads. `python -m bench watched` repeats it.",
        "",
        "| | messages/s | CPU s for a million |",
        "| --- | ---: | ---: |",
    ]
    for kind in KINDS:
        rates, cpu = (
            statistics.median(getattr(sample, name) for start in starts for sample in start.rounds[kind])
            for name in ("per_second", "cpu_per_million")
        )
        lines.append(f"| {kind}, median | {rates:,.0f} | {cpu:.1f} |")
    rate_ratios, cpu_ratios = ratios(starts, "per_second"), ratios(starts, "cpu_per_million")
    for title, place in (("watched to not watched", 0), ("not watched to not watched", 1)):
        lines.append(f"| {title} | {ratios_text(rate_ratios[place])} | {ratios_text(cpu_ratios[place])} |")
    answers = by_the_second(starts)
    low, cost, high = (ratio - 1 + answers for ratio in interval(cpu_ratios[0]))
    verdict = "met" if high <= COST_MAX else "missed" if low > COST_MAX else "not decided by this"
    return [
        *lines,
        "",
        f"To answer who watches took {answers:.2%} of the CPU time, seen while another server was sent to.",
        f"Being watched costs {cost:.1%} ({low:.1%} to {high:.1%}) of the CPU time of a message;"
        f" the aim, {COST_MAX:.0%} at most, is {verdict}.",
        f"Who watched used {share:.2%} of a core.",
    ]


@benchmark("watched --starts 1 --rounds 30")
@click.option(
    "--starts",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="How often all servers are started.",
)
@click.option(
    "--rounds", type=click.IntRange(2), default=150, show_default=True, help="Rounds with each start."
)
@click.option("--seconds", default=0.1, show_default=True, help="Of a round on each server.")
def main(given: Invocation, starts: int, rounds: int, seconds: float) -> None:
    """Measure the cost of scrapes and an open console to sends."""
    found: list[Start] = []
    shares: list[float] = []
    for number in range(starts):
        start, share = compare(number, rounds, seconds)
        found.append(start)
        shares.append(share)
        given.console.print(
            f"start {number + 1}: {ratios_text(ratios([start], 'cpu_per_million')[0])} CPU time a message,"
            f" {by_the_second([start]):.2%} by the second"
        )
    given.save(starts=[start._asdict() for start in found], watcher_shares=shares)
    given.write("watched", section(found, seconds, statistics.mean(shares)))
