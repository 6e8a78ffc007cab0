"""The cost of monitoring for a broker in this process, from bytes to bytes; see `bench.micro`.

Measured are a scrape of its metrics, and the requests of the console's overview page: the figures every 2 s,
the overview every 10 s, the chart of an hour every 30 s.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.in_process import Server
from bench.steps import Work
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.meters import Meters
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.metrics.observed import ObservedBroker
from mqgateway.gateway.metrics.service import MetricsService
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.rings import KEPT, STEP_SECONDS
from mqgateway.gateway.web.service import ConsoleService

CONSOLE_PORT = 8088
TURNS_MAX = 1000
"""Turns of the loop within which a response has to begin, which may be built incrementally."""


class Looker:
    """One HTTP connection to a server in this process."""

    def __init__(self, server: Server, port: int) -> None:
        self._reactor = server.reactor
        self._connection, self._transport = server.connect(port)
        self._host = f"127.0.0.1:{port}"
        self.cookie = ""

    def ask(self, path: str, body: str = "") -> bytes:
        """Request `path` and return the whole response. Raises `RuntimeError` unless its status is 200."""
        method = "POST" if body else "GET"
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}", f"Content-Length: {len(body)}"]
        lines += ["Content-Type: application/json"] if body else []
        lines += [f"Cookie: {self.cookie}"] if self.cookie else []
        self._transport.clear()
        self._connection.dataReceived("\r\n".join((*lines, "", body)).encode())
        for _ in range(TURNS_MAX):
            if self._transport.value():
                break
            self._reactor.advance(0)
        answer: bytes = self._transport.value()
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{path} was answered {answer[:200]!r}")
        return answer


def looks_work(folder: Path) -> list[Work]:
    """The monitoring requests to a broker with one topic, whose charts have 24 hours."""
    server, clock = Server(folder / "looked-at", counts=True), SystemClock()
    options = server.service.broker.options
    observed = ObservedBroker(
        server.service, options, Meters(options.metrics_otel_cardinality_limit), RealDisk()
    )
    observed.is_started = True
    MetricsService(options, [observed], reactor=server.reactor, clock=clock).start()
    options.console_port = CONSOLE_PORT
    console = ConsoleService(
        server.service.operations, server.service.server, reactor=server.reactor, clock=clock
    )
    console.start()
    fill(console.console)
    scraper = Looker(server, options.metrics_prom_exporter_port)
    page = logged_in(Looker(server, CONSOLE_PORT), console.url)
    looks: dict[str, Callable[[], Any]] = {
        "a scrape": partial(scraper.ask, "/metrics"),
        "the overview": partial(page.ask, "/api/v1/overview"),
        "its chart of an hour": partial(page.ask, "/api/v1/series?minutes=60"),
        "its figures": lambda: console.console.figures(console.console.counts()),
    }
    return [Work(name, 1, look) for name, look in looks.items()]


def fill(console: Console) -> None:
    """Fill the console's charts with samples."""
    now, figures = time.time(), console.figures(console.counts())
    for number in range(KEPT, 0, -1):
        console.rings.add(now - number * STEP_SECONDS, figures)


def logged_in(looker: Looker, url: str) -> Looker:
    """Log `looker` in with the link that the console prints, and return it."""
    answer = looker.ask("/api/v1/session", json.dumps({"token": url.partition("#token=")[2]}))
    found = re.search(rb"Set-Cookie: ([^;]+)", answer)
    assert found is not None, "nobody was let in"
    looker.cookie = found[1].decode()
    return looker
