"""Stages run in lanes; each gives one line, and its whole output only when it fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.stages.plan import Plan, Stage
from scripts.stages.runner import Result, Runner, end, report, tox_command

PASSES = "print('details'); print('3 passed, 1 deselected in 0.12s')"
FAILS = """
print('details of a failure')
print('=== 1 failed, 2 passed in 3.21s (0:00:03) ===')
raise SystemExit(1)
"""


def python_command(stage: Stage) -> list[str]:
    return [sys.executable, "-c", stage.environment]


class Said:
    """The runner's lines, for stages whose environment is a program's text."""

    def __init__(self, folder: Path) -> None:
        self.lines: list[str] = []
        self.runner = Runner(
            folder,
            folder / "logs",
            self.lines.append,
            lambda stage: [sys.executable, "-c", stage.environment],
        )

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def said(tmp_path: Path) -> Said:
    return Said(tmp_path)


def test_passing_stage_is_one_line(said: Said, tmp_path: Path) -> None:
    said.runner.run(Plan("stage one", (Stage("unit", PASSES),)))
    head, line = said.lines
    assert head == f"stage one: unit; logs in {tmp_path / 'logs'}"
    assert line.split(maxsplit=3) == ["unit", "ok", "0:00", "3 passed, 1 deselected in 0.12s"]
    assert (tmp_path / "logs" / "unit.log").read_text().startswith("details")


def test_failing_stage_shows_its_output_and_others_run(said: Said) -> None:
    said.runner.run(Plan("stage one", (Stage("unit", FAILS), Stage("core", PASSES))))
    assert "details of a failure" in said.text and "unit           FAILED" in said.text
    assert [one.has_passed for one in said.runner.results] == [False, True]
    assert said.runner.results[0].summary == "1 failed, 2 passed in 3.21s (0:00:03)"


def test_lanes_run_at_the_same_time(said: Said, tmp_path: Path) -> None:
    """Each waits for the other's file."""
    meet = (
        "import pathlib, time\npathlib.Path('{0}').touch()\n"
        "while not pathlib.Path('{1}').exists(): time.sleep(0.01)\n"
    )
    front, beside = Stage("a", meet.format("a", "b")), Stage("b", meet.format("b", "a"), lane=1)
    said.runner.run(Plan("stage one", (front, beside)))
    assert said.lines[0].startswith("stage one: a; at low priority b;")
    assert {one.stage.name for one in said.runner.results if one.has_passed} == {"a", "b"}


def test_interrupt_ends_what_runs_and_starts_nothing_more(said: Said, tmp_path: Path) -> None:
    sleeps = "import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(100)"

    def interrupt(stage: Stage) -> list[str]:
        if stage.name == "front":
            while not (tmp_path / "started").exists():
                time.sleep(0.01)
            raise KeyboardInterrupt
        return python_command(stage)

    runner = Runner(tmp_path, tmp_path / "logs", said.lines.append, interrupt)
    stages = [Stage("front", ""), Stage("b", sleeps, lane=1), Stage("c", PASSES, lane=1)]
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runner.run(Plan("stage one", tuple(stages)))
    assert time.monotonic() - began < 30 and runner.results == [] and len(said.lines) == 1


def test_end_takes_children_along() -> None:
    command = ["sh", "-c", "sleep 100 & echo $!; wait"]
    popen = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert popen.stdout is not None
    child = int(popen.stdout.readline())
    end(popen)
    popen.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_report_has_notes_and_names_failures(tmp_path: Path) -> None:
    log = tmp_path / "core.log"
    log.write_text(
        "official clients run in: this machine (no Docker engine); logs in /tmp/x\n"
        "12 scenarios of this server as recorded on 2026-11-27\n4 passed in 2.00s\n"
    )
    bad = tmp_path / "types.log"
    bad.write_text("a.py:1: error: wrong\nFound 1 error in 1 file (checked 2 source files)\n")
    results = [Result(Stage("core", "compat"), 0, 61.5, log), Result(Stage("types", "types"), 1, 5, bad)]
    lines = report(results, 67, ["a note"]).splitlines()
    assert lines[2].split()[:3] == ["core", "ok", "1:01"]
    assert "core: official clients run in: this machine (no Docker engine)" in lines
    assert "core: 12 scenarios of this server as recorded on 2026-11-27" in lines and "a note" in lines
    assert lines[-2:] == ["FAILED: types in 1:07", f"log of types: {bad}"]
    assert "all stages passed in 1:07" in report(results[:1], 67)


def test_command_of_a_stage_of_another_lane_has_low_priority() -> None:
    stage = Stage("types", "types", lane=1)
    assert tox_command(stage)[:3] == ["nice", "-n", "10"]
    in_front = tox_command(Stage("lint", "lint"))
    assert in_front[1:] == ["-m", "tox", "run", "--skip-pkg-install", "-e", "lint"]
    with_tests = tox_command(Stage("core", "compat", "core", ("compat_tests",)))
    assert with_tests[-3:] == ["--", "-m", "core"], "the environment names its folder"
