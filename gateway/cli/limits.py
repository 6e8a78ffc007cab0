"""Limits of the machine that are too low for a server, and how to raise them.

Only this process's own limit of open files is changed, up to its hard limit, as Java does. Limits that matter
to Apache's broker only are not checked: it maps its files (`vm.max_map_count`), this one reads and writes
them. Source of the settings: RocketMQ's `os.sh`.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

from mqgateway.gateway.remoting.transport import spare_files

SWAPPINESS = 10
"""Highest accepted `vm.swappiness`: above it the kernel swaps an idle process out for its file cache."""

Read = Callable[[str], str]
"""Reader of a file of `/proc`; returns its text. Raises `OSError`."""


def read_kernel(path: str) -> str:
    """Return the text of a small file of the kernel. Raises `OSError`."""
    with open(path, encoding="ascii", errors="replace") as text:
        return text.read()


def raise_open_files() -> int:
    """Raise the limit of open files of this process to its hard limit. Return it; -1: no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass  # the old limit applies; `advice` reports it if it is too low
    return soft


def advice(open_files: int, connections: int, backlog: int, read: Read) -> Iterator[str]:
    """Yield the limits of this machine that are too low for the server, each with the command to raise it.

    `open_files` is the process's limit (-1: none), `connections` and `backlog` are the server's settings.
    """
    if 0 <= open_files < connections + spare_files(open_files):
        yield (
            f"{open_files} open files are allowed, which leaves {open_files - spare_files(open_files)} for "
            f"connections, and maxConnections={connections}: "
            "set LimitNOFILE= of its unit, or `ulimit -n` (/etc/security/limits.conf)"
        )
    waiting = _number(read, "/proc/sys/net/core/somaxconn")
    if waiting is not None and waiting < backlog:
        yield (
            f"net.core.somaxconn={waiting} is less than serverSocketBacklog={backlog}: "
            f"sysctl -w net.core.somaxconn={backlog}"
        )
    swappiness = _number(read, "/proc/sys/vm/swappiness")
    if swappiness is not None and swappiness > SWAPPINESS and _has_swap(read):
        yield (
            f"vm.swappiness={swappiness}: a broker that is swapped out responds slowly; "
            f"sysctl -w vm.swappiness={SWAPPINESS}"
        )


def _number(read: Read, path: str) -> int | None:
    try:
        return int(read(path))
    except (OSError, ValueError):
        return None


def _has_swap(read: Read) -> bool:
    try:
        return len(read("/proc/swaps").splitlines()) > 1
    except OSError:
        return False
