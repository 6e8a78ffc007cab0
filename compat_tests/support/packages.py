"""Bare Debian systems below a folder, for installation tests: their network is this machine's.

debootstrap makes them, as root. Programs in them are ended by their process, and nothing stays mounted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psutil

from compat_tests.support.processes import start_logged, stop, wait_until
from compat_tests.support.servers import ROOT

SUITE = "bookworm"
SECONDS = 3000
"""Longest time of a build on a loaded machine."""
BOOT_SECONDS = 120


def output_of(command: Sequence[str | Path], timeout: float = SECONDS, **variables: str) -> str:
    """Run a program to its end; return its output. Raises RuntimeError if it fails."""
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
    """A Debian with its essential packages and the included ones."""

    def __init__(self, root: Path, *packages: str) -> None:
        self.root = root
        include = [f"--include={','.join(packages)}"] if packages else []
        output_of(["debootstrap", "--variant=minbase", *include, SUITE, root])

    def run(self, *command: str, timeout: float = SECONDS) -> str:
        """Run a program inside; return its output."""
        return output_of(["chroot", self.root, *command], timeout, DEBIAN_FRONTEND="noninteractive")

    def install(self, *packages: str) -> float:
        """Install Debian's packages, or files of packages; return the duration in seconds."""
        self.run("apt-get", "update", "-q")
        began = time.monotonic()
        self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
        return time.monotonic() - began

    def add(self, package: Path) -> str:
        """Copy a file of a package inside; return its path for `install`."""
        shutil.copy(package, self.root / "tmp")
        return f"/tmp/{package.name}"

    @contextmanager
    def running(self, log: Path, *command: str) -> Iterator[float]:
        """Run a server inside while entered; return the seconds until its log says that it is ready."""
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
        """Mount `/proc` while entered: a server reads some of its files."""
        output_of(["mount", "--bind", "/proc", self.root / "proc"])
        try:
            yield
        finally:
            output_of(["umount", self.root / "proc"])


class Booted:
    """A bare Debian with systemd, booted as a container with this machine's network; leaving it ends it."""

    def __init__(self, bare: Bare, log: Path) -> None:
        self._bare = bare
        self._log = log
        self._first = 0

    def __enter__(self) -> Self:
        # The machine's own systemd, if there is one, is not involved.
        command = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit"]
        self._nspawn = start_logged([*command, f"--directory={self._bare.root}"], self._log)
        try:
            wait_until(self._is_up, BOOT_SECONDS, "systemd is up inside")
        except (TimeoutError, RuntimeError) as failure:
            self.__exit__()
            raise RuntimeError(f"{failure}: {self._log.read_text(errors='replace')[-3000:]}") from failure
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            if any(failure) and self._first:
                print(self.run("journalctl", "--no-pager", "--lines=200"))
        finally:
            stop(self._nspawn, BOOT_SECONDS)

    def run(self, *command: str) -> str:
        """Run a program inside; return its output. Raises RuntimeError if it fails."""
        enter = ("nsenter", f"--target={self._first}", "--mount", "--uts", "--ipc", "--pid", "--root")
        return output_of([*enter, *command])

    def property(self, unit: str, name: str) -> str:
        """Return a property of a unit, as systemd reports it."""
        return self.run("systemctl", "show", "--property", name, "--value", unit).strip()

    def _is_up(self) -> bool:
        if self._nspawn.poll() is not None:
            raise RuntimeError(f"systemd-nspawn ended with {self._nspawn.returncode}")
        for process in psutil.Process(self._nspawn.pid).children(recursive=True):
            if _id_inside(process.pid) == "1":
                self._first = process.pid
        if not self._first:
            return False
        try:
            self.run("systemctl", "is-active", "multi-user.target")
        except RuntimeError:
            return False
        return True


def _id_inside(pid: int) -> str:
    """Return the id of a process in its own name space; empty if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next(line.split()[-1] for line in lines if line.startswith("NSpid:"))
