"""State shared by the producers and consumers of one client id: routes, connections, heartbeats, timers.

    every 30 s   fetch the routes of all topics in use; send heartbeats to all brokers (without consumers to
                 masters only)
    every  5 s   commit consumed offsets, starting after 10 s
    every 20 s   rebalance; also when a broker reports changed members, but at least 1 s apart

A new connection gets a heartbeat at once, because the broker does not know the client on it. Concurrent
lookups of one route are merged. RocketMQ: `MQClientInstance`, `RebalanceService`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Coroutine, Iterable
from random import Random
from typing import Any, Protocol

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import RemotingOptions, TlsOptions
from mqgateway.engine.steady_clock import SteadyClock
from mqgateway.engine.worker import Worker
from mqgateway.gateway.client import served
from mqgateway.gateway.client.asking import Asking, as_deferred
from mqgateway.gateway.client.calls import Calls
from mqgateway.gateway.client.credentials import credentials_of
from mqgateway.gateway.client.errors import BadArgument, ClientError, NoBroker, NotRunning
from mqgateway.gateway.client.identity import MessageIds, own_ip
from mqgateway.gateway.client.identity import client_id as made_up_id
from mqgateway.gateway.client.members import ConsumerMember, ProducerMember
from mqgateway.gateway.client.name_servers import NameServerList
from mqgateway.gateway.client.options import ClientOptions, name_servers_of
from mqgateway.gateway.client.rebalance import INTERVAL_SECONDS, INTERVAL_SECONDS_MIN
from mqgateway.gateway.client.requests import Requests
from mqgateway.gateway.client.routes import MASTER, Endpoint, KnownBroker, RouteTable, as_new_topic
from mqgateway.gateway.codec.bodies import HeartbeatData, MessageQueue, ProducerData, TopicRouteData
from mqgateway.gateway.remoting.client import RemotingClient
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.ssl_context import ContextTls
from mqgateway.gateway.remoting.tls import UNUSABLE, ClientTls
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

ROUTES_FIRST_SECONDS = 0.01
HEARTBEAT_FIRST_SECONDS = 1.0
OFFSETS_FIRST_SECONDS = 10.0


class Environment(Protocol):
    """Services of the process that a client uses."""

    reactor: Reactor
    clock: Clock
    disk: Disk
    worker: Worker | None

    @property
    def turn(self) -> Turn | None:
        """Turn of the event loop: writes made within it are flushed at its end, once per connection."""
        ...


class Client:
    """Client of one client id.

    With `named` it keeps the instance name DEFAULT, by which stored offsets of broadcasting are found. It
    does nothing before `start`. It must be closed after its last member has left.
    """

    def __init__(
        self,
        options: ClientOptions,
        environment: Environment,
        *,
        named: bool = False,
        tls: TlsOptions | None = None,
        random: Random | None = None,
    ) -> None:
        servers = name_servers_of(options)
        if not servers:
            raise BadArgument("no name server is configured: give namesrv_addr, or set NAMESRV_ADDR")
        self.options = options
        self.environment = environment
        self.clock = environment.clock
        self.steady = SteadyClock(self.clock)
        """Clock for ages and intervals that are also displayed as times."""
        self.random = random or Random()
        ip = options.client_ip or own_ip(servers[0])
        self.client_id = made_up_id(options, ip, named=named)
        self.ids = MessageIds(ip, os.getpid(), self.random.getrandbits(32))
        self.schedule = Schedule(environment.reactor)
        self.routes = RouteTable()
        self.producers: dict[str, ProducerMember] = {}
        self.consumers: dict[str, ConsumerMember] = {}
        self.versions: dict[str, int] = {}
        """Broker versions by address, from the last heartbeat."""
        self._remoting = RemotingClient(
            environment.reactor,
            RemotingOptions(),
            dispatcher=Dispatcher(self, served.REQUESTS, {}, clock=self.clock),
            tls=_tls(options, tls, environment),
            clock=self.clock,
            on_connect=self._connected,
            turn=environment.turn,
        )
        signs = credentials_of(options, os.environ, environment.disk, self.clock)
        self.asking = Asking(self._remoting, options, signs)
        self.name_servers = NameServerList(servers, self.asking, self.random)
        self.calls = Calls(self.asking, self, self.client_id)
        self.requests = Requests(self.schedule, self.client_id)
        self._lookups: dict[tuple[str, int], list[Deferred[bool]]] = {}
        self._greeting: dict[str, bool] = {}  # address -> whether another heartbeat is due
        self._is_rebalancing = False
        self._rebalance_again = False
        self._rebalanced_at = -INTERVAL_SECONDS_MIN
        self._rebalance_call = self.schedule.later(0, int)
        self._is_running = False
        self._is_closed = False

    # Lifecycle

    def start(self) -> None:
        """Start the periodic tasks. Idempotent."""
        self.check_open()
        if self._is_running:
            return
        self._is_running = True
        options, every = self.options, self.schedule.every
        every(ROUTES_FIRST_SECONDS, options.poll_name_server_interval / 1000, self._poll_routes)
        every(HEARTBEAT_FIRST_SECONDS, options.heartbeat_broker_interval / 1000, self._send_heartbeats)
        every(OFFSETS_FIRST_SECONDS, options.persist_consumer_offset_interval / 1000, self._commit_offsets)
        self.rebalance_soon(INTERVAL_SECONDS)

    def check_open(self) -> None:
        """Raise `NotRunning` if the client was closed; a closed client cannot be used again."""
        if self._is_closed:
            raise NotRunning(f"the client {self.client_id} was closed and cannot start again: make a new one")

    @as_deferred
    async def close(self) -> None:
        """Close connections and stop timers. Members must have left before."""
        self._is_running, self._is_closed = False, True
        self.requests.close()
        self.name_servers.close()
        self.schedule.stop()
        await self._remoting.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background and log its failure."""

        def failed(failure: Failure) -> None:
            if isinstance(failure.value, ClientError):
                level = logging.WARNING if self._is_running else logging.DEBUG
                log.log(level, "%s: %s", getattr(work, "__qualname__", work), failure.getErrorMessage())
            else:
                log.error("%s failed", work, exc_info=failure.value)

        Deferred.fromCoroutine(work).addErrback(failed)

    @property
    def failure_level(self) -> int:
        """Level at which a failed request is logged: DEBUG if the client's own end cut it off, or WARNING."""
        return logging.DEBUG if self._is_closed else logging.WARNING

    # Members

    def add_producer(self, member: ProducerMember) -> None:
        """Register a producer group. Raises `BadArgument` if this client already has the group."""
        if self.producers.setdefault(member.group, member) is not member:
            raise BadArgument(f"this client has a producer of the group {member.group} already")

    def add_consumer(self, member: ConsumerMember) -> None:
        """Register a consumer group. Raises `BadArgument` if this client already has the group."""
        if self.consumers.setdefault(member.group, member) is not member:
            raise BadArgument(f"this client has a consumer of the group {member.group} already")

    async def remove_producer(self, member: ProducerMember) -> None:
        """Unregister a producer group, also at the brokers."""
        if self.producers.pop(member.group, None) is member:
            await self._leave(member.group, None)

    async def remove_consumer(self, member: ConsumerMember) -> None:
        """Unregister a consumer group, also at the brokers."""
        if self.consumers.pop(member.group, None) is member:
            await self._leave(None, member.group)

    async def _leave(self, producer_group: str | None, consumer_group: str | None) -> None:
        async def leave(address: str) -> None:
            try:
                await self.calls.unregister(address, producer_group, consumer_group)
            except ClientError as error:
                log.info("%s was not told that we leave: %s", address, error)

        await together(leave(one.address) for one in self.routes.members())

    # Routes

    async def update_route(self, topic: str, new_topic: tuple[str, int] | None = None) -> bool:
        """Fetch the route of a topic. Returns True if the topic has one.

        `new_topic` is a template topic and a number of queues. With it, the route of the topic is derived
        from that of the template. Raises `Unreachable` or `BrokerError`.
        """
        key = (topic, 0 if new_topic is None else new_topic[1])
        waiting = self._lookups.get(key)
        if waiting is not None:
            waiter: Deferred[bool] = Deferred()
            waiting.append(waiter)
            return await waiter
        self._lookups[key] = []
        try:
            found = await self._look_up(topic, new_topic)
        except Exception as error:
            for waiter in self._lookups.pop(key):
                waiter.errback(error)
            raise
        for waiter in self._lookups.pop(key):
            waiter.callback(found)
        return found

    async def _look_up(self, topic: str, new_topic: tuple[str, int] | None) -> bool:
        route = await self.name_servers.route(topic if new_topic is None else new_topic[0])
        if route is None:
            return False
        if new_topic is not None:
            route = as_new_topic(route, new_topic[1])
        if self.routes.update(topic, route):
            log.info("the route of %s: %s", topic, _brief(route))
        members: list[ProducerMember | ConsumerMember] = [*self.producers.values(), *self.consumers.values()]
        for member in members:
            member.route_known(topic, route)
        return True

    async def place_of(
        self, queue: MessageQueue, broker_id: int = MASTER, only_this: bool = False
    ) -> Endpoint:
        """Return the broker to query about a queue; see `gateway.client.calls.Directory`."""
        place = self.routes.reader(queue.broker_name, broker_id, only_this)
        if place is None:
            await self.update_route(queue.topic)
            place = self.routes.reader(queue.broker_name, broker_id, only_this)
        if place is None:
            raise NoBroker(f"the broker {queue.broker_name} is in no route of {queue.topic}")
        return place

    async def master_of(self, queue: MessageQueue) -> str:
        """Return the address to which messages for a queue are sent. Raises `NoBroker`."""
        return (await self.place_of(queue, only_this=True)).address

    async def any_broker(self, topic: str) -> str:
        """Return any broker of a topic; see `gateway.client.calls.Directory`."""
        address = self.routes.anybody(topic, self.random)
        if address is None:
            await self.update_route(topic)
            address = self.routes.anybody(topic, self.random)
        if address is None:
            raise NoBroker(f"no broker has the topic {topic}")
        return address

    def _poll_routes(self) -> None:
        topics = {topic for member in self.producers.values() for topic in member.topics()}
        topics |= {topic for member in self.consumers.values() for topic in member.topics()}
        for topic in sorted(topics):
            self.spawn(self.update_route(topic))

    # Heartbeats

    def _send_heartbeats(self) -> None:
        self.routes.forget_absent()
        self.spawn(self.heartbeat())

    async def heartbeat(self) -> None:
        """Send a heartbeat to every broker. Failures are logged."""
        if not (self.producers or self.consumers):
            return
        await together(self._greet(one) for one in self.routes.members())

    async def _greet(self, broker: KnownBroker) -> None:
        address = broker.address
        if broker.broker_id != MASTER and not self.consumers:
            return
        if address in self._greeting:
            self._greeting[address] = True
            return
        self._greeting[address] = True
        try:
            while self._greeting[address]:
                self._greeting[address] = False
                try:
                    self.versions[address] = await self.calls.heartbeat(address, self._heartbeat_data())
                except ClientError as error:
                    # A change made meanwhile, such as a new subscription, is still sent.
                    text = "broker %s was not told that we are there: %s"
                    log.log(self.failure_level, text, broker.broker_name, error)
        finally:
            del self._greeting[address]

    def _heartbeat_data(self) -> HeartbeatData:
        return HeartbeatData(
            client_id=self.client_id,
            producer_data_set=[ProducerData(group) for group in sorted(self.producers)],
            consumer_data_set=[member.consumer_data() for member in self.consumers.values()],
        )

    def _connected(self, address: str) -> None:
        """Send a heartbeat on a new connection to a broker, which does not know the client on it."""
        for broker in self.routes.members():
            if broker.address == address and address not in self._greeting and self._is_running:
                self.spawn(self._greet(broker))

    # Queues

    def rebalance_soon(self, seconds: float = 0.0) -> None:
        """Schedule a rebalance in `seconds`, but at least 1 s after the last one."""
        if self._is_rebalancing:
            self._rebalance_again = self._rebalance_again or seconds <= INTERVAL_SECONDS_MIN
            return
        rest = self._rebalanced_at + INTERVAL_SECONDS_MIN - self.schedule.seconds()
        self._rebalance_call.cancel()
        self._rebalance_call = self.schedule.later(max(seconds, rest), self._rebalance_now)

    def _rebalance_now(self) -> None:
        self.spawn(self._rebalance())

    async def _rebalance(self) -> None:
        self._is_rebalancing, self._rebalance_again = True, False
        balanced = True
        for member in list(self.consumers.values()):
            try:
                balanced = await member.rebalance() and balanced
            except ClientError as error:
                log.log(self.failure_level, "queues of group %s cannot be shared: %s", member.group, error)
                balanced = False
            except Exception:
                # Catch everything: a group that stops rebalancing would be worse.
                log.exception("queues of group %s cannot be shared", member.group)
                balanced = False
        self._is_rebalancing = False
        self._rebalanced_at = self.schedule.seconds()
        if self._is_running:
            soon = self._rebalance_again or not balanced
            self.rebalance_soon(INTERVAL_SECONDS_MIN if soon else INTERVAL_SECONDS)

    def _commit_offsets(self) -> None:
        for member in self.consumers.values():
            self.spawn(member.commit_offsets())


