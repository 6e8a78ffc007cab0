"""Rows of Apache's broker and ours side by side, alternating; `python -m bench` runs them."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from bench.access import GuardedServer
from bench.arrangements import LOADS_CORE, SERVERS_CORE, Arrangement, on_core
from bench.frame import Invocation, benchmark
from bench.measure import commit, is_compiled, machine, suspended, today
from bench.pairs import SIDES, turns
from bench.prepared import topic_names, write_topics
from bench.report import Comparison, arrangement_section, line, print_table, section
from bench.results import Results, Starts, load_results, save_results
from bench.rows import ROWS, Row
from bench.run import run_row
from compat_tests.support.servers import Server

WARMING = 0.5
"""Share of a row's work in the run that does not count."""


def compare(row: Row, pairs: int, servers: dict[str, Server], console: Console) -> Comparison:
    """Run one row alternately on both servers, after one run on each that does not count.

    Without that the first row would measure how Apache's JVM gets warm.
    """
    for kind in SIDES:
        with on_core(LOADS_CORE, row.arrangement):
            run_row(row.scaled(WARMING), servers[kind], -1)
    comparison = Comparison(row, machine=machine(), date=today(), commit=commit(), is_compiled=is_compiled())
    # The first server may find a cooler machine: they take turns.
    for pair, kind in turns(pairs):
        other = servers["ours" if kind == "apache" else "apache"]
        with suspended(other.pids):
            servers[kind].wait_until_registered()  # it was suspended just now
            with on_core(LOADS_CORE, row.arrangement):
                sample = run_row(row, servers[kind], pair)
        getattr(comparison, kind).append(sample)
        console.print(line(comparison, kind))
    return comparison


def compare_all(rows: Sequence[Row], pairs: int, starts: Starts, console: Console) -> Iterator[Comparison]:
    """Run all rows, those that can share servers on the same ones. A failed row is reported and left out.

    The start times of servers on defaults go to `starts`.
    """
    for shared in dict.fromkeys(row.server for row in rows):
        same = [row for row in rows if row.server == shared]
        with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
            servers: dict[str, Server] = {}
            try:
                for kind in SIDES:
                    servers[kind], seconds = start(kind, Path(folder), same[0])
                    if same[0].is_on_defaults:
                        starts.seconds.setdefault(kind, seconds)
                for row in same:
                    try:
                        yield compare(row, pairs, servers, console)
                    except RuntimeError as failure:
                        console.print(f"{row.name} FAILED: {failure}", markup=False)
            finally:
                for server in servers.values():
                    server.discard()


def start(kind: str, folder: Path, row: Row) -> tuple[Server, float]:
    """A server as the row wants it, and the seconds until it served."""
    if row.signs:
        server: Server = GuardedServer(kind, folder, production=True)
    else:
        server = Server(kind, folder, dict(row.broker), production=True)
    if row.topics:
        write_topics(server.store_dir, topic_names(row.topics), row.queues)
    began = time.monotonic()
    with on_core(SERVERS_CORE, row.arrangement):
        return server.start(), time.monotonic() - began


def write_page(given: Invocation, results: Results) -> None:
    """Write a section for each form of the server that was measured."""
    for compiled, title in ((False, "Messages"), (True, "Messages, compiled")):
        comparisons = results.of(compiled)
        starts = results.starts.get(compiled, Starts()).seconds
        if comparisons:
            given.write_page(title.lower(), section(title, comparisons, starts))
    everything = list(results.comparisons.values())
    if any(one.row.arrangement is not Arrangement.APART for one in everything):
        given.write_page("how the cores are shared", arrangement_section(everything))


@benchmark(
    "messages --row sync-64 --pairs 5 --json results.json",
    rows=[row.name for row in ROWS],
    pairs=3,
    is_scaled=True,
    is_kept=True,
)
@click.option(
    "--arrangement",
    type=click.Choice([one.value for one in Arrangement]),
    default=Arrangement.APART.value,
    show_default=True,
    help="How servers and load share the cores.",
)
def main(given: Invocation, arrangement: str) -> None:
    """Send and consume on Apache's broker and on ours, with the official Java client as load."""
    results = load_results(given.json_path) if given.json_path else Results()
    if not given.no_run:
        starts = Starts(date=today())
        arranged = [
            replace(row.scaled(given.scale), arrangement=Arrangement(arrangement))
            for row in given.select(ROWS)
        ]
        for comparison in compare_all(arranged, given.pairs, starts, given.console):
            results.add(comparison)
            if starts.seconds:
                results.starts[is_compiled()] = starts
            if given.json_path:
                save_results(given.json_path, results)
    for compiled in (False, True):
        print_table(results.of(compiled, Arrangement(arrangement)), Console(width=200))
    write_page(given, results)
