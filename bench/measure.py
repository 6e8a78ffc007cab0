"""CPU time and memory of a server's processes; date, commit, form and machine of a measurement."""

import datetime
import platform
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from mqgateway.gateway.remoting import protocol

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Usage:
    """CPU seconds used so far and resident bytes now: the sums over all processes of one server."""

    cpu_seconds: float
    resident_bytes: int


def usage(pids: Sequence[int]) -> Usage:
    """Return the CPU time and memory of the given processes."""
    cpu, resident = 0.0, 0
    for pid in pids:
        process = psutil.Process(pid)
        times = process.cpu_times()
        cpu += times.user + times.system
        resident += process.memory_info().rss
    return Usage(cpu, resident)


@contextmanager
def suspended(pids: Sequence[int]) -> Iterator[None]:
    """Suspend processes within this context: an idle JVM takes a tenth of a core."""
    for pid in pids:
        psutil.Process(pid).suspend()
    try:
        yield
    finally:
        for pid in pids:
            psutil.Process(pid).resume()


def is_compiled() -> bool:
    """Return True if the modules of the hot paths are compiled; see `scripts/compile`."""
    return not protocol.__file__.endswith(".py")


def machine() -> str:
    """Describe the machine in one line: cores, processor, memory, Python."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    version = platform.python_version()
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores ({model}), {memory:.0f} GiB of memory, Python {version}"


def commit() -> str:
    """Return the short name of the commit that is checked out; a dash outside of a clone."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "-"


def today() -> str:
    """Return the date of today, in ISO's form."""
    return datetime.date.today().isoformat()


def form() -> str:
    """Return the form of the product that is measured."""
    return "compiled" if is_compiled() else "plain Python"


def measured_on() -> str:
    """Return the date, the commit, the form and the machine, as sections of the page begin."""
    return f"Measured on {today()}, {commit()} ({form()}): {machine()}."
