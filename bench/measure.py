"""CPU time and memory of a server's processes, taken from the operating system."""

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from mqgateway.gateway.remoting import protocol


@dataclass(frozen=True)
class Usage:
    """CPU seconds used so far and resident bytes now, of all processes of one server together."""

    cpu_seconds: float
    resident_bytes: int


def usage(pids: Sequence[int]) -> Usage:
    """What the given processes have used."""
    cpu, resident = 0.0, 0
    for pid in pids:
        process = psutil.Process(pid)
        times = process.cpu_times()
        cpu += times.user + times.system
        resident += process.memory_info().rss
    return Usage(cpu, resident)


@contextmanager
def suspended(pids: Sequence[int]) -> Iterator[None]:
    """Keep processes from running meanwhile: a JVM at rest takes a tenth of a core."""
    for pid in pids:
        psutil.Process(pid).suspend()
    try:
        yield
    finally:
        for pid in pids:
            psutil.Process(pid).resume()


def is_compiled() -> bool:
    """Whether the modules on the hot roads are compiled; see `scripts/compile`."""
    return not protocol.__file__.endswith(".py")


def machine() -> str:
    """The machine in one line: cores, memory, processor, Python."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    version = platform.python_version()
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores ({model}), {memory:.0f} GiB of memory, Python {version}"