async def together(works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run coroutines concurrently until all are done, then raise the first failure."""
    begun = [Deferred.fromCoroutine(work) for work in works]
    for succeeded, outcome in await DeferredList(begun, consumeErrors=True):
        if not succeeded:
            outcome.raiseException()


def _brief(route: TopicRouteData) -> str:
    return ", ".join(
        f"{queues.broker_name} {queues.write_queue_nums}/{queues.read_queue_nums} perm {queues.perm}"
        for queues in route.queue_datas
    )


def _tls(
    options: ClientOptions, tls: TlsOptions | None, environment: Environment
) -> ClientTls | ContextTls | None:
    """Return the TLS settings of connections, None for plain text.

    Raises `BadArgument` for unusable files.
    """
    if options.ssl_context is not None:
        return ContextTls(options.ssl_context)
    if not options.use_tls:
        return None
    shows = bool(options.tls_client_cert_path or options.tls_client_key_path)
    tls = tls or TlsOptions(
        tls_test_mode_enable=not shows,
        tls_client_trust_cert_path=options.tls_client_trust_cert_path,
        tls_client_cert_path=options.tls_client_cert_path,
        tls_client_key_path=options.tls_client_key_path or options.tls_client_cert_path,
        tls_client_key_password=options.tls_client_key_password,
    )
    try:
        return ClientTls(tls, environment.disk, check_host=options.check_host_name)
    except UNUSABLE as error:
        paths = [
            f"{name}={value}"
            for name in ("tls_client_cert_path", "tls_client_key_path", "tls_client_trust_cert_path")
            if (value := getattr(options, name))
        ]
        raise BadArgument(f"{', '.join(paths)}: cannot be used: {error or type(error).__name__}") from error
