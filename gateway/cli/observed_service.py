"""A container or controller as its command runs it: with health and metrics served, if that is asked for."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.runtime.service import Runtime, Service


class ObservedService(Service):
    """Both together, started and stopped as one."""

    def __init__(self, runtime: Runtime, service: Service, observation: Observation) -> None:
        super().__init__(runtime)
        self.service = service
        self._observation = observation
        self._on_stop(observation.stop)
        self._on_stop(service.stop)

    def _begin(self) -> Deferred[None]:
        self._observation.start()
        return self.service.start().addCallback(lambda _: self._observation.started())
