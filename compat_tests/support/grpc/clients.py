"""The official gRPC clients as Python objects: a driver program for each language, spoken to in JSON lines.

Producers, simple, push and lite consumers have the same operations in every language, except where a client
lacks one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import pytest

from compat_tests.support.artifacts import SMALL_JVM
from compat_tests.support.driver import ANSWER_SECONDS, PATIENCE_SECONDS, ClientError, Driver, Wanted
from compat_tests.support.grpc.builds import (
    PROGRAMS,
    go_driver,
    java_driver,
    node_driver,
    python_of_the_client,
)
from compat_tests.support.grpc.doors import GrpcServer, certificate
from compat_tests.support.peers import Peers
from compat_tests.support.processes import Process
from compat_tests.support.runtime import LocalRuntime, Runtime

LANGUAGES = ("java", "python", "node")
WITH_GO = (*LANGUAGES, pytest.param("go", marks=pytest.mark.long))
"""The Go client belongs to the long run because of its compiler, which a Debian machine does not have."""

GO_WITH_TLS = "go-tls"
"""The Go client's driver in a process with TLS, which in that client is a setting of the whole process."""

TRIES, PROXY_TIMEOUT = 5, 50400

COMMIT, ROLLBACK, UNDECIDED = "COMMIT", "ROLLBACK", "NONE"


class Sent(NamedTuple):
    """A send receipt."""

    message_id: str
    recall_handle: str | None


class Received(NamedTuple):
    """A message as a client hands it to its user. Times in ms since the epoch.

    ``md5`` is that of the body; ``body`` is empty if it is longer than 1024 bytes.
    """

    message_id: str
    topic: str
    size: int
    md5: str
    body: str
    properties: dict[str, str]
    keys: list[str]
    tag: str | None
    group: str | None
    lite: str | None
    priority: int | None
    delivery_timestamp: int | None
    born_host: str
    born_timestamp: int
    attempt: int | None
    received_at: int
    delivery: int
    """Number of deliveries of the message to this consumer; 0 if they are not counted."""
    receipt: int
    """The driver's number of the message; 0 if it cannot be acknowledged explicitly."""


