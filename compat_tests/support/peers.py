"""Pairs of a server and a client, for scenarios."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS, CURRENT
from compat_tests.support.driver import (
    ClientError,
    Driver,
    LitePullConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    Queue,
    Replier,
    Requester,
    TransactionProducer,
    Wanted,
)
from compat_tests.support.processes import wait_until
from compat_tests.support.runtime import Runtime
from compat_tests.support.servers import MixedCluster, Server, Settings
from compat_tests.support.transcripts import Transcripts


class Variant(NamedTuple):
    """A client version and the JVM properties that change its protocol."""

    version: str
    properties: Mapping[str, str]


VARIANTS = {
    **{version: Variant(version, {}) for version in CLIENT_VERSIONS},
    "binary": Variant(CURRENT, {"rocketmq.serialize.type": "ROCKETMQ"}),
    "tls": Variant(CURRENT, {"tls.enable": "true"}),
}
"""Every client JVM of a run: both versions, the binary header form, and TLS."""

MODEL_TOPIC = "TBW102"
"""Topic of every broker; clients create topics on the brokers of its route."""

KINDS = ("apache", "ours")

IMPATIENT: Settings = {
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "6",
    "transactionOpMsgMaxSize": "1",
}
"""Settings with early and frequent transaction checks."""

TUNED: Settings = {
    **IMPATIENT,
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
    "useServerSideResetOffset": "false",
}
"""Settings that several scenarios can share: one more server of a kind, not one for each setting."""


def chosen_kinds(config: pytest.Config) -> tuple[str, ...]:
    """Return the kinds of servers of this run."""
    chosen: str = config.getoption("--server")
    return KINDS if chosen == "both" else (chosen,)


class Peer:
    """One client JVM with one server. Its names are unique in the whole run."""

    _numbers = itertools.count(1)

    def __init__(self, namesrv_address: str, driver: Driver, variant: str) -> None:
        self.namesrv_address = namesrv_address
        self.driver = driver
        self.variant = variant
        self._lock = threading.Lock()
        self._maker: Producer | None = None

    def close(self) -> None:
        """Close the peer's own producer."""
        if self._maker is not None:
            self._maker.close()
            self._maker = None

    def name(self, what: str) -> str:
        """A new topic or group name."""
        return re.sub("[^A-Za-z0-9_-]", "_", f"{what}_{self.variant}_{next(self._numbers)}")

    def topic(self, what: str, queues: int = 4, brokers: int = 1) -> str:
        """A new topic with that many queues on each broker, known to clients."""
        topic = self.name(what)
        maker = self._client()
        # The client creates it on the registered brokers only, so wait until all have registered.
        wait_until(lambda: self._broker_count(MODEL_TOPIC) == brokers, 30, "all brokers have registered")
        maker.create_topic(topic, queues)
        wait_until(lambda: self._queue_count(topic) == queues * brokers, 20, f"{topic} has a route")
        return topic

    def knows(self, topic: str, queues: int) -> bool:
        """Return True if clients see that many queues of a topic that was created in another way."""
        return self._queue_count(topic) == queues

    def producer(self, group: str | None = None, **options: Any) -> Producer:
        """A started producer."""
        return Producer(self.driver, self.namesrv_address, group or self.name("producers"), **options)

    def transactions(self, topic: str, group: str | None = None) -> TransactionProducer:
        """A started producer of transactions, known to the brokers of a topic."""
        group = group or self.name("deciders")
        return TransactionProducer(self.driver, self.namesrv_address, group, topic=topic)

    def push(self, group: str, subscriptions: Mapping[str, Wanted], **options: Any) -> PushConsumer:
        """Return a started push consumer; by default from the first offset, concurrent, clustering."""
        chosen = {
            "listener": "concurrent",
            "model": "CLUSTERING",
            "from": "CONSUME_FROM_FIRST_OFFSET",
            **options,
        }
        chosen["subscriptions"] = dict(subscriptions)
        return PushConsumer(self.driver, self.namesrv_address, group, **chosen)

    def pull(self, group: str) -> PullConsumer:
        """A started pull consumer."""
        return PullConsumer(self.driver, self.namesrv_address, group)

    def lite(self, group: str, **options: Any) -> LitePullConsumer:
        """A started lite pull consumer."""
        return LitePullConsumer(self.driver, self.namesrv_address, group, **options)

    def requester(self, group: str) -> Requester:
        """A started producer of requests."""
        return Requester(self.driver, self.namesrv_address, group)

    def replier(self, group: str, topic: str) -> Replier:
        """A started consumer that replies."""
        return Replier(self.driver, self.namesrv_address, group, topic=topic)

    def _client(self) -> Producer:
        """Return the producer that creates topics and reads routes."""
        with self._lock:
            if self._maker is None:
                self._maker = self.producer()
            return self._maker

    def _broker_count(self, topic: str) -> int:
        return len({queue.broker_name for queue in self._queues(topic)})

    def _queue_count(self, topic: str) -> int:
        return len(self._queues(topic))

    def _queues(self, topic: str) -> list[Queue]:
        try:
            return self._client().queues(topic)
        except ClientError:
            return []


