"""`python -m bench`: the side-by-side table, alternating between Apache's broker and ours."""

import json
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.console import Console

from bench.measure import is_compiled, machine, suspended
from bench.pages import write_section
from bench.report import Comparison, print_table, section
from bench.rows import ROWS, Row, choose
from bench.run import run_row
from compat_tests.servers import Server

SERVERS = ("apache", "ours")


def compare(row: Row, pairs: int, servers: dict[str, Server], console: Console) -> Comparison:
    """Run one row alternately on both servers, after one run on each that does not count.

    Without that the first row would measure how Apache's JVM gets warm.
    """
    for kind in SERVERS:
        run_row(replace(row, amount=row.amount // 2), servers[kind], -1)
    comparison = Comparison(row)
    for pair in range(pairs):
        # Whoever goes first may find a cooler machine: take turns.
        for kind in SERVERS if pair % 2 == 0 else reversed(SERVERS):
            other = servers["ours" if kind == "apache" else "apache"]
            with suspended(other.pids):
                sample = run_row(row, servers[kind], pair)
            getattr(comparison, kind).append(sample)
            console.print(
                f"{row.name:10} {kind:7} {sample.per_second:12,.0f}/s  "
                f"{sample.cpu_per_million:8.1f} CPU s/million  {sample.resident_mb:7,.0f} MB"
                + (f"  {sample.failed} FAILED" if sample.failed else ""),
                highlight=False,
            )
    return comparison


@click.command()
@click.option("--row", "names", multiple=True, help=f"Only this row: {', '.join(row.name for row in ROWS)}.")
@click.option("--pairs", default=3, show_default=True, help="Runs on each server, alternating.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False), help="Write all samples here.")
@click.option("--page", "page_path", type=click.Path(dir_okay=False), help="Write the section of this page.")
def main(names: tuple[str, ...], pairs: int, json_path: str | None, page_path: str | None) -> None:
    """Measure Apache's broker and ours side by side, with the official Java client as load."""
    console = Console(width=200)
    try:
        rows = choose(names)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0])) from None
    comparisons: list[Comparison] = []
    starts: dict[str, float] = {}
    for settings in dict.fromkeys(row.broker for row in rows):
        with tempfile.TemporaryDirectory(prefix="mqgateway-bench-") as folder:
            servers = {}
            try:
                for kind in SERVERS:
                    began = time.monotonic()
                    servers[kind] = Server(kind, Path(folder), dict(settings), production=True).start()
                    starts.setdefault(kind, time.monotonic() - began)
                same = [row for row in rows if row.broker == settings]
                comparisons += [compare(row, pairs, servers, console) for row in same]
            finally:
                for server in servers.values():
                    server.stop()
    print_table(comparisons, console)
    if json_path:
        samples = [
            {"row": c.row.name, "ours": [asdict(s) for s in c.ours], "apache": [asdict(s) for s in c.apache]}
            for c in comparisons
        ]
        Path(json_path).write_text(
            json.dumps({"machine": machine(), "starts": starts, "rows": samples}, indent=1)
        )
    if page_path:
        title = "Messages, compiled" if is_compiled() else "Messages"
        write_section(Path(page_path), title.lower(), section(title, comparisons, starts, machine(), pairs))


if __name__ == "__main__":
    main()
