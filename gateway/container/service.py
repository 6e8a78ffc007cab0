"""The container as it runs: its port, its timer, its brokers. Standard: `BrokerContainer`.

It listens first, then starts the brokers of `brokerConfigPaths`, all at once; when one of them cannot be
started, the start has failed. The port two below serves the same requests, as with a broker.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from twisted.internet.defer import Deferred, FirstError, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import OptionSet, RemotingOptions, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.access import requests as access_requests
from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.changes import audited
from mqgateway.gateway.access.control import control_of_server
from mqgateway.gateway.access.server_needs import ALL_CLUSTERS, OF_CONTAINER
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.container.children import Launch, Message
from mqgateway.gateway.container.container import Container
from mqgateway.gateway.container.requests import REQUESTS, UNSUPPORTED
from mqgateway.gateway.remoting.dispatch import Dispatcher, LongRequestFunction, RequestFunction
from mqgateway.gateway.remoting.limits import body_limits
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.tls import ServerTls
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Call, Schedule

log = logging.getLogger(__name__)

FAST_PORT_DISTANCE = 2
SAVE_INTERVAL = 10.0
"""Seconds between two times that tables of users that lack changes may be written."""


class ContainerService:
    """A container on its two ports. Nothing happens before `start`; see `Container` for the arguments."""

    def __init__(
        self,
        options: ContainerOptions,
        remoting: RemotingOptions,
        tls: TlsOptions,
        *,
        reactor: Reactor,
        clock: Clock,
        disk: Disk,
        launch: Launch,
        default_name: str,
        configuration_path: str = "",
        logs: Message | None = None,
        settings: OptionSet | None = None,
    ) -> None:
        self._options = options
        self._remoting = remoting
        self._schedule = Schedule(reactor)
        self._next: Call | None = None
        self.port = 0
        self.container = Container(
            options,
            OptionSet(options, remoting, tls) if settings is None else settings,
            clock=clock,
            disk=disk,
            launch=launch,
            default_name=default_name,
            configuration_path=configuration_path,
            logs=logs,
            when_due_changes=self._set_timer,
        )
        self._access = control_of_server(
            AccessSettings.of(options, disk, ALL_CLUSTERS),
            options,
            OF_CONTAINER,
            disk=disk,
            folder=os.path.dirname(configuration_path) or os.path.join(os.path.expanduser("~"), "container"),
            clock=clock,
            worker=None,
            pause=self._schedule.pause,
        )
        served: dict[int, RequestFunction | LongRequestFunction] = {**REQUESTS}
        hooks = []
        if self._access is not None:
            self.container.access = self._access.administration
            served |= access_requests.REQUESTS
            hooks.append(self._access)
        limits = body_limits(served, remoting, {})
        told = audited(served, Audit(options.audit_log_format))
        dispatcher = Dispatcher(self.container, told, UNSUPPORTED, clock=clock, hooks=hooks, limits=limits)
        self._server = RemotingServer(reactor, dispatcher, remoting, tls=ServerTls(tls, disk))

    def start(self) -> Deferred[Any]:
        """Listen and start the brokers that are listed; fires when all of them serve clients.

        Fails with `CannotListenError`, or with `NotStarted` when no process of a broker is left.
        """
        return maybeDeferred(self._start)

    def brokers(self) -> dict[str, str]:
        """The brokers and where clients reach them."""
        charges = self.container.supervision
        return {charge.plan.identity.canonical_name: charge.address for charge in charges}

    def stop(self) -> Deferred[Any]:
        """Stop all brokers in good order, then close the ports. Fires when no process is left."""
        stopped = self.container.stop()
        return stopped.addCallback(lambda _: self._close())

    def _start(self) -> Deferred[Any]:
        bind, port = self._remoting.bind_address, self._remoting.listen_port
        self.port = self._server.listen(bind, port).getHost().port
        if port > FAST_PORT_DISTANCE:
            self._server.listen(bind, port - FAST_PORT_DISTANCE)
        if self._access is not None:
            self._schedule.every(SAVE_INTERVAL, SAVE_INTERVAL, self._access.retry)
        log.info("the container listens on %s:%d", bind, self.port)
        paths = [path for path in self._options.broker_config_paths.split(":") if path.strip()]
        return self.container.add_all([path.strip() for path in paths]).addErrback(self._failed)

    def _failed(self, failure: Failure) -> Deferred[Any]:
        failure.trap(FirstError)  # type: ignore[no-untyped-call]
        assert isinstance(failure.value, FirstError)
        cause = failure.value.subFailure
        return self.stop().addCallback(lambda _: cause)

    def _close(self) -> Deferred[None]:
        self._schedule.stop()
        if self._access is not None:
            self._access.close()
        return self._server.stop()

    def _set_timer(self) -> None:
        wait = self.container.supervision.wait()
        if self._next is not None:
            self._next.cancel()
        self._next = None if wait is None else self._schedule.later(wait, self.container.tick)
