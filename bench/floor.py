"""`python -m bench floor`: how far a send is from what this machine can do at all.

The official client's sends against a server that only answers (`bench.echo`), beside ours; and what the bytes
of messages cost when they are merely copied, written, and brought to the disk.
"""

import mmap
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from bench.echo import HOST
from bench.frame import Invocation, benchmark
from bench.measure import measured_on, suspended
from bench.rows import ROWS, Row
from bench.run import run_row
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import ROOT, Part, Server

LOADS = ("sync-1", "sync-16", "sync-64", "async", "batch-32")
RECORD_BYTES = 1240
"""A record of a message of 1 KB."""
GROUPS = (1, 32)
"""Records that are written at once."""
FILE_BYTES = 64 << 20
REPEATS = 7
COPIES, WRITES, SYNCS = 20_000, 5_000, 50


class EchoServer:
    """The server that only answers, as far as a load asks for it."""

    kind = "echo"

    def __init__(self, folder: Path) -> None:
        port = free_ports()
        self.namesrv_address = self.broker_address = f"{HOST}:{port}"
        command = [sys.executable, "-m", "bench.echo", str(port)]
        env = {"PYTHONPATH": str(ROOT)}
        self._part = Part(command, folder / "echo.log", "ready", [self.namesrv_address], env)

    @property
    def pids(self) -> list[int]:
        """The process."""
        return [self._part.pid]

    def start(self) -> "EchoServer":
        """Start it; gives itself."""
        self._part.start()
        return self

    def stop(self) -> None:
        """End it."""
        self._part.stop()


@dataclass
class Floor:
    """One load on both: messages a second, and server CPU seconds for a million messages."""

    title: str
    echo_per_second: float
    ours_per_second: float
    echo_cpu: float
    ours_cpu: float


@dataclass
class Bytes:
    """One way to treat a group of records: microseconds for a record, the least of all repeats."""

    what: str
    records: int
    microseconds: float


Either = EchoServer | Server


def measure_loads(rows: Sequence[Row], pairs: int, console: Console) -> list[Floor]:
    """Each load in turn on the server that only answers and on ours, after a run each that does not count."""
    floors = []
    with tempfile.TemporaryDirectory(prefix="mqgateway-floor-") as folder:
        echo = EchoServer(Path(folder)).start()
        ours = Server("ours", Path(folder), production=True)
        try:
            ours.start()
            for row in rows:
                floors.append(compare(row, pairs, echo, ours))
                console.print(floors[-1])
        finally:
            echo.stop()
            ours.stop()
    return floors


def compare(row: Row, pairs: int, echo: EchoServer, ours: Server) -> Floor:
    """Medians of one load on both."""
    servers: tuple[Either, Either] = (echo, ours)
    rates: dict[str, list[float]] = {"echo": [], "ours": []}
    cpus: dict[str, list[float]] = {"echo": [], "ours": []}
    for number in range(-1, pairs):
        for server, other in (servers, servers[::-1]):
            with suspended(other.pids):
                sample = run_row(row, server, number)  # type: ignore[arg-type]
            if number >= 0:
                rates[server.kind].append(sample.per_second or 0)
                cpus[server.kind].append(sample.cpu_per_million or 0)
    medians = [statistics.median(figures[kind]) for figures in (rates, cpus) for kind in ("echo", "ours")]
    return Floor(row.title, *medians)


def measure_bytes(folder: Path) -> list[Bytes]:
    """Copying, writing and syncing the bytes of records, alone and many at once."""
    found = []
    with tempfile.TemporaryFile(dir=folder) as file, mmap.mmap(-1, FILE_BYTES) as memory:
        os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
        for records in GROUPS:
            data = os.urandom(RECORD_BYTES * records)
            places = range(0, FILE_BYTES - len(data), len(data))

            def copy(place: int, data: bytes = data) -> None:
                memory[place : place + len(data)] = data

            def write(place: int, data: bytes = data) -> None:
                os.pwrite(file.fileno(), data, place)

            def sync(place: int, data: bytes = data) -> None:
                os.pwrite(file.fileno(), data, place)
                os.fdatasync(file.fileno())

            for what, work, times in (
                ("memcpy", copy, COPIES),
                ("pwrite", write, WRITES),
                ("pwrite and fdatasync", sync, SYNCS),
            ):
                found.append(Bytes(what, records, least(work, places, times) / records * 1e6))
    return found


def least(work: Callable[[int], None], places: Sequence[int], times: int) -> float:
    """Seconds for one piece of work: the least of all repeats, each of which does it so many times."""
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        for number in range(times):
            work(places[number % len(places)])
        best = min(best, (time.perf_counter() - began) / times)
    return best


def section(floors: Sequence[Floor], batches: Sequence[Bytes]) -> list[str]:
    """The section of the page."""
    lines = [
        "## The floor",
        "",
        measured_on(),
        "The official Java client's sends against a server on the same reactor that cuts frames and answers",
        "each with the same bytes (`bench/echo.py`), beside ours, in turn; medians. What is left above it is",
        "what a broker does. `python -m bench floor` repeats it.",
        "",
        "| work | echo, messages/s | ours, messages/s | share | echo, CPU s/million | ours, CPU s/million |",
        "| --- |" + " ---: |" * 5,
    ]
    for one in floors:
        share = one.ours_per_second / one.echo_per_second
        rates = f"{one.echo_per_second:,.0f} | {one.ours_per_second:,.0f} | {share:.0%}"
        lines.append(f"| {one.title} | {rates} | {one.echo_cpu:.1f} | {one.ours_cpu:.1f} |")
    lines += [
        "",
        f"The bytes of a record of {RECORD_BYTES:,} bytes, from Python; microseconds, the least of {REPEATS}",
        "repeats:",
        "",
        "| records at once | " + " | ".join(dict.fromkeys(one.what for one in batches)) + " |",
        "| ---: |" + " ---: |" * (len(batches) // len(GROUPS)),
    ]
    for records in GROUPS:
        cells = [f"{one.microseconds:.2f}" for one in batches if one.records == records]
        lines.append(f"| {records} | {' | '.join(cells)} |")
    return lines


@benchmark(
    "floor --row sync-1 --pairs 1",
    rows=[row.name for row in ROWS],
    selected=LOADS,
    pairs=3,
    is_scaled=True,
)
def main(given: Invocation) -> None:
    """Compare sends with a server that only answers, and time copies, writes and syncs of bytes."""
    with tempfile.TemporaryDirectory(prefix="mqgateway-floor-") as folder:
        batches = measure_bytes(Path(folder))
    rows = [row.scaled(given.scale) for row in given.select(ROWS)]
    floors = measure_loads(rows, given.pairs, given.console)
    given.save(bytes=[asdict(one) for one in batches], loads=[asdict(one) for one in floors])
    given.write("the floor", section(floors, batches))