class Peers:
    """All servers and client programs of a run, started at the first request, ended by ``close``."""

    def __init__(self, runtime: Runtime, work: Path, transcripts: Transcripts | None = None) -> None:
        self.runtime = runtime
        self.work = work
        self.transcripts = transcripts or Transcripts()
        self._lock = threading.RLock()
        self._servers: dict[tuple[str, str], Server] = {}
        self._drivers: dict[str, Driver] = {}
        self._peers: dict[tuple[str, str], Peer] = {}
        """By address of the name server and variant."""

    def server(self, kind: str) -> Server:
        """Return the shared server of a kind."""
        return self.tuned(kind, None)

    def tuned(self, kind: str, settings: Settings | None = TUNED) -> Server:
        """Return the shared server of a kind with these settings."""
        place = kind, str(sorted((settings or {}).items()))
        with self._lock:
            if place not in self._servers:
                self._servers[place] = Server(kind, self.work, settings).start()
            return self._servers[place]

    def driver(self, variant: str) -> Driver:
        """Return the client JVM of a variant."""
        version, properties = VARIANTS[variant]
        return self.shared(variant, lambda: Driver(self.runtime, version, properties))

    def shared(self, name: str, make: Callable[[], Driver]) -> Driver:
        """Return a shared client program; start it again if it has ended by itself."""
        with self._lock:
            if name not in self._drivers or self._drivers[name].has_ended:
                self._drivers[name] = make()
            return self._drivers[name]

    def peer(self, kind: str, variant: str) -> Peer:
        """The shared server of a kind with the client JVM of a variant."""
        return self.with_server(self.server(kind), variant)

    @contextmanager
    def fresh(self, kind: str, settings: Settings | None = None) -> Iterator[Server]:
        """Return a server for one scenario, for those that end servers."""
        with Server(kind, self.work, settings) as server:
            try:
                yield server
            finally:
                self._leave(server)

    def with_server(self, server: Server | MixedCluster, variant: str) -> Peer:
        """The client JVM of a variant with a given server."""
        place = server.namesrv_address, variant
        with self._lock:
            if place not in self._peers or self._peers[place].driver.has_ended:
                self._peers[place] = Peer(server.namesrv_address, self.driver(variant), variant)
            return self._peers[place]

    def release(self, kind: str) -> None:
        """End the shared servers of a kind that no scenario needs now: Apache's are never quite idle."""
        with self._lock:
            for place in [place for place in self._servers if place[0] == kind]:
                server = self._servers.pop(place)
                self._leave(server)
                server.discard()

    def _leave(self, server: Server) -> None:
        """Close the peers of a server: their clients would reconnect until the run ends."""
        with self._lock:
            leaving = [place for place in self._peers if place[0] == server.namesrv_address]
            left = [self._peers.pop(place) for place in leaving]
        for peer in left:
            peer.close()

    def close(self) -> None:
        """End all client programs and servers."""
        for driver in self._drivers.values():
            driver.close()
        for server in self._servers.values():
            server.discard()
