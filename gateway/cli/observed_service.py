"""A container or controller as its command runs it: with health and metrics served, if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.gateway.cli.observing import Observation

if TYPE_CHECKING:
    from mqgateway.gateway.cli.run import Service


class ObservedService:
    """Both together, started and stopped as one."""

    def __init__(self, service: Service, observation: Observation) -> None:
        self.service = service
        self._observation = observation

    def start(self) -> Deferred[Any]:
        """Fires as the service's own start does."""
        self._observation.start()
        return maybeDeferred(self.service.start).addCallback(self._started)

    def _started(self, result: Any) -> Any:
        self._observation.started()
        return result

    def stop(self) -> Deferred[Any]:
        """Stop the service, then tell nobody more about it."""
        stopped = maybeDeferred(self.service.stop)
        return stopped.addBoth(lambda result: self._observation.stop().addCallback(lambda _: result))
