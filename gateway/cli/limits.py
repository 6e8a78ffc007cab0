"""What the machine allows a server, and what to change where that is too little. Nothing is changed but this
process's own limit of open files, up to what it may have, as Java does.

What matters to Apache's broker only is not looked at: it maps its files (`vm.max_map_count`), this one reads
and writes them. Source of the settings: the standard's `os.sh`.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

from mqgateway.gateway.remoting.transport import spare_files

SWAPPINESS = 10
"""Above this the kernel likes to swap a quiet process out for the sake of file contents that it caches."""

Read = Callable[[str], str]
"""Gives the text of a file of `/proc`. Raises `OSError`."""


def read_kernel(path: str) -> str:
    """The text of a small file that the kernel makes."""
    with open(path, encoding="ascii", errors="replace") as text:
        return text.read()


def raise_open_files() -> int:
    """Let this process have as many files open as it may; gives how many. -1: no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass  # the old one counts, and is told of where it is too low
    return soft


def advice(open_files: int, connections: int, backlog: int, read: Read) -> Iterator[str]:
    """What should be changed on this machine for a server of so many connections, each with how."""
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
