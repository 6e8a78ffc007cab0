"""One scrape of several processes: this one, and those that serve their metrics on loopback."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, run_for
from mqgateway.gateway.metrics.fetching import FetchError, fetch
from mqgateway.gateway.metrics.merging import merged
from mqgateway.gateway.metrics.pusher import SLICE_SECONDS
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
FETCH_SECONDS = 10.0
"""Time after which a process is left out of a scrape; Prometheus waits as long by default."""


class JoinedScrapes:
    """Scrapes of this process joined with those of others; `ports` returns the ports of those by name.

    A process that does not answer is left out of the scrape and named in the log.
    """

    def __init__(
        self, reactor: Reactor, clock: Clock, schedule: Schedule, ports: Callable[[], Mapping[str, int]]
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._schedule = schedule
        self._ports = ports

    def join(self, metrics: str, text: list[bytes]) -> Deferred[list[bytes]]:
        """Return a Deferred of the text of a set of metrics of all processes; `text` is that of this one."""
        own = "", b"".join(text)
        fetched = gatherResults(
            [self._fetch(name, port, metrics) for name, port in sorted(self._ports().items())]
        )
        return fetched.addCallback(lambda pages: self._merge([own, *filter(None, pages)]))

    def _fetch(self, name: str, port: int, metrics: str) -> Deferred[tuple[str, bytes] | None]:
        def failed(failure: Failure) -> None:
            failure.trap(FetchError)  # type: ignore[no-untyped-call]
            log.warning("the metrics of %s are not in this scrape: %s", name, failure.value)

        fetched = fetch(self._reactor, self._schedule, HOST, port, f"/metrics?set={metrics}", FETCH_SECONDS)
        return fetched.addCallbacks(lambda page: (name, page), failed)

    def _merge(self, scrapes: list[tuple[str, bytes]]) -> Deferred[list[bytes]]:
        joined: Deferred[list[bytes]] = Deferred()

        def steps() -> Steps[None]:
            joined.callback((yield from merged(scrapes)))

        self._continue(steps())
        return joined

    def _continue(self, steps: Steps[None]) -> None:
        if not run_for(steps, self._clock, SLICE_SECONDS):
            self._schedule.later(0, self._continue, steps)
