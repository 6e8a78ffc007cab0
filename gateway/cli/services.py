"""Services of a command, built from settings: name server, broker, or both in one process.

A name server also runs a controller if its settings enable it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import Setting
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.broker.admin.broker import reread_settings
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.boot import (
    BootLine,
    broker_boot_line,
    controller_boot_line,
    name_server_boot_line,
)
from mqgateway.gateway.cli.front_ends import start_front_ends
from mqgateway.gateway.cli.limits import raise_open_files
from mqgateway.gateway.cli.observing import SERIES_OF_NAME_SERVER, Observation
from mqgateway.gateway.cli.reach import opened_to, warnings_of, with_own_name_server
from mqgateway.gateway.cli.settings import BrokerSettings, NamesrvSettings
from mqgateway.gateway.cli.summary import Summary, local_addresses
from mqgateway.gateway.cli.tier_start import start_saver
from mqgateway.gateway.front_end import FrontEnd, Running
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.remoting.dispatch import Hook
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.service import Runtime, Service

if TYPE_CHECKING:
    from mqgateway.gateway.controller.service import ControllerService
    from mqgateway.gateway.tiering.saver import TierSaver


class Both(Service):
    """A name server, a broker, or both in one process. The broker then registers with that name server."""

    def __init__(
        self,
        reactor: Reactor,
        namesrv: NamesrvSettings | None,
        broker: BrokerSettings | None,
        began: float,
        front_ends: Sequence[FrontEnd] = FRONT_ENDS,
    ) -> None:
        super().__init__(Runtime(reactor, SystemClock(), RealDisk()))
        self._began = began
        self._namesrv_settings = namesrv
        self._broker_settings = broker
        self.namesrv: NameServerService | None = None
        self.controller: ControllerService | None = None
        self.broker: BrokerService | None = None
        self._observation = self._observed(namesrv, broker)
        self._declared = front_ends
        self.front_ends: dict[str, Running] = {}
        self._meters: Meters | None = None  # the broker's
        self._open_files = raise_open_files()
        # A stop runs these from the last to the first, so the broker can unregister at the name server.
        self._on_stop(self._observation.stop)
        self._on_stop(lambda: None if self.namesrv is None else self.namesrv.stop())
        self._on_stop(lambda: None if self.controller is None else self.controller.stop())
        self._on_stop(lambda: None if self.broker is None else self.broker.stop())
        self._saver: TierSaver | None = None
        self._on_stop(lambda: None if self._saver is None else self._saver.stop())
        self._on_stop(self._stop_front_ends)

    def _observed(self, namesrv: NamesrvSettings | None, broker: BrokerSettings | None) -> Observation:
        """Return the observation of the services, by the settings of the broker if there is one."""
        settings = broker or namesrv
        assert settings is not None
        return Observation(
            broker.broker if broker is not None else settings.namesrv,  # type: ignore[union-attr]
            self._runtime,
            bound_to=settings.remoting.bind_address,
            advertised=broker.broker.broker_ip1 if broker is not None else "",
        )

    def _begin(self) -> Deferred[Any]:
        """Start both. The Deferred fires when clients can use them.

        The name server listens once the broker does, and answers no route queries until the broker is in the
        routes. So clients can connect either to both or to neither.
        """
        self._observation.start()
        if self._broker_settings is None:
            return self._start_namesrv(None).addCallback(lambda _: self._observation.started())
        registered: Deferred[None] = Deferred()
        started = self._start_broker(self._broker_settings, registered)

        def report(result: object) -> object:
            registered.callback(None)
            if not isinstance(result, Failure) and not self.is_ending:
                self._observation.started()
                self._start_front_ends(self._broker_settings)
                self._start_saver(self._broker_settings)
            return result

        return started.addBoth(report)

    def _start_namesrv(self, registered: Deferred[None] | None) -> Deferred[None]:
        settings = self._namesrv_settings
        assert settings is not None
        meters = Meters(SERIES_OF_NAME_SERVER)
        self.namesrv = NameServerService(
            settings.options,
            self._runtime,
            users=None if self.broker is None else self.broker.users,
            until=registered,
        )
        self._observation.name_server(self.namesrv, settings.namesrv, meters)
        return self.namesrv.start().addCallback(lambda _: self._start_controller(settings))

    def _start_controller(self, settings: NamesrvSettings) -> Deferred[None]:
        if not settings.namesrv.enable_controller_in_namesrv:
            return succeed(None)
        self.controller = self._observation.controller(self._make_controller, settings.controller)
        return self.controller.start()

    def _make_controller(self, hooks: Sequence[Hook]) -> ControllerService:
        from mqgateway.gateway.controller.service import ControllerService

        assert self._namesrv_settings is not None
        return ControllerService(
            self._namesrv_settings.options,
            self._runtime,
            hooks=hooks,
            users=None if self.namesrv is None else self.namesrv.users,
        )

    def _start_broker(self, settings: BrokerSettings, registered: Deferred[None]) -> Deferred[None]:
        def before_registering() -> Deferred[None]:
            if self._namesrv_settings is None:
                return succeed(None)
            return self._start_namesrv(registered).addCallback(
                lambda _: self._register_with_neighbour(settings)
            )

        self._meters = meters = Meters(settings.broker.metrics_otel_cardinality_limit)
        self.broker = BrokerService(
            settings.options,
            self._runtime,
            hooks=self._observation.broker_hooks(settings.broker),
            before_registering=before_registering,
            neighbours=None if self._namesrv_settings is None else Credentials.made_up("serve"),
        )
        self._observation.broker(self.broker, settings.broker, meters, self._declared)
        return self.broker.start()

    def _register_with_neighbour(self, settings: BrokerSettings) -> None:
        """Put the name server of this process first in the broker's list."""
        addresses = with_own_name_server(settings, self._namesrv_port)
        settings.options.set("namesrvAddr", addresses, "built-in name server")

    @property
    def _namesrv_port(self) -> int:
        return 0 if self.namesrv is None else self.namesrv.port

    def _start_front_ends(self, settings: BrokerSettings | None) -> None:
        if settings is None or self.broker is None or self._meters is None:
            return
        self.front_ends = start_front_ends(
            self._declared,
            self.broker,
            settings,
            self._observation,
            self._meters,
            self._runtime,
            name_server=None if self.namesrv is None else self.namesrv.namesrv,
        )

    def _start_saver(self, settings: BrokerSettings | None) -> None:
        if settings is not None and self.broker is not None:
            self._saver = start_saver(self.broker, settings, self._runtime, self._schedule)

    @property
    def entries(self) -> int:
        """Number of topics, groups and queues of all services."""
        services = (self.namesrv, self.controller, self.broker)
        return sum(service.entries for service in services if service is not None)

    @property
    def status(self) -> str:
        """Progress of the start, then the services and their ports."""
        broker, namesrv = self.broker, self.namesrv
        if broker is not None and broker.progress:
            return broker.progress
        served = [f"name server at port {self._namesrv_port}"] if namesrv is not None else []
        return ", ".join(served + ([f"broker at port {broker.port}"] if broker is not None else []))

    def drain(self) -> Deferred[None]:
        """Drain the broker before a stop; see `BrokerService.drain`."""
        return succeed(None) if self.broker is None else self.broker.drain()

    def reread(self, broker: Sequence[Setting], namesrv: Sequence[Setting]) -> list[str]:
        """Apply the settings read from the files of both. Return those that take effect after a restart only.

        Raises `ConfigError`.
        """
        waiting = []
        if self.broker is not None:
            waiting = reread_settings(self.broker.broker, broker, self._runtime.clock.millis())
        if self.namesrv is not None:
            waiting += self.namesrv.namesrv.configuration.reread(namesrv)
        return waiting

    async def _end_front_ends(self) -> None:
        for running in reversed(self.front_ends.values()):
            await maybeDeferred(running.stop)

    def _stop_front_ends(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._end_front_ends())

    def summary(self) -> Summary:
        """Return the start-up summary."""
        broker, namesrv = self._broker_settings, self._namesrv_settings
        advertised = broker.broker.broker_ip1 if broker else local_addresses()[0]
        warnings = warnings_of(namesrv, broker, self._open_files)
        sickness = self.broker.broker.store.sickness if self.broker else ""
        if sickness:
            warnings.append(
                f"sends are refused until the store is repaired, stored messages are served: {sickness}"
            )
        return Summary(
            name_server=f"{advertised}:{self._namesrv_port}" if self.namesrv else None,
            broker=f"{advertised}:{self.broker.port}" if self.broker else None,
            broker_name=broker.broker.broker_name if broker else "",
            cluster=broker.broker.broker_cluster_name if broker else "",
            data=broker.store.store_path_root_dir if broker else self._namesrv_folder(),
            open_to=opened_to(namesrv, broker),
            started_in=self._runtime.clock.monotonic() - self._began,
            warnings=warnings,
            controller=self.controller.peer.address if self.controller else None,
            boot=[line.text for line in self.boot_lines()],
            front_ends=[(one, self._endpoint(one, advertised)) for one in self._declared],
        )

    def boot_lines(self) -> list[BootLine]:
        """Return the lines that RocketMQ's servers print once they are up."""
        said = []
        if self.namesrv is not None and self._namesrv_settings is not None:
            bind = self._namesrv_settings.remoting.bind_address
            said.append(name_server_boot_line(bind, self._namesrv_port))
        if self.controller is not None:
            said.append(controller_boot_line(is_alone=False))
        if self.broker is not None and self._broker_settings is not None:
            options = self._broker_settings.broker
            address = f"{options.broker_ip1}:{self.broker.port}"
            said.append(broker_boot_line(options.broker_name, address, options.namesrv_addr))
        return said

    def _endpoint(self, front_end: FrontEnd, advertised: str) -> str | None:
        running = self.front_ends.get(front_end.name)
        return None if running is None else running.endpoint(advertised)

    def _namesrv_folder(self) -> str:
        assert self._namesrv_settings is not None
        return self._namesrv_settings.namesrv.kv_config_path.rpartition("/")[0]
