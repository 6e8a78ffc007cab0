"""`python -m bench store`: starts, memory and stalls of the store, beside Apache's broker on the same folder.

Fills a log of some gigabytes and a store of many queues, starts both servers on each, clean and killed, warm
and cold, and measures how long sends are held up by cold reads and by removals. A table, and JSON.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from bench.frame import Invocation, benchmark
from bench.measure import measured_on
from bench.store_stalls import LOG_FILE, Stalls, cold_reads, removals
from bench.store_starts import Start, start
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, our_namesrv

BODY_BYTES = 1024
RECORD_BYTES = 1240
"""A record of such a message, about."""
STATES = ("clean, warm", "clean, cold", "killed, warm", "killed, cold")


class Bench:
    """One run: where it works, whom it starts, what it found."""

    def __init__(self, work: Path, console: Console, kinds: tuple[str, ...]) -> None:
        self._work = work
        self._console = console
        self._kinds = kinds
        self.results: dict[str, Any] = {}
        port = free_ports()
        self.namesrv = our_namesrv(work / "namesrv", port)
        self._namesrv_address = f"{HOST}:{port}"

    def fill(self, name: str, **given: int) -> Path:
        """Make a store by the name; the folder that holds it."""
        folder = self._work / name
        command = [sys.executable, "-m", "bench.store_fill", str(folder / "store")]
        for option, value in given.items():
            command += [f"--{option}", str(value)]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.results[f"{name}: fill"] = {**given, **json.loads(said.splitlines()[-1])}
        self._console.print(name, self.results[f"{name}: fill"])
        return folder

    def starts(self, name: str, folder: Path, settings: dict[str, str]) -> list[Start]:
        """All starts on a store."""
        found = []
        for server in self._kinds:
            # After the other server the first start is not as the next ones; it does not count.
            start(server, "", folder, self._namesrv_address, settings)
            for what in STATES:
                found.append(
                    start(
                        server,
                        what,
                        folder,
                        self._namesrv_address,
                        settings,
                        killed=what.startswith("killed"),
                    )
                )
                self._console.print(name, found[-1])
        self.results[f"{name}: starts"] = [asdict(one) for one in found]
        return found

    def stalls(self, folder: Path) -> dict[str, Stalls]:
        """Sends beside cold reads and beside removals, each done in both ways."""
        store = folder / "store"
        found = {
            "cold reads on the loop": cold_reads(store, may_wait=True),
            "cold reads aside": cold_reads(store, may_wait=False),
        }
        copy = folder / "copy"
        for title, aside in (("files removed on the loop", False), ("files removed aside", True)):
            shutil.copytree(store, copy)
            found[title] = removals(copy, aside)
            shutil.rmtree(copy)
        self.results["stalls"] = {title: asdict(one) for title, one in found.items()}
        return found


def starts_table(title: str, found: list[Start]) -> list[str]:
    """Return the seconds and the megabytes of each start."""
    rows = []
    for server in dict.fromkeys(one.server for one in found):
        mine = [one for one in found if one.server == server]
        cells = [one.failure or f"{one.seconds:.1f} s" for one in mine]
        rows.append([server, *cells, f"{max(one.resident_mb for one in mine):.0f}"])
    return table(title, ("server", *STATES, "resident MB"), rows)


def stalls_table(found: dict[str, Stalls]) -> list[str]:
    """Return the turns of a loop that sends once a millisecond."""
    rows = []
    for title, one in found.items():
        turns = [f"{one.p50_ms:.2f}", f"{one.p99_ms:.2f}", f"{one.longest_ms:.1f}"]
        rows.append([title, *turns, f"{one.done:,}", f"{one.seconds:.1f}"])
    return table("stalls", ("beside the sends", "p50 ms", "p99 ms", "longest ms", "done", "in s"), rows)


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table of the page below its title."""
    lines = [f"**{title}**", "", f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def section(tables: list[str], results: dict[str, Any]) -> list[str]:
    """The section of the page: how it was measured, and the tables."""
    filled = results["queues: fill"]
    lines = [
        "## The store",
        "",
        measured_on(),
        "Ours and Apache's broker (5.5.0, `-Xms1g -Xmx2g`) started on the same folder in turn; seconds are",
        "from the start of the process until it takes connections. *Killed*: the store was not stopped in",
        "order. *Cold*: nothing of it was in memory. `python -m bench store` repeats it.",
        "",
        f"To fill the store of many queues took {filled['put_seconds']:.0f} s for",
        f"{filled['messages']:,} messages in one process, which then had {filled['resident_mb']:.0f} MB",
        f"resident ({filled['resident_before_mb']:.0f} MB before).",
        "",
    ]
    return [*lines, *tables[:-1]]


@benchmark("store --topics 100 --gigabytes 0.1 --no-apache")
@click.option("--topics", default=10_000, show_default=True, help="Topics of the store with many queues.")
@click.option("--gigabytes", default=2.0, show_default=True, help="Size of the log of the other store.")
@click.option("--apache/--no-apache", default=True, show_default=True, help="Start Apache's broker too.")
@click.option(
    "--work", type=click.Path(file_okay=False), help="Folder to work in.  [default: a temporary one]"
)
def main(given: Invocation, topics: int, gigabytes: float, apache: bool, work: str | None) -> None:
    """Measure starts, memory and stalls of large stores."""
    kinds = ("ours", "apache") if apache else ("ours",)
    with tempfile.TemporaryDirectory(prefix="mqgateway-store-", dir=work) as folder:
        bench = Bench(Path(folder), given.console, kinds)
        bench.namesrv.start()
        try:
            rounds = int(gigabytes * 1e9 / RECORD_BYTES / 8)
            log = bench.fill("log", topics=1, queues=8, rounds=rounds, body=BODY_BYTES, log=LOG_FILE)
            lines = stalls_table(bench.stalls(log))
            settings = {"mappedFileSizeCommitLog": str(LOG_FILE)}
            lines += starts_table(f"{gigabytes:g} GB of log", bench.starts("log", log, settings))
            shutil.rmtree(log)
            many = bench.fill("queues", topics=topics, queues=8, rounds=2, body=100)
            title = f"{topics:,} topics with 8 queues"
            lines += starts_table(title, bench.starts("queues", many, {}))
        finally:
            bench.namesrv.stop()
    given.save(**bench.results)
    given.write("the store", section(lines, bench.results))
