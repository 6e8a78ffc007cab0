"""The name server, the broker and the front ends of a test server; name server and broker can be killed.

Everything here runs in the server's thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import maybeDeferred

from mqgateway.engine.clock import Clock
from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import (
    BrokerOptions,
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    StoreOptions,
    TlsMode,
    TlsOptions,
)
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.namesrv.lookup import find_route
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.service import Runtime
from mqgateway.gateway.testing.crashable import MortalReactor
from mqgateway.gateway.testing.faults import Faults
from mqgateway.gateway.testing.moving import MovingClock
from mqgateway.gateway.testing.storage import Storage


class ServerError(AssertionError):
    """An awaited condition was not reached in time, or the server is not in the right state."""


class ServerNodes:
    """The servers, on `host`; clients receive the address `advertised`.

    The broker's time is `clock`, the name server's `machine`. Ports are chosen at the first start unless
    given, and kept. With `joined` the broker registers at the name server of these, and there is no other.
    """

    def __init__(
        self,
        reactor: Reactor,
        clock: MovingClock,
        machine: Clock,
        storage: Storage,
        faults: Faults,
        options: tuple[BrokerOptions, StoreOptions, RemotingOptions, TlsOptions],
        *,
        host: str,
        advertised: str,
        namesrv_port: int,
        front_ends: Sequence[FrontEnd],
        joined: ServerNodes | None,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._machine = machine
        self._storage = storage
        self._faults = faults
        self._options = options
        self._host = host
        self._advertised = advertised
        self._namesrv_port = namesrv_port
        self._joined = joined
        self._namesrv: NameServerService | None = None
        self._namesrv_life = MortalReactor(reactor)
        self.broker: BrokerService | None = None
        """The broker while it is running."""
        self._declared = [one for one in front_ends if one.is_for_clients]
        self._front_ends: dict[str, Running] = {}
        self._front_end_ports: dict[str, int] = {}
        self.life = MortalReactor(reactor)
        """The reactor of the broker and its front ends."""

    @property
    def running_broker(self) -> BrokerService:
        """The broker. Raises `ServerError` if it is not running."""
        if self.broker is None:
            raise ServerError("the broker is not running")
        return self.broker

    @property
    def namesrv_address(self) -> str:
        """`host:port` of the name server."""
        if self._joined is not None:
            return self._joined.namesrv_address
        return f"{self._advertised}:{self._namesrv_port}"

    @property
    def broker_address(self) -> str:
        """`host:port` of the broker."""
        return f"{self._advertised}:{self._options[0].listen_port}"

    def endpoint(self, front_end: str) -> str:
        """Return `host:port` of a front end, by its name. Raises `ServerError` if it is not served."""
        port = self._front_end_ports.get(front_end, 0)
        if not port:
            titles = {one.name: one.title for one in self._declared}
            raise ServerError(f"{titles.get(front_end, front_end)} is not served")
        return f"{self._advertised}:{port}"

    @property
    def _nearby_name_server(self) -> str:
        """`host:port` of the name server for brokers of this process."""
        if self._joined is not None:
            return self._joined._nearby_name_server
        nearby = self._host if self._host not in ("", "0.0.0.0", "::") else "127.0.0.1"
        return f"{nearby}:{self._namesrv_port}"

    def has_route(self, topic: str, queues: int) -> bool:
        """Return True if clients can find a topic with this number of queues. Raises `ServerError`."""
        if self._joined is not None:
            return self._joined.has_route(topic, queues)
        if self._namesrv is None:
            raise ServerError("the name server is not running")
        route = find_route(self._namesrv.namesrv.tables, topic)
        return route is not None and route.queue_datas[0].write_queue_nums == queues

    async def start(self) -> None:
        """Start the name server if it is not another server's, then the broker."""
        if self._joined is None:
            await self._start_name_server()
        await self._start_broker()

    async def stop(self) -> None:
        """Stop cleanly those that are running."""
        await self._stop_broker()
        if self._namesrv is not None:
            namesrv, self._namesrv = self._namesrv, None
            await namesrv.stop()

    async def kill(self) -> None:
        """Kill the broker with its front ends. Raises `ServerError` if it is not running."""
        if self.broker is None:
            raise ServerError("the broker is not running")
        self.broker, self._front_ends = None, {}
        for closed in self.life.kill():
            await maybeDeferred(lambda: closed)  # noqa: B023
        self._storage.take_over()

    async def restart(self) -> None:
        """Start the broker again; a running one is stopped cleanly before."""
        await self._stop_broker()
        await self._start_broker()

    async def kill_name_server(self) -> None:
        """Kill the name server with its routes. Raises `ServerError` if it is another server's."""
        self._check_own_name_server()
        self._namesrv = None
        for closed in self._namesrv_life.kill():
            await maybeDeferred(lambda: closed)  # noqa: B023

    async def restart_name_server(self) -> None:
        """Start the name server again; the broker registers again. Raises as `kill_name_server`."""
        self._check_own_name_server()
        if self._namesrv is not None:
            await self.kill_name_server()
        await self._start_name_server()
        if self.broker is not None:
            self.broker.broker.cluster.registration.soon()

    def _check_own_name_server(self) -> None:
        if self._joined is not None:
            raise ServerError("the name server belongs to the server that this one joins")

    async def _start_name_server(self) -> None:
        self._namesrv_life = MortalReactor(self._reactor)
        root = self._storage.root
        self._namesrv = NameServerService(
            OptionSet(
                NamesrvOptions(
                    kv_config_path=f"{root}/kv.json", config_store_path=f"{root}/namesrv.properties"
                ),
                RemotingOptions(bind_address=self._host, listen_port=self._namesrv_port),
                TlsOptions(tls_server_mode=TlsMode.DISABLED),
            ),
            Runtime(self._namesrv_life, self._machine, self._storage.disk, InlineWorker()),
        )
        self._faults.attach(self._namesrv.dispatcher)
        await self._namesrv.start()
        self._namesrv_port = self._namesrv.port

    async def _start_broker(self) -> None:
        options, store, remoting, tls = self._options
        options.namesrv_addr = self._nearby_name_server
        remoting.bind_address = self._host
        self.life = MortalReactor(self._reactor)
        self.broker = BrokerService(
            OptionSet(options, remoting, store, tls),
            Runtime(self.life, self._clock, self._storage.disk, self._storage.worker(self.life)),
        )
        options.listen_port = self.broker.port
        self._faults.attach(self.broker.dispatcher)
        self._faults.attach(self.broker.fast_dispatcher)
        await self.broker.start()
        for one in self._declared:
            self._front_ends[one.name] = self._start_front_end(one, self.broker)

    def _start_front_end(self, front_end: FrontEnd, broker: BrokerService) -> Running:
        name, options = front_end.name, self._options[0]
        running = front_end.start(
            FrontEndEnvironment(
                operations=broker.operations,
                server=broker.server,
                reactor=self.life,
                clock=self._clock,
                host=self._host,
                port=self._front_end_ports.get(name) or front_end.port_in(options),
                advertised=self._advertised,
                meter=FrontEndMeter(has_latency=False),
                faults=self._faults,
            )
        )
        self._front_end_ports[name] = running.port
        return running

    async def _stop_broker(self) -> None:
        for running in reversed(self._front_ends.values()):
            await maybeDeferred(running.stop)
        self._front_ends = {}
        if self.broker is not None:
            broker, self.broker = self.broker, None
            await broker.stop()
            self._storage.take_over()
