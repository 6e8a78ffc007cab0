"""`Server`: a name server and a broker for tests, controlled by the test.

It runs in a separate thread. Every method blocks until it is done, and may be called from any thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.engine.clock import Clock
from mqgateway.engine.message import DLQ_PREFIX
from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import (
    NamesrvOptions,
    OptionSet,
    RemotingOptions,
    TlsMode,
    TlsOptions,
)
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.access.policies import read_policies
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.front_end import FrontEnd, FrontEndEnvironment, Running
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.namesrv.lookup import find_route
from mqgateway.gateway.namesrv.service import NameServerService
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.service import Runtime
from mqgateway.gateway.testing.contents import lag, stored_messages, unacknowledged
from mqgateway.gateway.testing.crashable import MortalReactor
from mqgateway.gateway.testing.faults import Codes, Fault, Faults
from mqgateway.gateway.testing.moving import MovingClock
from mqgateway.gateway.testing.settings import options_for_tests
from mqgateway.gateway.testing.storage import InFolder, InMemory, Storage

T = TypeVar("T")

LOOK_SECONDS = 0.005
"""Interval between checks of an awaited condition."""
HURRY_SECONDS = 0.02
"""Interval between ticks of a server whose time runs faster."""
PATIENCE_SECONDS = 10.0
COMMIT_SECONDS = 30.0
"""Clients commit for the first time 10 s after their start, then every 5 s; a JVM starts before that."""
MEASURE_SECONDS = 1.1
"""The broker checks its disk once a second."""


class ServerError(AssertionError):
    """An awaited condition was not reached in time, or the server is not in the right state."""


class ServerLoop(Loop):
    """The thread of all servers of the process; clients have another one."""

    _shared: ClassVar[Loop | None] = None


class Server:
    """A server on `host`. It uses free ports unless given, and memory unless `data_dir` is given.

    `advertise` is the address that clients receive, by default `host`. `speed` is the number of its seconds
    per second of the machine. `front_ends` serve other protocols than remoting; those for clients use a free
    port unless a setting names one. Other arguments are settings of the broker, its store and its connections
    by RocketMQ's names, as `flushDiskType="SYNC_FLUSH"` or `flush_disk_type="SYNC_FLUSH"`. Raises
    `engine.errors.ConfigError` for invalid settings.
    """

    def __init__(
        self,
        *,
        data_dir: str | None = None,
        host: str = "127.0.0.1",
        advertise: str | None = None,
        namesrv_port: int = 0,
        broker_port: int = 0,
        speed: float = 1.0,
        loop: Loop | None = None,
        machine: Clock | None = None,
        front_ends: Sequence[FrontEnd] = FRONT_ENDS,
        **settings: Any,
    ) -> None:
        self._loop = loop or ServerLoop.shared()
        self.clock = MovingClock(speed, machine)
        self._storage: Storage = InFolder(data_dir) if data_dir else InMemory(self.clock.millis)
        self._host = host
        self._advertise = advertise or host
        self._namesrv_port = namesrv_port
        self._settings = settings
        self._machine = machine or self._loop.clock
        self._options = options_for_tests(settings, self._advertise, broker_port, self._storage.root)
        self._schedule = Schedule(self._loop.reactor)
        self._faults = Faults(self._schedule.pause, self._served, lambda: self.clock.ahead_millis)
        self._numbers = itertools.count(1)
        self._namesrv: NameServerService | None = None
        self._namesrv_life = MortalReactor(self._loop.reactor)
        self._broker: BrokerService | None = None
        self._declared = [one for one in front_ends if one.is_for_clients]
        self._front_ends: dict[str, Running] = {}
        self._front_end_ports: dict[str, int] = {}
        self._life = MortalReactor(self._loop.reactor)
        self._was_started = False

    # Lifecycle

    def start(self) -> Self:
        """Start; return the server once clients can connect."""
        self._do(self._start)
        return self

    def stop(self) -> None:
        """Stop cleanly. Idempotent."""
        self._do(self._stop)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def namesrv(self) -> str:
        """`host:port` of the name server, for the configuration of clients."""
        return f"{self._advertise}:{self._namesrv_port}"

    @property
    def broker_address(self) -> str:
        """`host:port` of the broker."""
        return f"{self._advertise}:{self._options[0].listen_port}"

    @property
    def grpc_endpoints(self) -> str:
        """`host:port` of gRPC, for clients of 5.x. Raises `ServerError` if it is not served."""
        return self.endpoint("grpc")

    @property
    def kafka_bootstrap_servers(self) -> str:
        """`bootstrap.servers` for Kafka clients. Raises `ServerError` if Kafka is not served."""
        return self.endpoint("kafka")

    def endpoint(self, front_end: str) -> str:
        """Return `host:port` of a front end, by its name. Raises `ServerError` if it is not served."""
        port = self._front_end_ports.get(front_end, 0)
        if not port:
            titles = {one.name: one.title for one in self._declared}
            raise ServerError(f"{titles.get(front_end, front_end)} is not served")
        return f"{self._advertise}:{port}"

    @property
    def broker(self) -> Broker:
        """The broker object; to be accessed within `run` only. Raises `ServerError` if it is not running."""
        if self._broker is None:
            raise ServerError("the broker is not running")
        return self._broker.broker

    @property
    def _operations(self) -> Operations:
        if self._broker is None:
            raise ServerError("the broker is not running")
        return self._broker.operations

    def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a function in the server's thread."""
        return self._loop.do(function, *args, **kwargs)

    def kill(self) -> None:
        """Kill the broker: connections break, and no more data is written. Data written so far is kept."""
        self._do(self._kill)

    def restart(self) -> None:
        """Start the broker again on its port and its files; a running one is stopped cleanly before."""
        self._do(self._restart)

    def kill_name_server(self) -> None:
        """Kill the name server with all its routes."""
        self._do(self._kill_name_server)

    def restart_name_server(self) -> None:
        """Start the name server again on its port; the broker registers again."""
        self._do(self._restart_name_server)

    # Topics and groups

    def create_topic(self, name: str | None = None, queues: int = 4, **fields: Any) -> str:
        """Create a topic, with a generated name unless given; return its name once clients can find it.

        `fields` are those of `engine.tables.topics.TopicConfig`, as `attributes={"message.type": "FIFO"}`.
        """
        name = name or f"topic-{next(self._numbers)}"
        config = TopicConfig(name, queues, queues, **fields)
        self.run(lambda: self.broker.tables.topics.put(config))
        self._wait(lambda: self._is_known(name, queues), f"the route of {name}")
        return name

    def create_group(self, name: str | None = None, **fields: Any) -> str:
        """Create a consumer group, with a generated name unless given; return its name.

        `fields` are those of `engine.tables.groups.SubscriptionGroupConfig`, as `retry_max_times=1`.
        """
        name = name or f"group-{next(self._numbers)}"
        config = SubscriptionGroupConfig(name, **fields)
        self.run(lambda: self.broker.tables.groups.put(config))
        return name

    def create_user(
        self, name: str, password: str, allowed: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Create a user with the allowed actions by resource, as {"Topic:orders": ["Pub"]}.

        Raises `ServerError` without authentication, `AccessError` for an invalid user or policy.
        """
        self.run(lambda: self._create_user(name, password, allowed or {}))

    def messages(self, topic: str) -> list[ReceivedMessage]:
        """Return all messages of a topic, in the order they were stored."""
        return self.run(lambda: self._stored(topic))

    def dead_letters(self, group: str) -> list[ReceivedMessage]:
        """Return the dead-lettered messages of a group."""
        return self.messages(DLQ_PREFIX + group)

    def behind(self, group: str, topic: str) -> int:
        """Return the lag of a group in a topic, in messages that it has not committed."""
        return self.run(lambda: lag(self._operations, group, topic))

    def wait_for_messages(self, topic: str, count: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a topic has at least `count` messages. Raises `ServerError` on timeout."""
        self._wait(lambda: len(self._stored(topic)) >= count, f"{count} messages of {topic}", seconds)

    def wait_until_consumed(self, group: str, topic: str, seconds: float = COMMIT_SECONDS) -> None:
        """Wait until a group has committed all messages of a topic, and acknowledged those that it popped.

        That is later than their consumption: see `COMMIT_SECONDS`. Messages that a listener failed to consume
        count once they were sent back. Raises `ServerError` on timeout.
        """

        def left() -> int:
            operations = self._operations
            return lag(operations, group, topic) + unacknowledged(operations, group, topic)

        try:
            self._wait(lambda: not left(), f"{group} has consumed {topic}", seconds)
        except ServerError as error:
            count, members = self.run(lambda: (left(), self._operations.clients.consumer_count(group)))
            raise ServerError(f"{error}: {count} messages are left, {members} members are there") from None

    # Time

    def advance(self, seconds: float) -> None:
        """Advance the server's time at once: work that is due by then runs now.

        Connections and clients do not count as idle for that time.
        """
        self.run(self._leap, seconds)

    # Faults

    def drop(self, codes: Codes = None, *, times: int | None = 1, topic: str | None = None) -> Fault:
        """Drop requests: `SEND`, `PULL`, a request code or several; all requests if None."""
        return self._order("drop", codes, times, topic=topic)

    def drop_answer(self, codes: Codes = None, *, times: int | None = 1, topic: str | None = None) -> Fault:
        """Carry out requests without answering them."""
        return self._order("drop_answer", codes, times, topic=topic)

    def delay(
        self, codes: Codes = None, *, seconds: float, times: int | None = 1, topic: str | None = None
    ) -> Fault:
        """Carry out requests later, by the machine's time."""
        return self._order("delay", codes, times, seconds=seconds, topic=topic)

    def refuse(
        self,
        codes: Codes = None,
        *,
        code: int = 1,
        remark: str = "refused for a test",
        times: int | None = 1,
        topic: str | None = None,
    ) -> Fault:
        """Answer requests with a response code instead of carrying them out."""
        return self._order("refuse", codes, times, code=code, remark=remark, topic=topic)

    def cut(self, codes: Codes = None, *, times: int | None = 1, topic: str | None = None) -> Fault:
        """Abort the connection at requests, without carrying them out."""
        return self._order("cut", codes, times, topic=topic)

    def disconnect(self) -> None:
        """Break all connections of the broker; clients may connect again."""
        self.run(lambda: self._life.cut())

    def refuse_connections(self, refuses: bool = True) -> None:
        """Break all connections of the broker, and close new ones at once; with False accept them again."""

        def refuse() -> None:
            self._life.refuses = refuses
            if refuses:
                self._life.cut()

        self.run(refuse)

    def fill_disk(self) -> None:
        """Make the disk full, so that sends are refused."""
        self._set_full(True)

    def free_disk(self) -> None:
        """Make the disk writable again."""
        self._set_full(False)

    def heal(self) -> None:
        """End all faults, free the disk, and accept connections."""
        self.run(self._faults.heal)
        self.refuse_connections(False)
        if self._broker is not None:
            self.free_disk()

    # Internals; they run in the server's thread

    def _do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return self._loop.call(lambda: Deferred.fromCoroutine(work()))

    def _wait(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
        async def wait() -> None:
            end = self._schedule.seconds() + seconds
            while not condition():
                if self._schedule.seconds() > end:
                    raise ServerError(f"{what}: not within {seconds:g} s")
                await self._schedule.pause(LOOK_SECONDS)

        self._do(wait)

    async def _start(self) -> None:
        if self._was_started:
            raise ServerError("a server is started once")
        self._was_started = True
        await self._start_name_server()
        await self._start_broker()
        if self.clock.speed > 1:
            self._schedule.every(HURRY_SECONDS, HURRY_SECONDS, self._hurry)

    async def _stop(self) -> None:
        await self._stop_broker()
        if self._namesrv is not None:
            namesrv, self._namesrv = self._namesrv, None
            await namesrv.stop()
        self._schedule.stop()

    async def _start_name_server(self) -> None:
        self._namesrv_life = MortalReactor(self._loop.reactor)
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
        nearby = self._host if self._host not in ("", "0.0.0.0", "::") else "127.0.0.1"
        options.namesrv_addr = f"{nearby}:{self._namesrv_port}"
        remoting.bind_address = self._host
        self._life = MortalReactor(self._loop.reactor)
        self._broker = BrokerService(
            OptionSet(options, remoting, store, tls),
            Runtime(self._life, self.clock, self._storage.disk, self._storage.worker(self._life)),
        )
        options.listen_port = self._broker.port
        self._faults.attach(self._broker.dispatcher)
        self._faults.attach(self._broker.fast_dispatcher)
        await self._broker.start()
        for one in self._declared:
            self._front_ends[one.name] = self._start_front_end(one, self._broker)

    def _start_front_end(self, front_end: FrontEnd, broker: BrokerService) -> Running:
        name, options = front_end.name, self._options[0]
        running = front_end.start(
            FrontEndEnvironment(
                operations=broker.operations,
                server=broker.server,
                reactor=self._life,
                clock=self.clock,
                host=self._host,
                port=self._front_end_ports.get(name) or front_end.port_in(options),
                advertised=self._advertise,
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
        if self._broker is not None:
            broker, self._broker = self._broker, None
            await broker.stop()
            self._storage.take_over()

    async def _kill(self) -> None:
        if self._broker is None:
            raise ServerError("the broker is not running")
        self._broker, self._front_ends = None, {}
        for closed in self._life.kill():
            await maybeDeferred(lambda: closed)  # noqa: B023
        self._storage.take_over()

    async def _restart(self) -> None:
        await self._stop_broker()
        await self._start_broker()

    async def _kill_name_server(self) -> None:
        self._namesrv = None
        for closed in self._namesrv_life.kill():
            await maybeDeferred(lambda: closed)  # noqa: B023

    async def _restart_name_server(self) -> None:
        if self._namesrv is not None:
            await self._kill_name_server()
        await self._start_name_server()
        if self._broker is not None:
            self._broker.broker.cluster.registration.soon()

    def _stored(self, topic: str) -> list[ReceivedMessage]:
        return stored_messages(self.broker.store, self.broker.options.broker_name, topic)

    def _is_known(self, topic: str, queues: int) -> bool:
        if self._namesrv is None:
            raise ServerError("the name server is not running")
        route = find_route(self._namesrv.namesrv.tables, topic)
        return route is not None and route.queue_datas[0].write_queue_nums == queues

    def _create_user(self, name: str, password: str, allowed: Mapping[str, Sequence[str]]) -> None:
        access = self.broker.access
        if access is None:
            raise ServerError("the server has no access control: set authenticationEnabled")
        entries = [PolicyEntryInfo(what, list(how), decision="Allow") for what, how in allowed.items()]
        policies = read_policies([PolicyInfo(entries=entries)]) if entries else {}
        access.create_user("", name, password, None, None)
        if policies:
            access.update_acl(name, policies)

    def _order(self, what: str, codes: Codes, times: int | None, **more: Any) -> Fault:
        return self.run(lambda: self._faults.order(what, codes, times, **more))

    def _served(self) -> None:
        if self._broker is not None:
            self._broker.broker.store.dispatch()

    def _set_full(self, is_full: bool) -> None:
        def fill() -> None:
            self._storage.set_full(is_full)
            self._leap(MEASURE_SECONDS)

        self.run(fill)
        self._wait(lambda: self.broker.store.is_writable is not is_full, "the broker looks at its disk")

    def _leap(self, seconds: float) -> None:
        self.clock.leap(seconds)
        self._count_as_heard_of(int(seconds * 1000))
        self._tick_soon()

    def _hurry(self) -> None:
        self._count_as_heard_of(int(HURRY_SECONDS * (self.clock.speed - 1) * 1000))
        self._tick_soon()

    def _tick_soon(self) -> None:
        """Run the broker's due work, after its clock has leapt."""
        if self._broker is not None:
            self._broker.periodic_work.within(0)

    def _count_as_heard_of(self, millis: int) -> None:
        """Move the last contact of all clients by `millis`, as they run on the machine's time."""
        if self._broker is None:
            return
        for member in self._broker.operations.clients.all_members():
            member.client.heard_at += millis
