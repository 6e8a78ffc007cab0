"""A process of load that is told what to do, line by line; and what a server uses meanwhile."""

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
        """Have a command done; what came of it. Raises `RuntimeError` where the process has ended."""
        self.tell(name, **arguments)
        return self.answer()

    def tell(self, name: str, **arguments: Any) -> None:
        """Have a command done, whose answer is asked for later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The answer to the oldest command that has had none yet."""
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
    """What a piece of work tells, with the CPU that a server used meanwhile, and its memory at the end."""
    before, began = usage(pids), time.perf_counter()
    told = work()
    after, seconds = usage(pids), time.perf_counter() - began
    used = after.cpu_seconds - before.cpu_seconds
    figures = {"cpu_seconds": used, "cpu_percent": used / seconds * 100}
    return {"seconds": seconds, **figures, "resident_mb": after.resident_bytes / 1e6, **told}


def used_by(pid: int) -> dict[str, float]:
    """CPU seconds since its start and memory of a process."""
    used = usage([pid])
    return {"cpu_seconds": used.cpu_seconds, "resident_mb": used.resident_bytes / 1e6}


def open_files(pid: int) -> int:
    """How many files a process has open, connections among them."""
    return int(psutil.Process(pid).num_fds())
