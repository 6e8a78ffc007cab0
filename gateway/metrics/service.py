"""Service of metrics and health: ports, and scrapes as cooperative tasks.

A scrape runs in steps of a few milliseconds. Requests for the same set that arrive meanwhile get the same
text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, gatherResults, maybeDeferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.clock import Clock
from mqgateway.engine.meters import Histogram
from mqgateway.engine.options.metrics import ExporterOptions, HealthOptions
from mqgateway.engine.steps import Steps, run_for
from mqgateway.gateway.broker.admin.health import Health
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS
from mqgateway.gateway.metrics.exposition import Exposition
from mqgateway.gateway.metrics.observed import STANDARD, Observed, labels_for_all
from mqgateway.gateway.metrics.own_metrics import LOOP_LAG_BOUNDS, SERVER_METRICS, ServerReading
from mqgateway.gateway.metrics.pusher import SLICE_SECONDS, Pusher
from mqgateway.gateway.metrics.site import Pages, Scrape
from mqgateway.gateway.runtime.http import LimitedSite
from mqgateway.gateway.runtime.loop import ListeningPort, Reactor
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

LAG_SECONDS = 0.5
BACKLOG = 50
EVERYWHERE = "0.0.0.0"
TARGET_INFO = b"# TYPE target_info gauge\ntarget_info 1\n"
"""Metric that RocketMQ's exporter always has, without any label."""

Join = Callable[[str, list[bytes]], Deferred[list[bytes]]]
"""Function that makes one scrape of a set of metrics of this process and those of others."""


class MetricsService:
    """Metrics and health of the `observed` servers, all in this process. Inactive before `start`.

    `host` is the default host for metrics, `health_host` that for health; the options override both. If a
    port cannot be bound, an error is logged and the start continues: the observed servers matter more.
    `ports` are those in use.
    """

    def __init__(
        self,
        options: HealthOptions,
        observed: Sequence[Observed],
        *,
        reactor: Reactor,
        clock: Clock,
        host: str = "",
        health_host: str = "",
    ) -> None:
        self._options = options
        self._exporter = exporter = options if isinstance(options, ExporterOptions) else None
        self._exposition: Exposition | None = None
        if exporter is not None:
            self._exposition = Exposition(labels_for_all(exporter), len(BROKER_METRICS))
        self.observed = list(observed)
        self._reactor = reactor
        self._schedule = Schedule(reactor)
        self._clock = clock
        self._host = host
        self._health_host = health_host
        self.ports: list[ListeningPort] = []
        self.scraped_port = 0
        """The port on which metrics are served; 0 if they are not."""
        self._pusher: Pusher | None = None
        self._in_progress: dict[str, list[Deferred[list[bytes]]]] = {}
        self.loop_lag = Histogram(LOOP_LAG_BOUNDS, 1)
        self._join: Join | None = None

    @property
    def exports_metrics(self) -> bool:
        """True if metrics are exported, by a scrape or a push."""
        return self._exporter is not None and self._exporter.exports_metrics

    def join_with(self, join: Join) -> None:
        """Add the scrapes of other processes by `join`; else only servers of this process are scraped."""
        self._join = join

    def start(self) -> None:
        """Listen on the ports that the options name, or start to push metrics."""
        options, exporter = self._options, self._exporter
        if exporter is not None and exporter.is_scraped:
            host = exporter.metrics_prom_exporter_host or self._host or EVERYWHERE
            self._listen(host, exporter.metrics_prom_exporter_port, self._scrape_all)
        elif exporter is not None and exporter.exports_metrics:
            self._pusher = Pusher(exporter, self.observed, self._reactor, self._clock)
            self._pusher.start()
        if self.exports_metrics:
            self._ask_the_loop()
        if options.health_port:
            self._listen(options.health_host or self._health_host or EVERYWHERE, options.health_port, None)

    def _listen(self, host: str, port: int, scrape: Scrape | None) -> None:
        what = "health" if scrape is None else "metrics"
        try:
            site = LimitedSite(Pages(self.health, scrape))
            listening = self._reactor.listenTCP(port, site, BACKLOG, host)
        except CannotListenError as error:
            log.error("%s cannot be served: %s", what, error)
        else:
            self.ports.append(listening)
            if scrape is not None:
                self.scraped_port = listening.getHost().port
            log.info("%s is served at http://%s:%d/", what, host, listening.getHost().port)

    def stop(self) -> Deferred[Any]:
        """Close the ports; the Deferred fires once they are closed."""
        self._schedule.stop()
        if self._pusher is not None:
            self._pusher.stop()
        ports, self.ports = self.ports, []
        return gatherResults([maybeDeferred(port.stopListening) for port in ports])

    def health(self) -> dict[str, Health]:
        """Return the checks of each server by its name."""
        return {one.name: one.health() for one in self.observed}

    def scrape(self, metrics: str) -> Deferred[list[bytes]]:
        """Return a Deferred of the text of a set of metrics of all servers."""
        waiting: Deferred[list[bytes]] = Deferred()
        others = self._in_progress.get(metrics)
        if others is not None:
            others.append(waiting)
            return waiting
        self._in_progress[metrics] = [waiting]
        self._continue(metrics, self._read(metrics))
        return waiting

    def _scrape_all(self, metrics: str) -> Deferred[list[bytes]]:
        """Return a Deferred of the text of this process, joined with that of others if there are any."""
        own, join = self.scrape(metrics), self._join
        return own if join is None else own.addCallback(lambda text: join(metrics, text))

    def _read(self, metrics: str) -> Steps[None]:
        text: list[bytes] = []
        truncated: list[str] = []
        for one in self.observed:
            yield from one.write(metrics, text, truncated)
        if metrics == STANDARD and self._exposition is not None:
            reading = ServerReading(self.loop_lag, truncated)
            yield from self._exposition.write(SERVER_METRICS, reading, text, [])
            text.append(TARGET_INFO)
        self._answer(metrics, text)

    def _continue(self, metrics: str, steps: Steps[None]) -> None:
        try:
            is_done = run_for(steps, self._clock, SLICE_SECONDS)
        except Exception as error:
            self._answer(metrics, error)
        else:
            if not is_done:
                self._schedule.later(0, self._continue, metrics, steps)

    def _answer(self, metrics: str, outcome: list[bytes] | Exception) -> None:
        for waiting in self._in_progress.pop(metrics, ()):
            if isinstance(outcome, list):
                waiting.callback(outcome)
            else:
                waiting.errback(outcome)

    def _ask_the_loop(self) -> None:
        asked = self._clock.monotonic()

        def answered() -> None:
            late = self._clock.monotonic() - asked - LAG_SECONDS
            self.loop_lag.record((), max(0, int(late * 1000)))
            self._ask_the_loop()

        self._schedule.later(LAG_SECONDS, answered)
