"""Metrics and health of the servers of one process, if settings ask for them; else nothing is loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
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
from mqgateway.gateway.runtime.service import Runtime

if TYPE_CHECKING:
    from mqgateway.gateway.broker.service import BrokerService
    from mqgateway.gateway.container.service import ContainerService
    from mqgateway.gateway.controller.service import ControllerService
    from mqgateway.gateway.metrics.observed import Observed
    from mqgateway.gateway.metrics.service import MetricsService
    from mqgateway.gateway.metrics.spans import MessageSpans
    from mqgateway.gateway.namesrv.service import NameServerService

log = logging.getLogger(__name__)

EVERY_ADDRESS = ("", "0.0.0.0", "::")
SERIES_OF_NAME_SERVER = 50_000
"""The most of one metric, of a controller too; for brokers this is `metricsOtelCardinalityLimit`."""


class Observation:
    """What is served of the servers of this process.

    `bound_to` is the address they listen on, `advertised` the one that a broker tells clients: as with the
    standard's, metrics are served there, but to nobody whom the server itself does not serve.
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
        """What makes spans of messages, if they are to go anywhere."""
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
        """The spans of messages, None if there is no collector for them."""
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
        """The same of a name server."""
        if self.service is not None:
            from mqgateway.gateway.metrics.observed import ObservedNameServer

            self.service.observed.append(ObservedNameServer(service, options, meters, SERIES_OF_NAME_SERVER))
        if self._exports:
            from mqgateway.gateway.metrics.rpc import RequestTimes

            service.dispatcher.time_with(RequestTimes(meters, self._clock))

    def controller(
        self, make: Callable[[Sequence[Hook]], ControllerService], options: ControllerOptions
    ) -> ControllerService:
        """A controller made with the hooks it needs, observed if anybody wants to."""
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

    def container(self, service: ContainerService) -> None:
        """The same of a container."""
        if self.service is not None:
            from mqgateway.gateway.metrics.observed import ObservedContainer

            self.service.observed.append(ObservedContainer(service))

    def start(self) -> None:
        """Serve it."""
        if self.service is not None:
            self.service.start()

    def started(self) -> None:
        """All servers can be used from now on, as far as is known."""
        observed: list[Observed] = [] if self.service is None else self.service.observed
        for one in observed:
            one.is_started = True
        if self._spans is not None:
            try:
                self._spans.start()
            except ConfigError as error:
                log.error("spans are disabled: %s", error)

    def stop(self) -> Deferred[Any]:
        """Serve nothing more; fires when that is so."""
        served = succeed(None) if self.service is None else self.service.stop()
        if self._spans is None:
            return served
        return gatherResults([served, self._spans.stop(self._reactor)])  # type: ignore[arg-type]
