"""Time, files, timers and the global reactor are reached through their doors only."""

import ast
from pathlib import Path

import pytest

from tests.house.source import imported_modules, source_files, tree

TIME_DOORS = {"engine/clock.py"}
FILE_DOORS = {"engine/disk.py"}
# The disk in memory maps memory of no file.
MEMORY_DISK = "engine/testing/crash_disk.py"
REACTOR_DOORS = {"gateway/cli/run.py"}
# Timers are set where connections live and in the files that start and stop services.
TIMER_PLACES = ("gateway/remoting/", "gateway/cli/")
TIMER_FILES = {
    "gateway/broker/service.py",
    "gateway/namesrv/service.py",
    "gateway/broker/registration.py",
    "gateway/client/schedule.py",
    "gateway/container/service.py",
    "gateway/testing/mortal.py",
}
# The command line reads the files its user names: settings, and store files to print.
COMMAND_LINE = "gateway/cli/"


def calls(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of every call in a file."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            found.append((node.lineno, ast.unparse(node.func)))
    return found


@pytest.mark.parametrize("path", source_files(), ids=str)
def test_time_is_read_through_the_clock(path: Path) -> None:
    if str(path) in TIME_DOORS:
        return
    banned = {
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.sleep",
        "datetime.now",
        "datetime.datetime.now",
    }
    wrong = [f"{path}:{line} {name}" for line, name in calls(path) if name in banned]
    assert not wrong


@pytest.mark.parametrize("path", source_files(), ids=str)
def test_files_are_reached_through_the_disk(path: Path) -> None:
    if str(path) in FILE_DOORS or str(path).startswith(COMMAND_LINE):
        return
    banned = {"open", "os.open", "os.rename", "os.replace", "os.unlink", "os.remove", "io.open", "mmap.mmap"}
    if str(path) == MEMORY_DISK:
        banned -= {"mmap.mmap"}
    wrong = [f"{path}:{line} {name}" for line, name in calls(path) if name in banned]
    assert not wrong


@pytest.mark.parametrize("path", source_files(), ids=str)
def test_the_global_reactor_has_one_door(path: Path) -> None:
    if str(path) not in REACTOR_DOORS:
        assert "twisted.internet.reactor" not in set(imported_modules(path))
        imports = [n for n in ast.walk(tree(path)) if isinstance(n, ast.ImportFrom)]
        assert not any(
            n.module == "twisted.internet" and "reactor" in {a.name for a in n.names} for n in imports
        )


@pytest.mark.parametrize("path", source_files(), ids=str)
def test_timers_live_in_the_services(path: Path) -> None:
    if str(path).startswith(TIMER_PLACES) or str(path) in TIMER_FILES:
        return
    wrong = [
        f"{path}:{line} {name}" for line, name in calls(path) if name.endswith((".callLater", "LoopingCall"))
    ]
    assert not wrong
