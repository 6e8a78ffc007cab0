"""The container as it runs: its port, its timer, its brokers. Standard: `BrokerContainer`.

It listens first, then starts the brokers of `brokerConfigPaths`, all at once; when one of them cannot be
started, the start has failed. It stops the brokers before it closes its ports. The port two below serves
the same requests, as with a broker.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from twisted.internet.defer import Deferred, FirstError
from twisted.python.failure import Failure

from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.access.server_access import ServerAccess
from mqgateway.gateway.access.server_needs import OF_CONTAINER
from mqgateway.gateway.container.children import Launch, Message
from mqgateway.gateway.container.container import Container
from mqgateway.gateway.container.requests import REQUESTS, UNSUPPORTED
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.limits import body_limits
from mqgateway.gateway.remoting.service import RemotingService
from mqgateway.gateway.runtime.schedule import ScheduledCall
from mqgateway.gateway.runtime.service import Runtime

log = logging.getLogger(__name__)

FAST_PORT_DISTANCE = 2
SAVE_INTERVAL = 10.0
"""Seconds between two times that tables of users that lack changes may be written."""


class ContainerService(RemotingService):
    """A container on its two ports; see `Container` for the arguments. Raises `ConfigError`."""

    def __init__(
        self,
        settings: OptionSet,
        runtime: Runtime,
        *,
        launch: Launch,
        default_name: str,
        configuration_path: str = "",
        logs: Message | None = None,
    ) -> None:
        super().__init__(runtime, settings.part(RemotingOptions), settings.part(TlsOptions))
        self._options = options = settings.part(ContainerOptions)
        self._next: ScheduledCall | None = None
        self.port = 0
        """The main port in use, once this has started."""
        self._access = ServerAccess(
            options,
            OF_CONTAINER,
            disk=runtime.disk,
            folder=os.path.dirname(configuration_path) or os.path.join(os.path.expanduser("~"), "container"),
            clock=runtime.clock,
            worker=None,
            pause=self._schedule.pause,
        )
        self._on_close(self._access.close)
        self.container = Container(
            options,
            settings,
            clock=runtime.clock,
            disk=runtime.disk,
            launch=launch,
            default_name=default_name,
            configuration_path=configuration_path,
            logs=logs,
            when_due_changes=self._set_timer,
            access=self._access.administration,
        )
        table = self._access.requests(REQUESTS)
        dispatcher = Dispatcher(
            self.container,
            table,
            UNSUPPORTED,
            clock=runtime.clock,
            hooks=self._access.hooks,
            limits=body_limits(table, self._remoting, {}),
        )
        self._server = self._make_server(dispatcher)
        self._on_stop(self.container.stop)

    def brokers(self) -> dict[str, str]:
        """Return the brokers and where clients reach them."""
        charges = self.container.supervision
        return {charge.plan.identity.canonical_name: charge.address for charge in charges}

    def _begin(self) -> Deferred[Any]:
        """Listen and start the brokers that are listed; fires when all of them serve clients.

        Fails with `CannotListenError`, or with `NotStarted` when no process of a broker is left.
        """
        bind, port = self._remoting.bind_address, self._remoting.listen_port
        self.port = self._server.listen(bind, port).getHost().port
        if port > FAST_PORT_DISTANCE:
            self._server.listen(bind, port - FAST_PORT_DISTANCE)
        self._schedule.every(SAVE_INTERVAL, SAVE_INTERVAL, self._access.retry)
        log.info("the container listens on %s:%d", bind, self.port)
        paths = [path for path in self._options.broker_config_paths.split(":") if path.strip()]
        return self.container.add_all([path.strip() for path in paths]).addErrback(_cause)

    def _set_timer(self) -> None:
        wait = self.container.supervision.wait()
        if self._next is not None:
            self._next.cancel()
        self._next = None if wait is None else self._schedule.later(wait, self.container.tick)


def _cause(failure: Failure) -> Failure:
    """Return why the first broker that cannot be started cannot be."""
    failure.trap(FirstError)  # type: ignore[no-untyped-call]
    assert isinstance(failure.value, FirstError)
    return failure.value.subFailure
