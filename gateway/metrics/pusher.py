"""Periodic push of metrics. They are read incrementally between requests, then sent, outside the event loop
if sending blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from mqgateway.engine.clock import Clock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.steps import Steps, run_for
from mqgateway.engine.worker import InlineWorker, Worker
from mqgateway.gateway.metrics.observed import Observed
from mqgateway.gateway.metrics.points import Deltas, Family
from mqgateway.gateway.metrics.pushing import Target, target_of
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.threads import ThreadWorker

log = logging.getLogger(__name__)

SLICE_SECONDS = 0.002
"""Maximum time that one step of reading metrics blocks the event loop."""


class Pusher:
    """Periodic push of the metrics of the `observed` servers.

    One push at a time: while a push is in progress, the next one is skipped. The first of consecutive
    failures is logged, and the next success.
    """

    def __init__(
        self, options: ExporterOptions, observed: Sequence[Observed], reactor: Reactor, clock: Clock
    ) -> None:
        self._options = options
        self._observed = observed
        self._reactor = reactor
        self._schedule = Schedule(reactor)
        self._clock = clock
        self._deltas = Deltas() if options.metrics_in_delta else None
        self._began = clock.millis()
        self._is_pushing = self._is_failing = False
        self._target: Target | None = None
        self._worker: Worker = InlineWorker()

    def start(self) -> None:
        """Start the periodic push. Settings that allow no push are logged as an error."""
        try:
            self._target = target_of(self._options)
        except ConfigError as error:
            log.error("no metrics are exported: %s", error)
            return
        if self._target.waits:
            self._worker = ThreadWorker(self._reactor, name="metrics")  # type: ignore[arg-type]
        seconds = self._options.push_millis / 1000
        self._schedule.every(seconds, seconds, self._push)

    def stop(self) -> None:
        """Stop sending; block until a push that is being sent has ended."""
        self._schedule.stop()
        if isinstance(self._worker, ThreadWorker):
            self._worker.stop()

    def _push(self) -> None:
        if not self._is_pushing:
            self._is_pushing = True
            families: list[Family] = []
            self._continue(self._read(families), families)

    def _read(self, families: list[Family]) -> Steps[None]:
        for one in self._observed:
            families += yield from one.points()

    def _continue(self, steps: Steps[None], families: list[Family]) -> None:
        try:
            is_read = run_for(steps, self._clock, SLICE_SECONDS)
        except Exception as error:
            self._sent(error)
            return
        if not is_read:
            self._schedule.later(0, self._continue, steps, families)
            return
        began, now = self._began, self._clock.millis()
        if self._deltas is not None:
            families, self._began = self._deltas.of(families), now
        assert self._target is not None
        self._worker.run(partial(self._target.send, families, began, now), self._sent)

    def _sent(self, outcome: Exception | None) -> None:
        self._is_pushing = False
        failed = isinstance(outcome, Exception)
        if failed and not self._is_failing:
            log.warning("metrics cannot be exported: %s", outcome)
        elif self._is_failing and not failed:
            log.warning("metrics are exported again")
        self._is_failing = failed
