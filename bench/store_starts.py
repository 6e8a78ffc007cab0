"""How long servers take to start on one store, and what memory they then have: warm, cold, after a kill.

Ours and Apache's start on the same folder in turn, as processes, from their start until they say that they
serve and take connections. After a kill means that the file `abort` is there.
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
"""Where root lets the system forget names and sizes of files too; others forget contents only."""

MAKERS: dict[str, Callable[..., servers.Part]] = {
    "ours": servers.our_broker,
    "apache": lambda *given: servers.apache_broker(*given, production=True),
}


@dataclass
class Start:
    """One start. `failure` says why there was none."""

    server: str
    what: str
    seconds: float
    resident_mb: float
    failure: str = ""


def empty_caches(folder: Path) -> None:
    """Make the next reads of a folder cold."""
    drop_from_memory(folder)
    try:
        subprocess.run(["sync", "-f", str(folder)], check=True)
        CACHES.write_text("3")
    except OSError:
        return


def start(
    server: str, what: str, folder: Path, namesrv: str, settings: Mapping[str, str], *, killed: bool = False
) -> Start:
    """Start a server on `folder`/store and stop it in good order; `what` ends in ", cold" for a cold one."""
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
    """The line of a server's output, or of the log that Apache's broker writes, that says most."""
    lines = output.splitlines()
    store_log = folder / "logs" / "rocketmqlogs" / "store.log"
    if store_log.exists():
        lines += store_log.read_text(errors="replace").splitlines()
    telling = [line.strip() for line in lines if re.search("Exception: |Error: ", line)]
    return (telling or ["nothing was said"])[-1][-100:]
