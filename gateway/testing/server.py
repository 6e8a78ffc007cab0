"""`Server`: a name server and a broker for tests, controlled by the test.

It runs in a separate thread. Every method blocks until it is done, and may be called from any thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import Clock
from mqgateway.engine.message import DLQ_PREFIX
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.policies import read_policies
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.codec.bodies import PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.testing.contents import lag, stored_messages, unacknowledged
from mqgateway.gateway.testing.faults import Codes, Fault, Faults
from mqgateway.gateway.testing.moving import MovingClock
from mqgateway.gateway.testing.nodes import ServerError, ServerNodes
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


class ServerLoop(Loop):
    """The thread of all servers of the process; clients have another one."""

    _shared: ClassVar[Loop | None] = None


class Server:
    """A server on `host`. It uses free ports unless given, and memory unless `data_dir` is given.

    `advertise` is the address that clients receive, by default `host`. `speed` is the number of its seconds
    per second of the machine. `front_ends` serve other protocols than remoting; those for clients use a free
    port unless a setting names one. With `joins`, a running server, it uses that one's name server, so both
    are brokers of one cluster; `brokerName` and `data_dir` must differ. Other arguments are settings of the
    broker, its store and its connections by RocketMQ's names, as `flushDiskType="SYNC_FLUSH"` or
    `flush_disk_type="SYNC_FLUSH"`. Raises `engine.errors.ConfigError` for invalid settings.
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
        joins: Server | None = None,
        **settings: Any,
    ) -> None:
        self._loop: Loop = loop or (ServerLoop.shared() if joins is None else joins._loop)
        self.clock = MovingClock(speed, machine)
        self._storage: Storage = InFolder(data_dir) if data_dir else InMemory(self.clock.millis)
        advertised = advertise or host
        options = options_for_tests(settings, advertised, broker_port, self._storage.root)
        self._schedule = Schedule(self._loop.reactor)
        self._faults = Faults(self._schedule.pause, self._served, lambda: self.clock.ahead_millis)
        self._numbers = itertools.count(1)
        self._nodes: ServerNodes = ServerNodes(
            self._loop.reactor,
            self.clock,
            machine or self._loop.clock,
            self._storage,
            self._faults,
            options,
            host=host,
            advertised=advertised,
            namesrv_port=namesrv_port,
            front_ends=front_ends,
            joined=None if joins is None else joins._nodes,
        )
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
        return self._nodes.namesrv_address

    @property
    def broker_address(self) -> str:
        """`host:port` of the broker."""
        return self._nodes.broker_address

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
        return self._nodes.endpoint(front_end)

    @property
    def broker(self) -> Broker:
        """The broker object; to be accessed within `run` only. Raises `ServerError` if it is not running."""
        return self._nodes.running_broker.broker

    @property
    def _operations(self) -> Operations:
        return self._nodes.running_broker.operations

    def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a function in the server's thread."""
        return self._loop.do(function, *args, **kwargs)

    def kill(self) -> None:
        """Kill the broker: connections break, and no more data is written. Data written so far is kept."""
        self._do(self._nodes.kill)

    def restart(self) -> None:
        """Start the broker again on its port and its files; a running one is stopped cleanly before."""
        self._do(self._nodes.restart)

    def kill_name_server(self) -> None:
        """Kill the name server with all its routes."""
        self._do(self._nodes.kill_name_server)

    def restart_name_server(self) -> None:
        """Start the name server again on its port; the broker registers again."""
        self._do(self._nodes.restart_name_server)

    # Topics and groups

    def create_topic(self, name: str | None = None, queues: int = 4, **fields: Any) -> str:
        """Create a topic, with a generated name unless given; return its name once clients can find it.

        `fields` are those of `engine.tables.topics.TopicConfig`, as `attributes={"message.type": "FIFO"}`.
        """
        name = name or f"topic-{next(self._numbers)}"
        config = TopicConfig(name, queues, queues, **fields)
        self.run(lambda: self.broker.tables.topics.put(config))
        self._wait(lambda: self._nodes.has_route(name, queues), f"the route of {name}")
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
        self.run(lambda: self._nodes.life.cut())

    def refuse_connections(self, refuses: bool = True) -> None:
        """Break all connections of the broker, and close new ones at once; with False accept them again."""

        def refuse() -> None:
            self._nodes.life.refuses = refuses
            if refuses:
                self._nodes.life.cut()

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
        if self._nodes.broker is not None:
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
        await self._nodes.start()
        if self.clock.speed > 1:
            self._schedule.every(HURRY_SECONDS, HURRY_SECONDS, self._hurry)

    async def _stop(self) -> None:
        await self._nodes.stop()
        self._schedule.stop()

    def _stored(self, topic: str) -> list[ReceivedMessage]:
        return stored_messages(self.broker.store, self.broker.options.broker_name, topic)

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
        if self._nodes.broker is not None:
            self._nodes.broker.broker.store.dispatch()

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
        if self._nodes.broker is not None:
            self._nodes.broker.periodic_work.within(0)

    def _count_as_heard_of(self, millis: int) -> None:
        """Move the last contact of all clients by `millis`, as they run on the machine's time."""
        if self._nodes.broker is None:
            return
        for member in self._nodes.broker.operations.clients.all_members():
            member.client.heard_at += millis
