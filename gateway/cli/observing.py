"""Metrics and health of the servers of one process. Nothing is loaded unless settings enable them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, gatherResults, succeed

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions, NamesrvOptions
from mqgateway.engine.options.controller import ControllerOptions
from mqgateway.engine.options.metrics import ExporterOptions, HealthOptions
from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.remoting.dispatch import Hook
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.service import Runtime

if TYPE_CHECKING:
    from mqgateway.gateway.broker.service import BrokerService
    from mqgateway.gateway.container.supervision import Supervision
    from mqgateway.gateway.controller.service import ControllerService
    from mqgateway.gateway.metrics.observed import Observed
    from mqgateway.gateway.metrics.service import MetricsService
    from mqgateway.gateway.metrics.spans import MessageSpans
    from mqgateway.gateway.namesrv.service import NameServerService

log = logging.getLogger(__name__)

EVERY_ADDRESS = ("", "0.0.0.0", "::")
SERIES_OF_NAME_SERVER = 50_000
"""Maximum series of one metric of a name server or controller; for brokers `metricsOtelCardinalityLimit`."""


class Observation:
    """Metrics, health and spans of the servers of this process.

    `bound_to` is the address they listen on, `advertised` the address that a broker reports to clients. As in
    RocketMQ, metrics are served at `advertised`. Servers bound to one address serve metrics only there: to no
    more hosts than they serve themselves.
    """

    def __init__(
        self, options: HealthOptions, runtime: Runtime, *, bound_to: str, advertised: str = ""
    ) -> None:
        self._clock = runtime.clock
        self._disk = runtime.disk
        self._exports = isinstance(options, ExporterOptions) and options.exports_metrics
        self._reactor = runtime.reactor
        self._spans: MessageSpans | None = None
        self.service: MetricsService | None = None
        if self._exports or options.health_port:
            from mqgateway.gateway.metrics.service import MetricsService

            own = "" if bound_to in EVERY_ADDRESS else bound_to
            self.service = MetricsService(
                options,
                (),
                reactor=runtime.reactor,
                clock=runtime.clock,
                host=own or advertised,
                health_host=own,
            )

    def broker_hooks(self, options: BrokerOptions) -> list[Hook]:
        """Return the hook that makes spans of messages, or nothing if no collector is set."""
        if not options.traces_grpc_exporter_target:
            return []
        from mqgateway.gateway.metrics.spans import MessageSpans

        self._spans = MessageSpans(options)
        return [self._spans]

    @property
    def exports_metrics(self) -> bool:
        """True if metrics are exported, so that requests are timed."""
        return self._exports

    @property
    def spans(self) -> MessageSpans | None:
        """Spans of messages; None if no collector is set."""
        return self._spans

    def broker(
        self,
        service: BrokerService,
        options: BrokerOptions,
        meters: Meters,
        front_ends: Sequence[FrontEnd] = FRONT_ENDS,
    ) -> None:
        """Observe a broker and its front ends."""
        if self.service is not None:
            from mqgateway.gateway.metrics.observed import ObservedBroker

            self.service.observed.append(ObservedBroker(service, options, meters, self._disk, front_ends))

    def name_server(self, service: NameServerService, options: NamesrvOptions, meters: Meters) -> None:
        """Observe a name server, and time its requests if metrics are exported."""
        if self.service is not None:
            from mqgateway.gateway.metrics.observed import ObservedNameServer

            self.service.observed.append(ObservedNameServer(service, options, meters, SERIES_OF_NAME_SERVER))
        if self._exports:
            from mqgateway.gateway.metrics.rpc import RequestTimes

            service.dispatcher.time_with(RequestTimes(meters, self._clock))

    def controller(
        self, make: Callable[[Sequence[Hook]], ControllerService], options: ControllerOptions
    ) -> ControllerService:
        """Make a controller with the hooks for its metrics. Observe it if metrics or health are served."""
        if self.service is None:
            return make(())
        from mqgateway.gateway.metrics.controller_metrics import ControllerTimes
        from mqgateway.gateway.metrics.observed import ObservedController

        times = ControllerTimes(self._clock)
        made = make([times] if self._exports else ())
        group = options.controller_d_leger_group
        observed = ObservedController(made, options, group, times, self._disk, SERIES_OF_NAME_SERVER)
        self.service.observed.append(observed)
        return made

    def fleet(self, supervision: Supervision, name: str = "container") -> None:
        """Observe the brokers that this process supervises. `name` is that of the server in the checks."""
        if self.service is not None:
            from mqgateway.gateway.metrics.observed import ObservedFleet

            self.service.observed.append(ObservedFleet(supervision, name))

    def join_scrapes(self, schedule: Schedule, ports: Callable[[], Mapping[str, int]]) -> None:
        """Add the scrapes of other processes to those of this one; `ports` returns their ports by name."""
        if self.service is not None and self._exports:
            from mqgateway.gateway.metrics.joining import JoinedScrapes

            self.service.join_with(JoinedScrapes(self._reactor, self._clock, schedule, ports).join)

    @property
    def scraped_port(self) -> int:
        """The port on which this process serves metrics; 0 if it does not."""
        return 0 if self.service is None else self.service.scraped_port

    def start(self) -> None:
        """Start to serve metrics and health."""
        if self.service is not None:
            self.service.start()

    def started(self) -> None:
        """Mark all servers as started, and start to send spans."""
        observed: list[Observed] = [] if self.service is None else self.service.observed
        for one in observed:
            one.is_started = True
        if self._spans is not None:
            try:
                self._spans.start()
            except ConfigError as error:
                log.error("spans are disabled: %s", error)

    def stop(self) -> Deferred[Any]:
        """Stop serving. The Deferred fires when everything is stopped."""
        served = succeed(None) if self.service is None else self.service.stop()
        if self._spans is None:
            return served
        return gatherResults([served, self._spans.stop(self._reactor)])  # type: ignore[arg-type]
