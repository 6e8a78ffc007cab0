"""Slow tests, by folder and by measured time; the marker is never set by hand.

A test takes the time from its first fixture to its last, less what its thread waited for a processor, so that
other work of the machine changes little. `durations.json` has every function above a limit. It is written,
on a machine that does nothing else, by

    pytest --record-durations --hypothesis-profile quick tests

Stage one of the test command passes `--log-durations`, which keeps the functions above a limit of its last
two runs in a file of this work tree. A house test compares it with the marks. There a test that starts
processes counts by their processor time: how long those wait for a processor is not known, and other stages
run beside.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Collection, Generator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

LIMIT = 2.0
"""Seconds that a test of stage one may take."""
TOGETHER = 3.0
"""Seconds that the tests of one function, with all its parameters, may take there."""
SLOW_FOLDERS = ("tests/bench/", "tests/fuzz/", "tests/sim/")
"""Load generators, hostile peers and simulated clusters: none is about one module, and all take minutes."""
ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "durations.json"
LOG = ROOT / ".tox" / "durations.json"
RUNS = 2
SECONDS = "seconds"


class Times(NamedTuple):
    """Seconds: the clock less waits for a processor; processor time of the process, and of its children."""

    undisturbed: float
    own: float
    children: float

    def at_least(self) -> float:
        """Return a time that does not grow with the load of the machine."""
        return self.own + self.children if self.children > 0 else self.undisturbed


def name_of(node: str) -> str:
    """Return the name of a test function: its node id without parameters."""
    return node.partition("[")[0]


def load(path: Path = TABLE) -> dict[str, float]:
    """Return the seconds of the tests above the limit."""
    return dict(json.loads(path.read_text())[SECONDS]) if path.exists() else {}


def is_slow(node: str, table: Collection[str]) -> bool:
    """Return True if a test belongs to stage two."""
    return node.startswith(SLOW_FOLDERS) or name_of(node) in table


def above(measured: Mapping[str, float]) -> dict[str, float]:
    """Return the functions that take too long, alone or together, by node ids; each with all its seconds."""
    together: dict[str, float] = {}
    for node, seconds in measured.items():
        together[name_of(node)] = together.get(name_of(node), 0.0) + seconds
    slow = {name_of(node) for node, seconds in measured.items() if seconds > LIMIT}
    slow |= {name for name, seconds in together.items() if seconds > TOGETHER}
    return {name: round(together[name], 1) for name in sorted(slow)}


def record(measured: Mapping[str, float], path: Path = TABLE) -> None:
    """Replace what the table has of the functions that were measured; others stay as they are."""
    ran = {name_of(node) for node in measured}
    kept = {name: seconds for name, seconds in load(path).items() if name not in ran}
    table = kept | {name: one for name, one in above(measured).items() if not name.startswith(SLOW_FOLDERS)}
    lines = [f"  {json.dumps(name)}: {seconds}" for name, seconds in sorted(table.items())]
    head = f'{{"commit": "{_commit()}", "date": "{_today()}", "limit": {LIMIT}, "{SECONDS}": {{\n'
    path.write_text(head + ",\n".join(lines) + "\n}}\n")


def log(measured: Mapping[str, float], path: Path = LOG) -> None:
    """Add a run to the last ones."""
    runs = json.loads(path.read_text()) if path.exists() else []
    runs.append({"commit": _commit(), "date": _today(), SECONDS: above(measured)})
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(runs[-RUNS:], indent=1))


def too_long(path: Path = LOG, table: Path = TABLE) -> dict[str, list[float]]:
    """Return the tests that are not marked and took longer than the limit in each of the last two runs."""
    runs = [run[SECONDS] for run in json.loads(path.read_text())] if path.exists() else []
    if len(runs) < RUNS:
        return {}
    marked = load(table)
    return {
        name: [run[name] for run in runs]
        for name in runs[0]
        if all(name in run for run in runs) and not is_slow(name, marked)
    }


class Durations:
    """A pytest plugin that measures tests, also in the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config, *, table: Path | None = None, runs: Path | None = None) -> None:
        """Measure the tests of this run.

        Args:
            config: That of the session or of a worker.
            table: Where to record slow tests; not at all if None.
            runs: Where to add this run to the last ones; not at all if None.
        """
        self._is_worker = hasattr(config, "workerinput")
        self._table = table
        self._runs = runs
        self._began: dict[str, Times] = {}
        self._measured: dict[str, Times] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Start the clock of a test."""
        self._began[item.nodeid] = times()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the time of a test with its last report."""
        report = yield
        if call.when == "teardown":
            began = self._began.pop(item.nodeid)
            spent = [after - before for after, before in zip(times(), began, strict=True)]
            report.user_properties.append((SECONDS, spent))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the times of all workers."""
        for key, value in report.user_properties:
            if key == SECONDS:
                self._measured[report.nodeid] = Times(*value)

    def pytest_sessionfinish(self) -> None:
        """Write what was asked for."""
        if self._table is not None and not self._is_worker:
            record({node: one.undisturbed for node, one in self._measured.items()}, self._table)
        if self._runs is not None and not self._is_worker:
            log({node: one.at_least() for node, one in self._measured.items()}, self._runs)


def times() -> Times:
    """Return the clocks of this process."""
    try:
        waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        waited = 0
    used = os.times()
    children = used.children_user + used.children_system
    return Times(time.monotonic() - waited / 1e9, used.user + used.system, children)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
