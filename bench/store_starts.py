"""Start time and memory of servers on one store: warm, cold, after a kill.

Ours and Apache's start in turn on the same folder, and are timed until they report readiness and
accept connections. After a kill means that the file `abort` exists.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.store_stalls import drop_from_memory
from compat_tests.support import servers
from compat_tests.support.processes import free_ports

START_SECONDS_MAX = 600.0
CACHES = Path("/proc/sys/vm/drop_caches")
"""File by which root drops the kernel's caches of names and sizes too; other users drop contents only."""

MAKERS: dict[str, Callable[..., servers.Part]] = {
    "ours": servers.our_broker,
    "apache": lambda *given: servers.apache_broker(*given, production=True),
}


@dataclass
class Start:
    """One start. `failure` is the reason if it failed."""

    server: str
    what: str
    seconds: float
    resident_mb: float
    failure: str = ""


def empty_caches(folder: Path) -> None:
    """Make the next reads of a folder cold, as far as this user may."""
    drop_from_memory(folder)
    try:
        subprocess.run(["sync", "-f", str(folder)], check=True)
        CACHES.write_text("3")
    except OSError:
        return


def start(
    server: str, what: str, folder: Path, namesrv: str, settings: Mapping[str, str], *, killed: bool = False
) -> Start:
    """Start a server on `folder`/store and stop it cleanly; `what` ends in ", cold" for a cold start."""
    servers.START_SECONDS = int(START_SECONDS_MAX)
    if killed:
        (folder / "store" / "abort").write_text("1")
    if what.endswith(", cold"):
        empty_caches(folder / "store")
    part = MAKERS[server](folder, free_ports((-2, 0, 1)), namesrv, settings)
    began = time.monotonic()
    try:
        part.start()
    except RuntimeError as failure:
        return Start(server, what, time.monotonic() - began, 0.0, _reason(folder, str(failure)))
    seconds = time.monotonic() - began
    resident = psutil.Process(part.pid).memory_info().rss / 1e6
    part.stop()
    return Start(server, what, seconds, resident)


def _reason(folder: Path, output: str) -> str:
    """Return the last error line of a server's output or of the store log of Apache's broker."""
    lines = output.splitlines()
    store_log = folder / "logs" / "rocketmqlogs" / "store.log"
    if store_log.exists():
        lines += store_log.read_text(errors="replace").splitlines()
    errors = [line.strip() for line in lines if re.search("Exception: |Error: ", line)]
    return (errors or ["nothing was said"])[-1][-100:]
