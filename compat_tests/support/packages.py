"""Bare Debian systems below a folder, for what is installed on them: their network is this machine's.

Made by debootstrap, as root. What runs in one is ended by its process, and nothing stays mounted.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compat_tests.support.processes import start_logged, stop, wait_until
from compat_tests.support.servers import ROOT

SUITE = "bookworm"
SECONDS = 3000
"""How long a build may take on a loaded machine."""


def told(command: Sequence[str | Path], timeout: float = SECONDS, **variables: str) -> str:
    """Run a program to its end; gives what it printed. Raises RuntimeError when it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout[-3000:]}")
    return done.stdout


class Bare:
    """A Debian with its essential packages, and what was included."""

    def __init__(self, root: Path, *packages: str) -> None:
        self.root = root
        include = [f"--include={','.join(packages)}"] if packages else []
        told(["debootstrap", "--variant=minbase", *include, SUITE, root])

    def run(self, *command: str, timeout: float = SECONDS) -> str:
        """Run a program inside; gives what it printed."""
        return told(["chroot", self.root, *command], timeout, DEBIAN_FRONTEND="noninteractive")

    def install(self, *packages: str) -> float:
        """Install Debian's packages, or files of packages; gives how many seconds it took."""
        self.run("apt-get", "update", "-q")
        began = time.monotonic()
        self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
        return time.monotonic() - began

    @contextmanager
    def running(self, log: Path, *command: str) -> Iterator[float]:
        """A server inside, once it says that it is ready; gives how many seconds that took."""
        began = time.monotonic()
        with self.mounted():
            process = start_logged(["chroot", str(self.root), *command], log)
            try:
                wait_until(
                    lambda: "ready in" in log.read_text(errors="replace"), 60, f"{command[0]} is ready"
                )
                yield time.monotonic() - began
            finally:
                stop(process)

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """With the kernel's files, of which a server reads some."""
        told(["mount", "--bind", "/proc", self.root / "proc"])
        try:
            yield
        finally:
            told(["umount", self.root / "proc"])
