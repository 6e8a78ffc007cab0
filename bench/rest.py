"""Resource use of an idle server: alone, with parked consumers, with idle connections."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from bench.measure import usage
from bench.report import Sample
from bench.rows import Row
from compat_tests.support.servers import Server

START_SETTLES_SECONDS = 15
"""Apache's broker keeps a core busy for ten seconds after its start."""
CLIENTS_SETTLE_SECONDS = 10


def watch_at_rest(row: Row, server: Server, *, counts: bool) -> Sample:
    """Measure CPU in percent of a core over `row.amount` seconds, and memory at their end.

    The run that does not count only waits until the server has settled after its start.
    """
    if not counts:
        time.sleep(START_SETTLES_SECONDS)
        return Sample()
    if row.work == "rest":
        return _watch(row, server)
    with idle_clients(row.work.removeprefix("idle-"), row.threads, server) as clients:
        time.sleep(CLIENTS_SETTLE_SECONDS)
        sample = _watch(row, server)
        still = clients.count()
    return Sample(cpu_percent=sample.cpu_percent, resident_mb=sample.resident_mb, failed=row.threads - still)


def _watch(row: Row, server: Server) -> Sample:
    before, began = usage(server.pids), time.monotonic()
    time.sleep(row.amount)
    after, took = usage(server.pids), time.monotonic() - began
    used = after.cpu_seconds - before.cpu_seconds
    return Sample(cpu_percent=used / took * 100, resident_mb=after.resident_bytes / 1e6)


class Reachable(Protocol):
    """A name server and a broker, by their addresses."""

    @property
    def namesrv_address(self) -> str: ...

    @property
    def broker_address(self) -> str: ...


class Clients:
    """Idle clients in their own process; see `bench.idle`."""

    def __init__(self, process: "subprocess.Popen[str]", said: list[str]) -> None:
        self._process = process
        self._said = said

    def count(self) -> int:
        """Return the number of clients that the server still serves."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.answer("served")

    def answer(self, name: str) -> int:
        """Return the next number reported under `name`. Raises `RuntimeError` if the process has ended."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.append(line)
            if line.startswith("{") and name in (figures := json.loads(line)):
                return int(figures[name])
        raise RuntimeError(f"the idle clients ended:\n{''.join(self._said[-20:])}")


@contextmanager
def idle_clients(what: str, count: int, server: Reachable) -> Iterator[Clients]:
    """Open `count` clients (`what` is `consumers` or `connections`), which stay until the context ends."""
    command = [sys.executable, "-m", "bench.idle", what, str(count)]
    command += [server.namesrv_address, server.broker_address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        clients = Clients(process, [])
        try:
            clients.answer("ready")
            yield clients
        finally:
            process.kill()
