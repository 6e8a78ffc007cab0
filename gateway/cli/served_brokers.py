"""Several brokers of one cluster under one command, each in a process of its own (`served_broker`).

This process has the name server, health and metrics of all, and supervises the brokers. It stores and
delivers no messages.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.errors import ConfigError, EngineError
from mqgateway.engine.meters import Meters
from mqgateway.engine.options.container import SupervisionOptions
from mqgateway.gateway.cli.boot import BootLine, name_server_boot_line
from mqgateway.gateway.cli.limits import lacking_memory, raise_open_files
from mqgateway.gateway.cli.numbering import AUTO, NumberedBroker, changed_since, numbered, read_all
from mqgateway.gateway.cli.observing import SERIES_OF_NAME_SERVER, Observation
from mqgateway.gateway.cli.preconditions import check_added
from mqgateway.gateway.cli.reach import opened_to, warnings_of, with_own_name_server
from mqgateway.gateway.cli.served_addition import Addition, Host, add_broker
from mqgateway.gateway.cli.served_removal import Removal, remove_broker
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings
from mqgateway.gateway.cli.summary import BrokerLine, Summary
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.container.children import (
    COPIED,
    LEAVING,
    NAME_SERVERS,
    REMOVAL,
    REMOVING,
    SHORTFALL,
    Launch,
    Message,
)
from mqgateway.gateway.container.fleet import Fleet
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected
from mqgateway.gateway.container.requests import runtime_info
from mqgateway.gateway.container.supervision import Charge, ChildState
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.schedule import ScheduledCall
from mqgateway.gateway.runtime.service import Runtime, Service

log = logging.getLogger(__name__)

STOP_SECONDS = SupervisionOptions().broker_stop_timeout / 1000
"""Time that brokers have to stop after their drain."""


class BrokerNotStarted(EngineError):
    """One of the brokers could not be started."""


class BrokersNotStopped(EngineError):
    """Some of the brokers did not drain, or did not stop cleanly."""


class ServedBrokers(Service):
    """A name server and the processes of `brokers`, which differ from `broker` by their own settings.

    `first` are values for the first message to each process, beside its settings and name. `began` is the
    start of the command, in s of the monotonic clock.
    """

    def __init__(
        self,
        runtime: Runtime,
        namesrv: NamesrvSettings,
        broker: BrokerSettings,
        brokers: Sequence[NumberedBroker],
        *,
        launch: Launch,
        first: Message,
        began: float,
    ) -> None:
        super().__init__(runtime)
        self._began = began
        self._namesrv_settings = namesrv
        self._settings = broker
        self._brokers = {one.name: one for one in brokers}
        self._first = dict(first)
        self._next: ScheduledCall | None = None
        self._metrics: dict[str, tuple[int, int]] = {}
        self._endpoints: dict[str, Mapping[str, str]] = {}
        self._rolling: Deferred[Any] | None = None
        self._shortfalls: dict[str, str] = {}
        self._open_files = raise_open_files()
        self.namesrv: NameServerService | None = None
        self.fleet = Fleet(
            _supervision_of(broker),
            clock=runtime.clock,
            launch=launch,
            first=self._first_message,
            when_due_changes=self._set_timer,
            on_message=self._reported,
        )
        self._observation = Observation(
            broker.broker,
            runtime,
            bound_to=broker.remoting.bind_address,
            advertised=broker.broker.broker_ip1,
        )
        self._observation.join_scrapes(self._schedule, self._metrics_ports)
        self._removal = Removal(
            self.fleet,
            self._brokers,
            runtime.disk,
            runtime.clock,
            busy=lambda: self._addition.running or self._busy,
        )
        self._addition = Addition(
            self.fleet,
            self._brokers,
            Host(
                renumber=lambda count: numbered(broker, count),
                check=self._check_added,
                busy=lambda: self._removal.running or self._busy,
                plan=self._plan,
                first=self._first_of,
                pause=self._schedule.pause,
            ),
            runtime.disk,
            runtime.clock,
            self._worker,
        )
        # A stop runs these from the last to the first, so the brokers can unregister at the name server.
        self._on_stop(self._observation.stop)
        self._on_stop(lambda: None if self.namesrv is None else self.namesrv.stop())
        self._on_stop(lambda: Deferred.fromCoroutine(self._stop_all()))

    def _begin(self) -> Deferred[Any]:
        """Start the name server, then all brokers. The Deferred fires when clients can use them.

        It fails with `BrokerNotStarted` if one cannot be started. The name server answers no route queries
        until all brokers are up.
        """
        self._observation.start()
        registered: Deferred[None] = Deferred()
        started = self._start_namesrv(registered).addCallback(lambda _: self._start_brokers())

        def report(result: object) -> object:
            registered.callback(None)
            if not isinstance(result, Failure) and not self.is_ending:
                self._observation.started()
            return result

        return started.addBoth(report)

    def _start_namesrv(self, registered: Deferred[None]) -> Deferred[None]:
        settings, meters = self._namesrv_settings, Meters(SERIES_OF_NAME_SERVER)
        self.namesrv = NameServerService(
            settings.options,
            self._runtime,
            until=registered,
            more={
                RequestCode.ADD_BROKER: lambda _, call: add_broker(self._addition, call),
                RequestCode.REMOVE_BROKER: lambda _, call: remove_broker(self._removal, call),
                RequestCode.GET_BROKER_RUNTIME_INFO: lambda _, call: runtime_info(self.fleet, call),
            },
        )
        self._observation.name_server(self.namesrv, settings.namesrv, meters)
        self._observation.fleet(self.fleet.supervision, "brokers")
        return self.namesrv.start()

    def _start_brokers(self) -> Deferred[Any]:
        added = [self.fleet.add(self._plan(one)).addErrback(_why, one.name) for one in self._brokers.values()]
        return gatherResults(added, consumeErrors=True).addErrback(_first_cause)

    def _plan(self, broker: NumberedBroker) -> BrokerPlan:
        identity = BrokerIdentity(self._settings.broker.broker_cluster_name, broker.name, 0)
        return BrokerPlan(identity, broker.folder, int(broker.settings["listenPort"]))

    def _first_message(self, plan: BrokerPlan) -> Message:
        name = plan.identity.name
        removing = self._removal.others if self._removal.is_of(name) else []
        return {**self._first_of(self._brokers[name]), REMOVING: removing}

    def _first_of(self, broker: NumberedBroker) -> Message:
        name_servers = with_own_name_server(self._settings, self._namesrv_port)
        own = {**broker.settings, NAME_SERVERS: name_servers}
        return {**self._first, "settings": own, "name": broker.name}

    def _check_added(self, brokers: Sequence[NumberedBroker]) -> None:
        """Check that the last of the brokers can start while the others run. Raises `ConfigError`."""
        name = brokers[-1].name
        if lack := lacking_memory():
            raise ConfigError(f"{name}: {lack}; free memory, or use a larger machine")
        settings = read_all(self._first["given"], brokers)
        names = [one.name for one in brokers]
        check_added(self._namesrv_settings, dict(zip(names, settings, strict=True)), name)

    @property
    def _namesrv_port(self) -> int:
        return 0 if self.namesrv is None else self.namesrv.port

    def _set_timer(self) -> None:
        wait = self.fleet.supervision.wait()
        if self._next is not None:
            self._next.cancel()
        self._next = None if wait is None else self._schedule.later(wait, self.fleet.tick)

    def _reported(self, plan: BrokerPlan, message: Message) -> None:
        """Note the port of a broker's metrics, with its process, and its endpoints."""
        charge = self.fleet.supervision.get(plan.identity)
        if charge is not None and "metrics" in message:
            self._metrics[plan.identity.name] = charge.pid, int(message["metrics"])
        if "frontEnds" in message:
            self._endpoints[plan.identity.name] = dict(message["frontEnds"])
        if REMOVAL in message:
            self._removal.reported(plan.identity.name, message[REMOVAL])
        if COPIED in message:
            self._addition.copied(message[COPIED])
        if SHORTFALL in message and self.fleet.supervision.is_stopping:
            self._shortfalls[plan.identity.name] = str(message[SHORTFALL])

    def _metrics_ports(self) -> dict[str, int]:
        """Return the ports of metrics of the processes that run, by the names of the brokers."""
        ports = {}
        for charge in self.fleet.supervision:
            pid, port = self._metrics.get(charge.plan.identity.name, (0, 0))
            if port and pid == charge.pid and charge.state is not ChildState.WAITING:
                ports[charge.plan.identity.name] = port
        return ports

    @property
    def brokers(self) -> list[NumberedBroker]:
        """The brokers that are served."""
        return list(self._brokers.values())

    def drain(self) -> Deferred[None]:
        """Stop all brokers, which drain concurrently. If it is cancelled, they are stopped at once."""
        drained: Deferred[None] = Deferred(lambda _: self.fleet.hurry(STOP_SECONDS))

        def stopped(_: object) -> None:
            if not drained.called:
                drained.callback(None)

        self._stop_fleet().addBoth(stopped)
        return drained

    def _stop_fleet(self) -> Deferred[Any]:
        """Stop all brokers, after each was notified which ones stop, so that none waits for another."""
        self.fleet.send({LEAVING: list(self._brokers)})
        return self.fleet.stop()

    async def _stop_all(self) -> None:
        """Stop all brokers. Raises `BrokersNotStopped` if some did not drain, or did not stop cleanly."""
        await self._stop_fleet()
        reasons = [f"{name} was not drained: {why}" for name, why in self._shortfalls.items()]
        reasons += [f"{name} did not stop cleanly: {why}" for name, why in self.fleet.unclean.items()]
        if reasons:
            raise BrokersNotStopped("; ".join(reasons))

    def roll(self, pause: float) -> None:
        """Restart the brokers one after the other, in the background, unless that is in progress.

        All brokers have been up for `pause` seconds before the next one is stopped.
        """
        if self._rolling is not None or self.is_ending:
            log.warning("the brokers are being restarted or stopped already")
            return
        if why := self._addition.running:
            log.error("no broker is restarted: %s; request the restart again afterwards", why)
            return

        def ended(result: object) -> None:
            self._rolling = None
            if isinstance(result, Failure):
                log.error("the rolling restart has ended early: %s", result.getErrorMessage())
            else:
                log.info("all brokers have been restarted")

        log.info("the brokers are restarted one after the other")
        self._rolling = Deferred.fromCoroutine(self.fleet.restart_each(pause, self._schedule.pause))
        self._rolling.addBoth(ended)

    @property
    def _busy(self) -> str:
        """Why no broker can be added or removed now, "" if one can be."""
        if self.fleet.supervision.is_stopping or self.is_ending:
            return "the brokers are being stopped"
        return "" if self._rolling is None else "the brokers are being restarted one after the other"

    @property
    def entries(self) -> int:
        """Number of topics and brokers of the name server."""
        return 0 if self.namesrv is None else self.namesrv.entries

    @property
    def status(self) -> str:
        """The port of the name server, and the number of brokers that are up."""
        charges = list(self.fleet.supervision)
        up = sum(charge.state is ChildState.UP for charge in charges)
        words = [f"name server at port {self._namesrv_port}, {up} of {len(self._brokers)} brokers up"]
        words += [f"{one.plan.identity.name} {one.progress}" for one in charges if one.progress]
        return ", ".join(words)

    def summary(self) -> Summary:
        """Return the start-up summary."""
        broker, namesrv = self._settings, self._namesrv_settings
        lines = [self._line(charge) for charge in self.fleet.supervision]
        first = self._endpoints.get(lines[0].name, {})
        return Summary(
            name_server=f"{broker.broker.broker_ip1}:{self._namesrv_port}",
            broker=lines[0].address,
            broker_name=lines[0].name,
            cluster=broker.broker.broker_cluster_name,
            data=broker.store.store_path_root_dir,
            open_to=opened_to(namesrv, broker),
            started_in=self._runtime.clock.monotonic() - self._began,
            warnings=self._warnings(),
            boot=[line.text for line in self.boot_lines()],
            front_ends=[(one, first.get(one.name)) for one in FRONT_ENDS],
            brokers=lines,
        )

    def _warnings(self) -> list[str]:
        warnings = warnings_of(self._namesrv_settings, self._settings, self._open_files)
        changed = changed_since(self._first["given"].get("brokers", AUTO), len(self._brokers))
        return [changed, *warnings] if changed else warnings

    def _line(self, charge: Charge) -> BrokerLine:
        name = charge.plan.identity.name
        endpoints = self._endpoints.get(name, {})
        front_ends = [(one, endpoints[one.name]) for one in FRONT_ENDS if one.name in endpoints]
        return BrokerLine(name, charge.address, front_ends)

    def boot_lines(self) -> list[BootLine]:
        """Return the line that RocketMQ's name server prints once it is up; brokers log their own."""
        return [name_server_boot_line(self._namesrv_settings.remoting.bind_address, self._namesrv_port)]


def _supervision_of(broker: BrokerSettings) -> SupervisionOptions:
    """Return the times of the supervision: a broker may drain before it stops."""
    options = SupervisionOptions()
    options.broker_stop_timeout += broker.broker.drain_timeout_millis
    options.broker_start_timeout = broker.broker.broker_start_timeout
    return options


def _why(failure: Failure, name: str) -> None:
    failure.trap(BrokerRejected)  # type: ignore[no-untyped-call]
    raise BrokerNotStarted(f"{name} cannot be started: {failure.value}")


def _first_cause(failure: Failure) -> Failure:
    """Return the failure of the first broker that cannot be started."""
    failure.trap(FirstError)  # type: ignore[no-untyped-call]
    assert isinstance(failure.value, FirstError)
    return failure.value.subFailure
