"""A load process driven by commands, one a line; and the resource use of a server during a command."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from bench.measure import usage


class LoadProcess:
    """A module that answers each line of its input with a line, both JSON; see `bench.scale_peers`."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        self._process = subprocess.Popen(
            command, text=True, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def do(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Run a command and return its answer. Raises `RuntimeError` if the process has ended."""
        self.start(name, **arguments)
        return self.answer()

    def start(self, name: str, **arguments: Any) -> None:
        """Start a command; `answer` returns its answer later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return the answer to the oldest open command. Raises `RuntimeError` if the process has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> LoadProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def beside(pids: Sequence[int], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of `work`, with the server's CPU use during it and its memory at the end."""
    before, began = usage(pids), time.perf_counter()
    results = work()
    after, seconds = usage(pids), time.perf_counter() - began
    used = after.cpu_seconds - before.cpu_seconds
    figures = {"cpu_seconds": used, "cpu_percent": used / seconds * 100}
    return {"seconds": seconds, **figures, "resident_mb": after.resident_bytes / 1e6, **results}


def used_by(pid: int) -> dict[str, float]:
    """Return the memory of a process and its CPU seconds since its start."""
    used = usage([pid])
    return {"cpu_seconds": used.cpu_seconds, "resident_mb": used.resident_bytes / 1e6}


def open_files(pid: int) -> int:
    """Return the number of files that a process has open, connections included."""
    return int(psutil.Process(pid).num_fds())
