"""The cache of jars and programs: one caller builds an entry, the others wait for it."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compat_tests.support import artifacts
from compat_tests.support.artifacts import made, program

BUILD_ONCE = """
import sys, time
from pathlib import Path
from compat_tests.support.artifacts import made

def make(aside):
    aside.mkdir()
    time.sleep(0.3)
    (aside / "built").touch()
    with Path(sys.argv[2]).open("a") as builds:
        builds.write("x")

assert (made(Path(sys.argv[1]), make) / "built").exists()
"""


def build_slowly(aside: Path) -> None:
    """Build a folder with one file, over a time in which another caller would come."""
    aside.mkdir()
    time.sleep(0.2)
    (aside / "built").touch()


def test_threads_that_need_one_entry_build_it_once(tmp_path: Path) -> None:
    target, builds = tmp_path / "classes" / "one", []

    def make(aside: Path) -> None:
        builds.append(aside)
        build_slowly(aside)

    def need() -> bool:
        return (made(target, make) / "built").exists()

    with ThreadPoolExecutor(4) as threads:
        assert [one.result() for one in [threads.submit(need) for _ in range(4)]] == [True] * 4
    assert len(builds) == 1


def test_processes_that_need_one_entry_build_it_once(tmp_path: Path) -> None:
    builds = tmp_path / "builds"
    command = [sys.executable, "-c", BUILD_ONCE, str(tmp_path / "entry"), str(builds)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(30) for one in running] == [0, 0, 0]
    assert builds.read_text() == "x"


def test_a_failed_build_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    target = tmp_path / "classes" / "one"

    def fail(aside: Path) -> None:
        aside.mkdir()
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError, match="no compiler"):
        made(target, fail)
    assert [path.name for path in target.parent.iterdir()] == [".one.lock"]
    assert (made(target, build_slowly) / "built").exists()


def test_scenarios_that_need_one_java_program_compile_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two scenarios that start together once compiled into one folder, and one of them removed it."""
    commands = []

    def compile_slowly(command: list[str]) -> None:
        commands.append(command)
        build_slowly(Path(command[command.index("-d") + 1]))

    monkeypatch.setenv("MQGATEWAY_CACHE", str(tmp_path))
    monkeypatch.setattr(artifacts, "class_path", lambda name, version: f"{name}-{version}/*")
    monkeypatch.setattr(artifacts, "run", compile_slowly)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(program, "../signing_java", "tools") for _ in range(2)]
        first, second = (run.result() for run in runs)
    assert first == second and len(commands) == 1
    assert (Path(first.partition(":")[0]) / "built").exists()
