"""Slow tests are marked by what was measured, and no unmarked test takes longer than the limit twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.support.durations import (
    LIMIT,
    SLOW_FOLDERS,
    TOGETHER,
    Times,
    above,
    is_slow,
    load,
    log,
    name_of,
    record,
    too_long,
)

ONE, TWO = "tests/a/test_a.py::test_one", "tests/a/test_a.py::TestTwo::test_two"
CONFTEST = """
from pathlib import Path
from tests.support import durations
durations.LIMIT = 0.2
FOLDER = Path(__file__).parent
def pytest_configure(config):
    plugin = durations.Durations(config, table=FOLDER / "table.json", runs=FOLDER / "runs.json")
    config.pluginmanager.register(plugin)
"""
TESTS = """
import pytest, time
@pytest.fixture
def slow(): time.sleep(0.3)
def test_slow(slow): pass
def test_quick(): pass
"""


def test_no_unmarked_test_takes_longer_than_the_limit() -> None:
    """Record it (`pytest --record-durations --hypothesis-profile quick FILE`) or make it faster."""
    assert not too_long()


def test_recorded_tests_are_there() -> None:
    """A name whose test is gone marks nothing: record its file again."""
    gone = []
    for name in load():
        file, *holders, test = name.split("::")
        definition = f"def {test}(" if test != "runTest" else holders[0]
        if not (ROOT / file).is_file() or definition not in (ROOT / file).read_text():
            gone.append(name)
    assert not gone


def test_slow_folders_are_there() -> None:
    assert all((ROOT / folder).is_dir() for folder in SLOW_FOLDERS)


def test_function_is_slow_by_its_slowest_parameter() -> None:
    measured = {f"{ONE}[a]": 1.0, f"{ONE}[b]": LIMIT + 2.04, f"{TWO}[x[1]]": LIMIT}
    assert above(measured) == {ONE: LIMIT + 3.0}
    assert name_of(f"{TWO}[x[1]]") == TWO
    assert is_slow(f"{ONE}[c]", {ONE}) and not is_slow(f"{ONE}_more", {ONE})
    assert is_slow(f"{SLOW_FOLDERS[0]}test_x.py::test_x", {})


def test_function_is_slow_by_many_quick_parameters() -> None:
    measured = {f"{ONE}[{number}]": 1.0 for number in range(int(TOGETHER))}
    assert above(measured) == {}
    assert above(measured | {f"{ONE}[more]": 1.0, TWO: LIMIT}) == {ONE: TOGETHER + 1.0}


def test_recording_replaces_what_ran_and_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    record({ONE: LIMIT + 1, f"{TWO}[a]": LIMIT + 2}, path)
    assert load(path) == {ONE: LIMIT + 1, TWO: LIMIT + 2}
    record({f"{TWO}[a]": 0.1, f"{SLOW_FOLDERS[0]}test_x.py::test_x": 99.0}, path)
    assert load(path) == {ONE: LIMIT + 1}
    assert json.loads(path.read_text())["commit"]
    assert load(tmp_path / "none") == {}


def test_unmarked_test_above_the_limit_in_two_runs_is_found(tmp_path: Path) -> None:
    runs, table = tmp_path / ".tox" / "durations.json", tmp_path / "table.json"
    assert too_long(runs, table) == {}
    log({ONE: LIMIT + 1, TWO: LIMIT + 1}, runs)
    assert too_long(runs, table) == {}
    log({ONE: LIMIT + 2, TWO: 0.1}, runs)
    assert too_long(runs, table) == {ONE: [LIMIT + 1, LIMIT + 2]}
    record({ONE: LIMIT + 2}, table)
    assert too_long(runs, table) == {}
    table.unlink()
    log({TWO: LIMIT + 1}, runs)
    assert too_long(runs, table) == {}, "only the last two runs count"


def test_time_of_a_test_with_processes_is_that_of_processors() -> None:
    assert Times(5.0, 0.5, 0.0).at_least() == 5.0, "it sleeps"
    assert Times(5.0, 0.5, 0.75).at_least() == 1.25


@pytest.mark.timeout(180)
def test_run_measures_its_tests_in_workers_too(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_two.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist.plugin", "-n", "1", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(load(tmp_path / "table.json")) == ["test_two.py::test_slow"]
    assert "test_two.py::test_slow" in json.loads((tmp_path / "runs.json").read_text())[0]["seconds"]
