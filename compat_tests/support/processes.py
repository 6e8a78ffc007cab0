"""Processes that the tests start, and end by their id."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

PORTS = (15_000, 32_000)
SLOWEST = 5.0
_GIVEN: set[int] = set()
"""Ports that `free_ports` returned: a server may take seconds until it listens on its port."""
_GIVING = threading.Lock()


class Process(Protocol):
    """A started peer program with its pipes."""

    popen: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End the program at once and wait for its end."""
        ...


class LocalProcess:
    """A program on this machine."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.popen = popen

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(30)


def stop(popen: subprocess.Popen[Any], grace: float = 20) -> None:
    """Terminate a program; after ``grace`` seconds kill it."""
    if popen.poll() is None:
        popen.send_signal(signal.SIGTERM)
        try:
            popen.wait(grace)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait(30)


def start_logged(
    command: Sequence[str],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    start_new_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program with no input and both outputs appended to a log file."""
    with log.open("ab") as output:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=start_new_session,
        )


def slowness() -> float:
    """Return how many times longer work takes than on idle cores, at most `SLOWEST`; by the load average."""
    return min(SLOWEST, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def wait_until(met: Callable[[], object], timeout: float, what: str, interval: float = 0.1) -> None:
    """Wait until a condition holds; ``what`` names it in the failure.

    `timeout` is in seconds of idle cores: on a busy machine they pass more slowly.
    """
    left, before = timeout, time.monotonic()
    while not met():
        now = time.monotonic()
        left, before = left - (now - before) / slowness(), now
        if left < 0:
            raise TimeoutError(f"not within {timeout} s: {what}")
        time.sleep(interval)


def free_ports(offsets: Sequence[int] = (0,)) -> int:
    """Return a port P such that P + each offset is free on the loopback address and was never returned.

    It is outside the system's range of ephemeral ports, because a connection could take such a port first.
    """
    for _ in range(100):
        port = random.randrange(*PORTS)
        wanted = {port + offset for offset in offsets}
        with _GIVING:
            if wanted.isdisjoint(_GIVEN) and all(map(_is_free, wanted)):
                _GIVEN.update(wanted)
                return port
    raise RuntimeError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
    return True


def accepts(address: str) -> bool:
    """Return True if a process listens on ``host:port``."""
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True
