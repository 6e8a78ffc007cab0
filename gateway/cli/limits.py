"""Limits of the machine that are too low for a server, and how to raise them.

Only this process's own limit of open files is changed, up to its hard limit, as Java does. Limits that matter
to Apache's broker only are not checked: it maps its files (`vm.max_map_count`), this one reads and writes
them. The number of cores that a process may use is a limit too. Source of the settings: RocketMQ's `os.sh`.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator

from mqgateway.gateway.remoting.transport import spare_files

SWAPPINESS = 10
"""Highest accepted `vm.swappiness`: above it the kernel swaps an idle process out for its file cache."""

CONTROL_GROUPS = "/sys/fs/cgroup"

Read = Callable[[str], str]
"""Reader of a file of `/proc`; returns its text. Raises `OSError`."""


def read_kernel(path: str) -> str:
    """Return the text of a small file of the kernel. Raises `OSError`."""
    with open(path, encoding="ascii", errors="replace") as text:
        return text.read()


def usable_cores(read: Read = read_kernel) -> int:
    """Return the number of cores that this process may use: those it is bound to, within the quotas of CPU
    time of its control groups. At least 1."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *_quotas(read)]))


def _quotas(read: Read) -> Iterator[int]:
    """Yield the whole cores of the quotas of the process's control group, and of the highest one it sees."""
    for path in ("", _control_group(read)):
        try:
            granted, period = read(f"{CONTROL_GROUPS}{path}/cpu.max").split()
            yield int(granted) // int(period)
        except (OSError, ValueError, ZeroDivisionError):  # no such group, or "max"
            continue


def _control_group(read: Read) -> str:
    """Return the path of the process's control group; empty if it is unknown."""
    try:
        lines = read("/proc/self/cgroup").splitlines()
    except OSError:
        return ""
    return next((line.removeprefix("0::").rstrip("/") for line in lines if line.startswith("0::")), "")


def lacking_memory(read: Read = read_kernel) -> str:
    """Return why another process like this one does not fit into memory, "" if it does or is not known.

    What is available is that of the machine, or the rest of the limit of this process's control group, whose
    cached files do not count. A broker needs at least what this process uses.
    """
    group = f"{CONTROL_GROUPS}{_control_group(read)}"
    used = _figure(read, "/proc/self/status", "VmRSS:")
    free = _figure(read, "/proc/meminfo", "MemAvailable:")
    if used is None or free is None:
        return ""
    limit, taken = _number(read, f"{group}/memory.max"), _figure(read, f"{group}/memory.stat", "anon")
    if limit is not None and taken is not None:
        free = min(free, (limit - taken) // 1024)
    if free >= used:
        return ""
    return f"it needs {used // 1024} MiB of memory at least, and {max(0, free) // 1024} MiB are available"


def _figure(read: Read, path: str, name: str) -> int | None:
    """Return the number after `name` in a file with lines such as `VmRSS:  1234 kB`, without its unit."""
    try:
        lines = [line.split() for line in read(path).splitlines()]
        return next((int(words[1]) for words in lines if words[:1] == [name]), None)
    except (OSError, ValueError, IndexError):
        return None


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
