"""``python -m compat_tests.storm``: an hour of fault injection, started by hand.

A name server with a master, and a slave, run on a small disk of their own, with a clock of their own.
While messages of all kinds are sent and consumed, the processes are killed in start, work and stop by
kill -9, stopped cleanly, and paused. The disk is filled and freed, the clock is moved. At the end the load
stops and the invariants are checked: no acknowledged message is missing, no message is stored that was never
sent or was rolled back, no message was delivered early, kills explain all copies, `store check` finds
nothing, and the logs of master and slave are equal.
The exit code is 1 after a violation; the seed is printed, and the stores are kept.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random, SystemRandom

from rich.console import Console
from rich.live import Live
from rich.table import Table

from compat_tests.storm.load import Load
from compat_tests.storm.model import Model
from compat_tests.storm.nodes import PROJECT, Ground, Node, ServerClock, group
from mqgateway.gateway.client import ClientError

CHECK_SECONDS = 120
SHOWN = 20
"""Violations that are printed; JSON has all."""


class Storm:
    """One run. The seed determines the faults, not how the threads of load interleave with them."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, console: Console) -> None:
        self._arguments = arguments
        self.seed: int = arguments.seed
        self.folder = folder
        self._console = console
        self._choose = Random(self.seed)
        self.counts: Counter[str] = Counter()
        self.ground = Ground(folder, arguments.disk)
        self.clock = ServerClock(folder)
        self.namesrv, self.nodes = group(folder, self.ground, self.clock)
        self.model = Model(self.seed)
        self.violations: list[str] = []
        self._began = time.monotonic()

    def run(self) -> None:
        """Inject faults under load, then check the invariants."""
        master, slave = self.nodes
        for node in (master, slave):
            node.launch()
            node.wait_until_up()
        load = Load(self.namesrv, self.model, self.seed, self._arguments.rate)
        _until(lambda: _succeeds(load.prepare), 60, "the broker is registered")
        load.start()
        with Live(self.table(), console=self._console, refresh_per_second=1) as live:
            end = self._began + self._arguments.seconds
            while time.monotonic() < end:
                self._sleep(self._choose.uniform(0.5, 6), live)
                self._befall(live)
            load.quiet()
            self._calm()
            self._settle(load, live)
            load.close()
            live.update(self.table())
        self._look(load)

    # Faults.

    def _befall(self, live: Live) -> None:
        events: list[tuple[Callable[[Live], None], int]] = [
            (self._kill_in_work, 5),
            (self._kill_in_start, 2),
            (self._kill_in_stop, 2),
            (self._restart, 1),
            (self._pause, 3),
        ]
        if self.ground.is_small and "disk" not in self._arguments.without:
            events.append((self._fill, 2))
        if self.clock.can_move and "clock" not in self._arguments.without:
            events.append((self._move_clock, 2))
        [event] = self._choose.choices([each for each, _ in events], [weight for _, weight in events])
        event(live)

    def _node(self) -> Node:
        return self.nodes[0] if self._choose.random() < 0.7 else self.nodes[1]

    def _kill_in_work(self, live: Live) -> None:
        node = self._node()
        node.kill("work")
        self._sleep(self._choose.uniform(0, 2), live)
        self._up(node)

    def _kill_in_start(self, live: Live) -> None:
        node = self._node()
        node.kill("work")
        for _ in range(self._choose.randint(1, 3)):
            node.launch()
            self._sleep(self._choose.uniform(0.2, 2.5), live)
            node.kill("start")
        self._up(node)

    def _kill_in_stop(self, live: Live) -> None:
        node = self._node()
        node.signal(signal.SIGTERM)
        self._sleep(self._choose.uniform(0, 1), live)
        node.kill("stop")
        self._up(node)

    def _restart(self, _: Live) -> None:
        node = self._node()
        node.stop()
        self._up(node)

    def _pause(self, live: Live) -> None:
        node = self._node()
        node.signal(signal.SIGSTOP)
        self._sleep(self._choose.uniform(0.2, 8), live)
        node.signal(signal.SIGCONT)
        self.counts["paused"] += 1

    def _fill(self, live: Live) -> None:
        """Fill the disk for a while; sometimes restart a server meanwhile."""
        self.counts["disk filled"] += 1
        self.ground.fill()
        self._sleep(self._choose.uniform(0.5, 3), live)
        if self._choose.random() < 0.6:
            node = self._node()
            if self._choose.random() < 0.5:
                node.kill("work")
            else:
                node.stop()
                node.kills.append(time.monotonic())  # its state in memory could not be saved
            self._up(node)
            self.counts["started on a full disk"] += 1
        self._sleep(self._choose.uniform(0.5, 2), live)
        self.ground.free()

    def _move_clock(self, _: Live) -> None:
        furthest = self._arguments.jump
        self.counts["clock moved"] += 1
        self.clock.move(0.0 if self._choose.random() < 0.3 else self._choose.uniform(-furthest, furthest))

    def _up(self, node: Node) -> None:
        node.launch()
        node.wait_until_up()

    def _sleep(self, seconds: float, live: Live) -> None:
        time.sleep(seconds)
        live.update(self.table())

    # The end.

    def _calm(self) -> None:
        self.ground.free()
        for node in self.nodes:
            node.signal(signal.SIGCONT)

    def _settle(self, load: Load, live: Live) -> None:
        """Wait until all acknowledged messages have been delivered, or the time is over."""
        until = time.monotonic() + self._arguments.settle
        while self.model.missing() and time.monotonic() < until:
            self._sleep(1, live)
        _until(lambda: _succeeds(lambda: self.model.found(load.stored())), 60, "the queues can be read")

    def _look(self, load: Load) -> None:
        wall = time.time() - time.monotonic()
        kills = [time for node in self.nodes for time in node.kills]
        bound = self._arguments.repeat_seconds
        self.violations += self.model.violations(kills, self.nodes[0].starts, self.clock.moves, wall, bound)
        for node in self.nodes:
            try:
                node.stop()  # the master waits until its slave has everything
            except subprocess.TimeoutExpired:
                self.violations.append(f"{node.name} did not stop in a minute")
                node.kill("stop")
        self._compare_logs()
        for node in self.nodes:
            self._check(self.ground.folder / node.name / "store")

    def _compare_logs(self) -> None:
        ours, theirs = (self.ground.folder / node.name / "store" / "commitlog" for node in self.nodes)
        for path in sorted(theirs.iterdir()):
            other = ours / path.name
            if not other.exists() or other.read_bytes() != path.read_bytes():
                self.violations.append(f"the logs of master and slave differ in {path.name}")
        if len(list(ours.iterdir())) > len(list(theirs.iterdir())):
            self.violations.append("the slave lacks files of the log")

    def _check(self, store: Path) -> None:
        command = [
            sys.executable,
            "-c",
            "from mqgateway.gateway.cli.main import main; main()",
            "store",
            "check",
        ]
        done = subprocess.run(
            [*command, str(store), "--quiet"],
            cwd=PROJECT,
            capture_output=True,
            timeout=CHECK_SECONDS,
            check=False,
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace")[-1500:]
            self.violations.append(f"store check of {store} gave {done.returncode}: {said}")

    def close(self) -> None:
        """Kill the servers; after violations, keep the stores."""
        for node in self.nodes:
            node.signal(signal.SIGCONT)
            node.kill("the end")
        if self.violations:
            self.ground.free()
            self.ground.save(self.folder / "kept")
        self.ground.close()

    # Reports.

    def table(self) -> Table:
        """Return the current counts as a table."""
        table = Table(title=f"storm, seed {self.seed}, {time.monotonic() - self._began:.0f} s")
        columns = ("sent", "acknowledged", "given out", "deliveries", "copies", "most copies")
        for name in ("kind", *columns):
            table.add_column(name, justify="left" if name == "kind" else "right")
        for kind, row in self.model.counts().items():
            table.add_row(kind, *(str(row.get(column, 0)) for column in columns))
        table.caption = ", ".join(f"{name} {count}" for name, count in sorted(self.events().items()))
        return table

    def events(self) -> Counter[str]:
        """Return the number of faults by kind."""
        return sum((node.counts for node in self.nodes), self.counts.copy())

    def report(self) -> dict[str, object]:
        """Return all results, for programs."""
        return {
            "seed": self.seed,
            "seconds": round(time.monotonic() - self._began, 1),
            "events": dict(self.events()),
            "messages": self.model.counts(),
            "violations": self.violations,
            "folder": str(self.folder) if self.violations else None,
        }


def _succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except (ClientError, OSError):
        return False
    return True


def _until(met: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.5)


def arguments_of(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m compat_tests.storm", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="how long it blows (an hour)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32), help="what befalls")
    parser.add_argument("--rate", type=float, default=40, help="sends a second of each of three threads")
    parser.add_argument("--disk", type=int, default=1024, help="MiB of the disk")
    parser.add_argument("--jump", type=float, default=120, help="seconds that the clock is moved by at most")
    parser.add_argument(
        "--repeat-seconds", type=float, default=1, help="what a kill may let come again: the last so much"
    )
    parser.add_argument(
        "--settle", type=float, default=180, help="seconds until all is given out, at the end"
    )
    parser.add_argument("--without", nargs="*", default=[], choices=["disk", "clock"], help="leave out")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON, at the end")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run a storm; return the exit code."""
    arguments = arguments_of(words)
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="storm-"))
    logging.basicConfig(filename=folder / "load.log", format="%(asctime)s %(message)s", level=logging.WARNING)
    console.print(f"seed {arguments.seed}, in {folder}")
    storm = Storm(arguments, folder, console)
    try:
        storm.run()
    except (TimeoutError, RuntimeError, subprocess.TimeoutExpired) as error:
        storm.violations.append(f"the storm could not go on: {error}")
    finally:
        storm.close()
    report = storm.report()
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        Console().print(storm.table())
    for violation in storm.violations[:SHOWN]:
        console.print(f"[red]wrong[/]  {violation}", highlight=False)
    if storm.violations:
        console.print(f"{len(storm.violations)} violations, seed {arguments.seed}, kept in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    console.print(f"nothing is wrong, seed {arguments.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