class GrpcDriver(Driver):
    """One process with the official client of a language in it; ``work`` is the folder of its files."""

    def __init__(self, runtime: Runtime, language: str, work: Path) -> None:
        self._work = work
        super().__init__(runtime, language)

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        if self.version == "java":
            return runtime.java([*SMALL_JVM, "-cp", java_driver(), "compat.grpc.Driver"])
        here, env = LocalRuntime(self._work), {"HOME": str(self._work)}
        if self.version in ("go", GO_WITH_TLS):
            env["rocketmq.client.enableSsl"] = str(self.version == GO_WITH_TLS).lower()
            return here.run([str(go_driver())], env)
        # These two verify certificates; the Java and Go clients accept any.
        env["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = str(certificate(self._work)[1])
        if self.version == "python":
            command = [str(python_of_the_client()), str(PROGRAMS / "python" / "driver.py")]
            return here.run(command, {**env, "PYTHONPATH": ""})
        return here.run(["node", str(node_driver())], env)


class _Client:
    """A client object in a driver: made by ``KIND.start``, ended by ``KIND.stop``."""

    kind = ""

    def __init__(self, driver: Driver, endpoints: str, **options: Any) -> None:
        self.driver = driver
        self.name = driver.new_name(self.kind)
        self._running = True
        self._ask("start", endpoints=endpoints, **options)

    def close(self) -> None:
        """Shut the client down; a second call does nothing."""
        if self._running:
            self._running = False
            self._ask("stop")

    def _ask(self, op: str, timeout: float = ANSWER_SECONDS, **arguments: Any) -> Any:
        return self.driver.ask(f"{self.kind}.{op}", timeout, name=self.name, **arguments)

    def _waited(self, op: str, count: int, seconds: float) -> list[Received]:
        millis = int(seconds * 1000)
        return [_received(one) for one in self._ask(op, seconds + ANSWER_SECONDS, count=count, millis=millis)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class Producer(_Client):
    """A producer. Options: topics, tls."""

    kind = "producer"

    def send(self, *messages: Mapping[str, Any]) -> list[Sent]:
        """Send messages one after the other.

        Fields: topic, body or size, tag, keys, properties, group, lite, priority, delay (ms).
        """
        return [_sent(one) for one in self._ask("send", messages=list(messages))]

    def begin(self, message: Mapping[str, Any], resolution: str) -> Sent:
        """Send a half message; end its transaction, or leave it open."""
        return _sent(self._ask("begin", message=message, resolution=resolution))

    def decide(self, bodies: Sequence[str], state: str) -> None:
        """Set the response to transaction checks of these messages; others stay unknown."""
        self._ask("decide", bodies=list(bodies), state=state)

    def questions(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Wait for `count` transaction checks or the end of the time; return all checks so far."""
        return self._waited("questions", count, seconds)

    def recall(self, topic: str, handle: str) -> str:
        """Recall a delayed message; return its id."""
        return str(self._ask("recall", topic=topic, handle=handle))

    def begin_storm(self, topic: str, threads: int) -> Future[list[str]]:
        """Send from several threads until :meth:`calm`; the result is the acknowledged bodies."""
        return self.driver.begin("producer.storm", name=self.name, topic=topic, threads=threads)

    def storm_count(self) -> int:
        """Return the number of acknowledged sends of the storm so far."""
        return int(self._ask("stormCount"))

    def calm(self) -> None:
        """End the storm."""
        self._ask("calm")


class SimpleConsumer(_Client):
    """A consumer with explicit receives. Options: group, subscriptions, await (ms), tls."""

    kind = "simple"

    def receive(self, most: int = 16, invisible: int = 20_000) -> list[Received]:
        """Receive once; the messages stay invisible to other consumers for `invisible` ms."""
        return [_received(one) for one in self._ask("receive", max=most, invisible=invisible)]

    def collect(
        self, count: int, seconds: float = PATIENCE_SECONDS, *, invisible: int = 20_000, ack: bool = True
    ) -> list[Received]:
        """Receive until `count` messages came or the time is over; with `ack`, acknowledge each at once."""
        found: list[Received] = []
        end = time.monotonic() + seconds
        while len(found) < count and time.monotonic() < end:
            received = self.receive(invisible=invisible)
            if received and ack:
                self.ack(*received)
            found += received
        return found

    def ack(self, *messages: Received) -> None:
        """Acknowledge messages."""
        self._ask("ack", receipts=[one.receipt for one in messages])

    def change(self, message: Received, invisible: int) -> None:
        """Make a message visible again after `invisible` ms."""
        self._ask("change", receipt=message.receipt, invisible=invisible)


class PushConsumer(_Client):
    """A consumer with a listener. Options: group, subscriptions, tls, failFirst, refuse (bodies)."""

    kind = "push"

    def collect(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Wait for at least ``count`` deliveries or the end of the time; return all so far."""
        return self._waited("collect", count, seconds)


class LiteConsumer(PushConsumer):
    """A consumer of lite topics. Options: group, topic."""

    kind = "lite"

    def subscribe(self, lite: str) -> None:
        """Subscribe to a lite topic; retry if a busy broker was too slow for Apache's proxy."""
        for left in reversed(range(TRIES)):
            try:
                self._ask("subscribe", lite=lite)
                return
            except ClientError as failure:
                if failure.code != PROXY_TIMEOUT or not left:
                    raise

    def unsubscribe(self, lite: str) -> None:
        """Unsubscribe from a lite topic."""
        self._ask("unsubscribe", lite=lite)


class Peer:
    """The client of one language at one gRPC front end. Its names are unique in the whole run."""

    _numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(self, server: GrpcServer, driver: Driver) -> None:
        self.server = server
        self.driver = driver

    def name(self, what: str) -> str:
        """A new topic or group name."""
        return f"{what}_{self.driver.version}_{next(self._numbers)}"

    def topic(self, what: str, kind: str = "NORMAL", queues: int = 4) -> str:
        """A new topic for messages of one type."""
        return self.server.make_topic(self.name(what), kind, queues)

    def group(self, what: str, **options: Any) -> str:
        """A new consumer group; see :meth:`GrpcServer.make_group`."""
        return self.server.make_group(self.name(what), **options)

    def producer(self, *topics: str, **options: Any) -> Producer:
        """A started producer."""
        return Producer(self.driver, self.server.endpoints, topics=list(topics), **options)

    def simple(self, group: str, subscriptions: Mapping[str, Wanted], **options: Any) -> SimpleConsumer:
        """Return a started simple consumer; a call waits for five seconds by default."""
        chosen = {"await": 5_000, **options, "group": group, "subscriptions": dict(subscriptions)}
        return SimpleConsumer(self.driver, self.server.endpoints, **chosen)

    def push(self, group: str, subscriptions: Mapping[str, Wanted], **options: Any) -> PushConsumer:
        """A started push consumer."""
        chosen = {**options, "group": group, "subscriptions": dict(subscriptions)}
        return PushConsumer(self.driver, self.server.endpoints, **chosen)

    def lite(self, group: str, topic: str, **options: Any) -> LiteConsumer:
        """A started consumer of lite topics of a topic."""
        return LiteConsumer(self.driver, self.server.endpoints, group=group, topic=topic, **options)


def driver_of(language: str, peers: Peers) -> Driver:
    """Return the shared driver of a language."""
    make = GrpcDriver
    return peers.shared(f"grpc-{language}", lambda: make(peers.runtime, language, peers.work))


def peer_at(server: GrpcServer, language: str, peers: Peers) -> Peer:
    """Return the client of a language at a gRPC front end."""
    return Peer(server, driver_of(language, peers))


def _sent(shape: Mapping[str, Any]) -> Sent:
    return Sent(shape["messageId"], shape.get("recallHandle"))


def _received(shape: Mapping[str, Any]) -> Received:
    return Received(
        message_id=shape["messageId"],
        topic=shape["topic"],
        size=shape["size"],
        md5=shape["md5"],
        body=shape["body"],
        properties=shape["properties"],
        keys=sorted(shape["keys"]),
        tag=shape.get("tag") or None,
        group=shape.get("group") or None,
        lite=shape.get("lite") or None,
        priority=shape.get("priority"),
        delivery_timestamp=shape.get("deliveryTimestamp") or None,
        born_host=shape["bornHost"],
        born_timestamp=shape["bornTimestamp"],
        attempt=shape.get("attempt"),
        received_at=shape["receivedAt"],
        delivery=shape.get("delivery", 0),
        receipt=shape.get("receipt", 0),
    )
