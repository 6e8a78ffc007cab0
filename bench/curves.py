"""`python -m bench curves`: throughput, CPU and memory of a server as one thing grows.

One load (sends of 16 threads) with more idle connections, more topics, more queues, larger messages, a longer
log, or more processes of a container. It measures our server alone, or with `--apache` Apache's broker too.
Writes JSON, tables and a picture.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from bench.contained import Contained
from bench.frame import KEPT, Invocation, benchmark
from bench.measure import measured_on
from bench.picture import Panel, picture
from bench.prepared import topic_names, write_topics
from bench.rest import idle_clients
from bench.rows import Row
from bench.run import run_row
from compat_tests.support.servers import Server

SENDS = Row("curve", "sync", "sync send, 16 threads", 3, threads=16)
STORE_FILL_QUEUES = 8
RECORD_BYTES = 1240
PICTURE = "curves.svg"
"""File name of the picture, in the folder of the page."""


@dataclass(frozen=True)
class Point:
    """One server under the load, at value `x` of the parameter. It served `ready_seconds` after its start."""

    curve: str
    server: str
    x: float
    per_second: float
    cpu_per_million: float
    resident_mb: float
    ready_seconds: float
    failed: int


@dataclass(frozen=True)
class Curve:
    """A varied parameter and its values."""

    name: str
    title: str
    steps: tuple[float, ...]


CURVES = (
    Curve("connections", "idle connections beside the load", (0, 100, 1_000, 5_000, 10_000)),
    Curve("topics", "topics, of one queue", (1, 64, 256, 1_000, 10_000)),
    Curve("queues", "queues of the topic", (1, 8, 64, 512, 4_096)),
    Curve("size", "bytes of a message", (128, 1_024, 8_192, 65_536, 262_144, 1_048_576)),
    Curve("log", "GB of log", (0.01, 0.25, 1, 2)),
    Curve("processes", "broker processes of a container", (1, 2, 4)),
)
FIGURES = (
    ("per_second", "messages/s"),
    ("cpu_per_million", "broker CPU s/million"),
    ("resident_mb", "resident MB"),
)


class Sweep:
    """One run over all steps of the curves on servers of one kind."""

    def __init__(self, kind: str, seconds: int, folder: Path) -> None:
        self._kind = kind
        self._row = replace(SENDS, amount=seconds)
        self._folder = folder

    def points(self, curve: Curve) -> Iterator[Point]:
        """Yield the points of a curve, one after another."""
        step = {
            "connections": self._connections,
            "size": self._sizes,
            "topics": self._topics,
            "queues": self._queues,
            "log": self._log,
            "processes": self._processes,
        }[curve.name]
        return step(curve)

    def _server(self, topics: int = 0, queues: int = 1) -> Server:
        server = Server(self._kind, self._folder, production=True)
        if topics:
            write_topics(server.store_dir, topic_names(topics), queues)
        return server

    def _started(self, stack: ExitStack, server: Server) -> float:
        began = time.monotonic()
        server.start()
        seconds = time.monotonic() - began
        stack.callback(server.stop)
        if self._kind == "apache":
            run_row(self._row, server, -1)  # warms the JVM up
        return seconds

    def _point(self, curve: Curve, x: float, row: Row, server: Server, ready: float, number: int) -> Point:
        sample = run_row(row, server, number)
        assert sample.per_second and sample.cpu_per_million and sample.resident_mb
        figures = (sample.per_second, sample.cpu_per_million, sample.resident_mb)
        return Point(curve.name, self._kind, x, *figures, ready, sample.failed)

    def _connections(self, curve: Curve) -> Iterator[Point]:
        server = self._server()
        with ExitStack() as servers:
            ready = self._started(servers, server)
            for number, count in enumerate(curve.steps):
                with ExitStack() as stack:
                    if count:
                        stack.enter_context(idle_clients("connections", int(count), server))
                    yield self._point(curve, count, self._row, server, ready, number)

    def _sizes(self, curve: Curve) -> Iterator[Point]:
        server = self._server()
        with ExitStack() as servers:
            ready = self._started(servers, server)
            for number, size in enumerate(curve.steps):
                row = replace(self._row, body_bytes=int(size))
                yield self._point(curve, size, row, server, ready, number)

    def _topics(self, curve: Curve) -> Iterator[Point]:
        for count in curve.steps:
            yield self._of_new_server(curve, count, int(count), 1)

    def _queues(self, curve: Curve) -> Iterator[Point]:
        for count in curve.steps:
            yield self._of_new_server(curve, count, 1, int(count))

    def _of_new_server(self, curve: Curve, x: float, topics: int, queues: int) -> Point:
        with ExitStack() as servers:
            server = self._server(topics, queues)
            ready = self._started(servers, server)
            return self._point(curve, x, replace(self._row, topics=topics), server, ready, 0)

    def _log(self, curve: Curve) -> Iterator[Point]:
        server, there = self._server(), 0.0
        for number, gigabytes in enumerate(curve.steps):
            fill(server.store_dir, gigabytes - there)
            there = gigabytes
            with ExitStack() as servers:
                ready = self._started(servers, server)
                yield self._point(curve, gigabytes, self._row, server, ready, number)

    def _processes(self, curve: Curve) -> Iterator[Point]:
        if self._kind != "ours":  # Apache's container runs all its brokers in one process
            return
        for number, count in enumerate(curve.steps):
            with ExitStack() as servers:
                server = Contained(self._folder / f"contained-{number}", int(count))
                ready = self._started(servers, server)
                yield self._point(curve, count, replace(self._row, topics=1), server, ready, number)


def fill(store: Path, gigabytes: float) -> None:
    """Put messages of 1 KB into a store whose server does not run.

    A new store gets files of RocketMQ's default lengths, and a server keeps the lengths that it finds.
    """
    rounds = int(gigabytes * 1e9 / RECORD_BYTES / STORE_FILL_QUEUES)
    command = [sys.executable, "-m", "bench.store_fill", str(store)]
    command += ["--queues", str(STORE_FILL_QUEUES), "--rounds", str(rounds)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def panels(points: Sequence[Point]) -> list[list[Panel]]:
    """Return a row of panels for each curve, with a panel for each figure."""
    rows = []
    for curve in CURVES:
        own = [point for point in points if point.curve == curve.name]
        if own:
            servers = dict.fromkeys(point.server for point in own)
            rows.append(
                [
                    Panel(
                        title,
                        curve.title,
                        {
                            server: [(p.x, getattr(p, name)) for p in own if p.server == server]
                            for server in servers
                        },
                    )
                    for name, title in FIGURES
                ]
            )
    return rows


def table(curve: Curve, points: Sequence[Point]) -> list[str]:
    """The points of a curve as a table of the page."""
    servers = tuple(dict.fromkeys(point.server for point in points))
    heads = [curve.title]
    heads += [f"{server}, {title}" for server in servers for _, title in (*FIGURES, ("", "ready in s"))]
    lines = [f"| {' | '.join(heads)} |", "| ---: |" + " ---: |" * (len(heads) - 1)]
    for x in dict.fromkeys(point.x for point in points):
        cells = [f"{x:,.10g}"]
        for server in servers:
            at = [point for point in points if (point.x, point.server) == (x, server)]
            cells += [
                text
                for p in at
                for text in (
                    f"{p.per_second:,.0f}",
                    f"{p.cpu_per_million:.1f}",
                    f"{p.resident_mb:,.0f}",
                    f"{p.ready_seconds:.2f}",
                )
            ] or ["-"] * 4
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def section(points: Sequence[Point]) -> list[str]:
    """The section of the page."""
    lines = [
        "## Cost curves",
        "",
        measured_on(),
        "The official Java client sends 1 KB from 16 threads, one after another, while one thing grows; load",
        "and server share the cores. One run of a few seconds a point. `python -m bench curves` repeats it.",
        "",
        f"![throughput, CPU and memory as one thing grows]({PICTURE})",
        "",
    ]
    for curve in CURVES:
        own = [point for point in points if point.curve == curve.name]
        if own:
            lines += table(curve, own)
    return lines[:-1]


@benchmark("curves --row topics --steps 2", rows=[curve.name for curve in CURVES], json_help=KEPT)
@click.option("--seconds", default=3, show_default=True, help="Measured at each point, after the warm-up.")
@click.option("--steps", type=click.IntRange(1), help="Only so many steps of each curve.")
@click.option("--apache", is_flag=True, help="Apache's broker too.")
def main(given: Invocation, seconds: int, steps: int | None, apache: bool) -> None:
    """Measure throughput, CPU and memory as connections, topics, queues, messages or the log grow."""
    points = load_points(given.json_path)
    for kind in ("ours", "apache") if apache else ("ours",):
        for curve in given.select(CURVES):
            points = [point for point in points if (point.curve, point.server) != (curve.name, kind)]
            with tempfile.TemporaryDirectory(prefix="mqgateway-curves-") as folder:
                for point in Sweep(kind, seconds, Path(folder)).points(
                    replace(curve, steps=curve.steps[:steps])
                ):
                    given.console.print(point)
                    points.append(point)
            given.save(points=[asdict(point) for point in points])
    if given.page_path:
        given.page_path.with_name(PICTURE).write_text(picture(panels(points)))
    given.write("cost curves", section(points))


def load_points(path: Path | None) -> list[Point]:
    """Return the points of a file; an empty list if there is no file."""
    if path is None or not path.exists():
        return []
    return [Point(**point) for point in json.loads(path.read_text())["points"]]
