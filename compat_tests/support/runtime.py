"""Runtimes of the official clients: a container, or this machine.

``--runtime=docker|local|auto``. ``auto`` uses Docker if an engine runs or can be started, and otherwise this
machine; under ``CI=true`` it does not fall back.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from compat_tests.support import containers
from compat_tests.support.processes import LocalProcess, Process


class Runtime(Protocol):
    """Starts official clients."""

    title: str

    def run(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> Process:
        """Start a program with pipes for input and output; errors go to the client log."""
        ...

    def java(self, arguments: Sequence[str], env: Mapping[str, str] | None = None) -> Process:
        """Start ``java ARGUMENTS`` with pipes for input and output; errors go to the client log."""
        ...

    def close(self) -> None:
        """End the runtime's own processes."""
        ...


class LocalRuntime:
    """This machine."""

    title = "this machine (no Docker engine)"

    def __init__(self, work: Path) -> None:
        self._work = work

    def java(self, arguments: Sequence[str], env: Mapping[str, str] | None = None) -> Process:
        return self.run(["java", f"-Duser.home={self._work}", *arguments], env)

    def run(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> Process:
        with (self._work / "clients.log").open("ab") as errors:
            popen = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(env or {})},
                cwd=self._work,
            )
        return LocalProcess(popen)

    def close(self) -> None:
        """Do nothing: the clients are the only processes, and their users end them."""


def choose(wish: str, work: Path) -> Runtime:
    """Return the requested runtime; ``work`` is the folder for the clients' logs and files."""
    if wish == "local":
        return LocalRuntime(work)
    try:
        return containers.DockerRuntime(work)
    except containers.NoEngine:
        if must_be_docker(wish):
            raise
        return LocalRuntime(work)


def must_be_docker(wish: str) -> bool:
    """Return True if a run may not continue without Docker."""
    return wish == "docker" or os.environ.get("CI") == "true"
