"""Kafka's protocol as a broker serves it: its port, its time, and what is loaded when.

Nothing of it is loaded before the first connection, which waits until a worker has imported the modules. A
broker that has groups or transactions of Kafka, or other broker groups in its cluster, loads them once it is
ready, as time passes for these.
Connections are those of the remoting server: TLS, PROXY protocol, their number, and a stop that closes each
once its requests are answered.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.meters import LATENCY_BOUNDS, Histogram, QuotaFigures, TelemetryFigures
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.advertised import advertised_address
from mqgateway.gateway.kafka.loading import LoadingConnection
from mqgateway.gateway.remoting.handshake import Conversing
from mqgateway.gateway.remoting.pending_input import PendingInput
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

if TYPE_CHECKING:
    from mqgateway.gateway.kafka.api import Handlers
    from mqgateway.gateway.kafka.connection import KafkaConnection
    from mqgateway.gateway.kafka.connection_settings import KafkaConnectionSettings
    from mqgateway.gateway.kafka.service import KafkaService
    from mqgateway.gateway.kafka.throttling import Throttling
    from mqgateway.gateway.kafka.topics import Topics

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
MODULES = (
    "mqgateway.gateway.kafka.connection",
    "mqgateway.gateway.broker.operations.batches",
    "mqgateway.gateway.broker.operations.tables",
    "mqgateway.gateway.kafka.service",
    "mqgateway.gateway.kafka.dispatch",
    "mqgateway.gateway.kafka.sasl.authentication",
    "mqgateway.gateway.kafka.sasl.token_settings",
    "mqgateway.gateway.kafka.throttling",
)
"""Modules that the first connection needs, which a worker loads one after another."""
WAITING = ("Fetch", "JoinGroup", "SyncGroup")
"""APIs that may wait for what has not happened yet."""


class KafkaServer:
    """Kafka's protocol on a remoting server's connections.

    `advertised` is the host that the broker gives to clients. `worker` imports modules; without one the first
    connection does. `latency` records how long answers take. `before` is given all handlers, and returns
    those that are served.
    """

    def __init__(
        self,
        operations: Operations,
        server: RemotingServer,
        *,
        reactor: Reactor,
        advertised: str,
        worker: Worker | None = None,
        latency: Histogram | None = None,
        before: Callable[[Handlers, Topics], Handlers] | None = None,
    ) -> None:
        self._operations = operations
        self._server = server
        self._reactor = reactor
        self._advertised = advertised
        self._worker = worker
        self._latency = latency
        self._before = before
        self._schedule = Schedule(reactor)
        self._terms: KafkaConnectionSettings | None = None
        self._service: KafkaService | None = None
        self._throttling: Throttling | None = None
        self._connections: set[KafkaConnection] = set()
        self._waiting: list[LoadingConnection] = []
        self._is_loading = False
        self._host = ""
        self.port = 0
        """The port in use; 0 if it could not be opened."""

    @property
    def connection_count(self) -> int:
        """The number of connections."""
        return len(self._connections)

    def telemetry(self) -> TelemetryFigures | None:
        """Return the figures of the metrics of clients; None if none are received, or before any client."""
        return None if self._service is None else self._service.telemetry()

    def quotas(self) -> QuotaFigures | None:
        """Return the figures of the quotas of clients; None before any client."""
        return None if self._service is None else self._service.quotas.figures()

    def endpoint(self, advertised: str) -> str | None:
        """See `front_end.Running`."""
        return f"{advertised}:{self.port}" if self.port else None

    def start(self, host: str, port: int) -> None:
        """Listen on a port (0: any free one) if it can be opened."""
        self._host = host
        self.port = self._server.listen_for(self._connection, host, port, title="Kafka", setting="kafkaPort")
        if self.port:
            options = self._operations.options
            address = advertised_address(options, self._advertised, self.port)
            self._operations.replicas.publish(options.kafka_node_id, *address, options.kafka_rack)
        self._schedule.every(TICK_SECONDS, TICK_SECONDS, self._tick)
        has_work = self._operations.peers is not None or any(
            self._operations.topics.get(topic) is not None for topic in KAFKA_COORDINATOR_TOPICS
        )
        if has_work:
            self._schedule.later(0, self._load)  # once the server is ready, which that would delay

    def stop(self) -> None:
        """End its time, and answer what waits; the connections end with the remoting server's."""
        self._operations.replicas.leave()
        self._schedule.stop()
        if self._service is not None:
            self._service.stop()

    def _load(self) -> None:
        """Load the modules, once."""
        if not self._is_loading:
            self._is_loading = True
            self._load_from(0)

    def _load_from(self, index: int) -> None:
        """Load one module after another, so that other work of the worker is not delayed."""
        if self._worker is not None and index < len(MODULES):
            name = MODULES[index]
            self._worker.run(lambda: import_module(name), lambda _: self._load_from(index + 1))
            return
        self._terms = terms = self._make_terms()  # groups are read before any client commits
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.become(self._made(terms))

    def _connection(self) -> Conversing:
        self._load()
        if self._terms is not None:
            return self._made(self._terms)
        connection = LoadingConnection(self._say_refused)
        self._waiting.append(connection)
        return connection

    def _made(self, terms: KafkaConnectionSettings) -> KafkaConnection:
        from mqgateway.gateway.kafka.connection import KafkaConnection

        return KafkaConnection(terms, self._opened, self._connections.discard)

    def _opened(self, connection: KafkaConnection) -> None:
        self._connections.add(connection)
        if self._throttling is not None:
            self._throttling.opened(connection)

    def _say_refused(self, peer: str, reason: str) -> None:
        log.warning("%s is disconnected: %s", peer, reason)

    def _make_terms(self) -> KafkaConnectionSettings:
        from mqgateway.gateway.kafka.connection_settings import KafkaConnectionSettings
        from mqgateway.gateway.kafka.dispatch import KafkaDispatcher
        from mqgateway.gateway.kafka.node import Node
        from mqgateway.gateway.kafka.sasl.authentication import Authentication, has_sasl
        from mqgateway.gateway.kafka.sasl.session import SaslSession
        from mqgateway.gateway.kafka.sasl.token_settings import token_verifier
        from mqgateway.gateway.kafka.service import KafkaService
        from mqgateway.gateway.kafka.throttling import Throttling

        options, remoting = self._operations.options, self._server.settings
        has_authentication = has_sasl(options)
        node = Node(
            self._operations,
            self._advertised,
            self.port,
            host=self._host,
            requires_tls=self._server.requires_tls,
            has_sasl=has_authentication,
        )
        self._service = KafkaService(self._operations, node)
        self._throttling = Throttling(self._service.quotas, self._schedule)
        handlers = self._service.handlers
        dispatcher = KafkaDispatcher(
            self._operations,
            handlers if self._before is None else self._before(handlers, self._service.topics),
            seconds=self._reactor.seconds,
            noted=None if self._latency is None else self._noted,
            repeated=self._service.repeated if self._before is None else None,
            quotas=self._throttling,
        )
        authentication = Authentication(
            self._operations,
            dispatcher,
            seconds=self._reactor.seconds,
            pause=Schedule(self._reactor).pause,
            user_of=self._users_by_certificate(),
            worker=self._worker,
            verify=token_verifier(self._operations, self._schedule, self._reactor, self._worker),
        )
        request_limit = options.kafka_max_request_size
        return KafkaConnectionSettings(
            dispatcher,
            remoting,
            PendingInput.for_messages(
                remoting.pending_limit,
                remoting.address_pending_limit,
                remoting.reactor.seconds,
                request_limit,
            ),
            request_limit,
            options.kafka_max_requests_in_flight,
            options.kafka_connections_max_idle_millis / 1000,
            partial(SaslSession, authentication) if has_authentication else None,
        )

    def _users_by_certificate(self) -> Callable[[Any], str | None]:
        from mqgateway.gateway.kafka.sasl.authentication import no_user
        from mqgateway.gateway.kafka.sasl.certificates import CertificateUsers

        if not self._server.verifies_clients:
            return no_user
        return CertificateUsers(self._operations.options.kafka_principal_mapping_rules).user_of

    def _noted(self, api: str, seconds: float) -> None:
        assert self._latency is not None
        millis = int(seconds * 1000)
        distribution = self._latency.of((api.lower(), "none", str(api in WAITING).lower(), "success"))
        distribution.counts[bisect_left(LATENCY_BOUNDS, millis)] += 1
        distribution.sum += millis

    def _tick(self) -> None:
        self._operations.replicas.tick()
        if self._service is not None:
            self._service.tick()
