"""A container as its command runs it: with its health served, if that is asked for."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.container.service import ContainerService


class RunningContainer:
    """Both together, started and stopped as one."""

    def __init__(self, service: ContainerService, observation: Observation) -> None:
        self.service = service
        self._observation = observation
        observation.container(service)

    def start(self) -> Deferred[Any]:
        """Fires as the container's own start does."""
        self._observation.start()
        return maybeDeferred(self.service.start).addCallback(self._started)

    def _started(self, result: Any) -> Any:
        self._observation.started()
        return result

    def stop(self) -> Deferred[Any]:
        """Stop the container, then tell nobody more about it."""
        stopped = maybeDeferred(self.service.stop)
        return stopped.addBoth(lambda result: self._observation.stop().addCallback(lambda _: result))
