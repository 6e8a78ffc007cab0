"""The engine that a run starts leaves nothing mounted, and does not stay in the way of the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from compat_tests.support.containers import data_root_argument, end_orphans, mount_points, runs

MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
overlay /tmp/engine-1/exec overlay rw 0 0
nsfs /tmp/engine-1/exec/netns/default nsfs rw 0 0
nsfs /tmp/engine-12/exec/netns/default nsfs rw 0 0
"""


def test_mounts_of_one_engine_are_found_the_innermost_first() -> None:
    assert mount_points(MOUNTS, "/tmp/engine-1") == [
        "/tmp/engine-1/exec/netns/default",
        "/tmp/engine-1/exec",
    ]


def test_nothing_is_mounted_below_other_folders() -> None:
    assert mount_points(MOUNTS, "/tmp/engine") == []


ORPHAN = "import time; time.sleep(60)"
STARTER = """
import subprocess, sys
nothing = subprocess.DEVNULL
print(subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdout=nothing, stderr=nothing).pid)
"""


def test_an_engine_whose_run_was_killed_is_ended(tmp_path: Path) -> None:
    """Others live on: one with another data folder, and one whose run is alive."""
    mine, other = (data_root_argument(tmp_path / name) for name in ("mine", "other"))
    orphan, stranger = (_orphan(argument) for argument in (mine, other))
    child = subprocess.Popen([sys.executable, "-c", ORPHAN, mine])
    try:
        end_orphans(tmp_path / "mine")
        assert not runs(orphan)
        assert runs(stranger)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
        stranger.kill()


def _orphan(argument: str) -> psutil.Process:
    """Return a process whose parent has ended."""
    printed = subprocess.run(
        [sys.executable, "-c", STARTER, ORPHAN, argument], check=True, stdout=subprocess.PIPE, timeout=60
    )
    return psutil.Process(int(printed.stdout))
