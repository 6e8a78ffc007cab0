"""What the server costs when nobody uses it, measured by the operating system."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from compat_tests.support.servers import Server

pytestmark = pytest.mark.alone

READY_SECONDS = 1.0
OF_LIBRARIES = 4
"""So many times what the libraries alone take may be needed where that is more than a second."""
RESIDENT_BYTES = 80e6
CPU_SHARE = 0.005
REST_SECONDS = 20
STARTS = 8


def test_ready_in_under_a_second(work: Path) -> None:
    """From the start of the process to the first client, by the server's own clock; the best of some starts.

    The best, because other processes of a loaded machine add to each; the first start compiles the modules.
    """
    with Server("ours", work) as server:
        for _ in range(STARTS - 1):
            server.restart()
        said = (server.folder / "serve.log").read_text()
    seconds = [float(text) for text in re.findall(r"ready in ([\d.]+) s", said)]
    assert len(seconds) == STARTS
    assert min(seconds) < max(READY_SECONDS, OF_LIBRARIES * seconds_of_libraries())


def seconds_of_libraries() -> float:
    """How long this machine takes at the moment to start Python with the libraries that every start loads."""
    program = "import OpenSSL.SSL, cryptography.x509, click, orjson, twisted.internet.endpoints"
    times = []
    for _ in range(STARTS):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        times.append(time.monotonic() - began)
    return min(times)


def test_at_rest(work: Path) -> None:
    """Name server and broker together: memory, and the share of one core."""
    with Server("ours", work) as server:
        (pid,) = server.pids
        process = psutil.Process(pid)
        time.sleep(2)
        before, began = sum(process.cpu_times()[:2]), time.monotonic()
        time.sleep(REST_SECONDS)
        share = (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began)
        assert share < CPU_SHARE
        assert process.memory_info().rss < RESIDENT_BYTES
        assert not process.children()


def test_a_stop_by_signal_is_clean(work: Path) -> None:
    """It ends long before a stop is cut short, and the next start finds a clean store."""
    with Server("ours", work) as server:
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 5
        assert not (server.store_dir / "abort").exists()
        server.start()
        said = (server.folder / "serve.log").read_text()
    assert said.count("is open after an orderly stop") == 2
