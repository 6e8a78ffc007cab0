"""The official Go client as Python objects: a driver program in Go, spoken to as the one for Java is.

Kinds of clients and their operations are those of ``driver``; where the Go client can do less, less is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compat_tests.support.artifacts import go_program
from compat_tests.support.driver import (
    ANSWER_SECONDS,
    PATIENCE_SECONDS,
    ClientError,
    Driver,
    PullConsumer,
    Queue,
    Received,
    Wanted,
    received_of,
)
from compat_tests.support.peers import Peer
from compat_tests.support.processes import Process, wait_until
from compat_tests.support.runtime import Runtime
from compat_tests.support.servers import Server

VERSION = "go"


class GoDriver(Driver):
    """One process with the official Go client in it; ``work`` is where it may keep files."""

    def __init__(self, runtime: Runtime, work: Path) -> None:
        self._work = work
        super().__init__(runtime, VERSION)

    def _start(self, runtime: Runtime, properties: Mapping[str, str]) -> Process:
        env = {"HOME": str(self._work), "ROCKETMQ_GO_LOG_LEVEL": "warn"}
        return runtime.run([str(go_program("driver"))], env)


class GoPullConsumer(PullConsumer):
    """PullConsumer of the Go client, which reads one topic. Options: topic, expression."""

    def poll(self, count: int, seconds: float = PATIENCE_SECONDS) -> list[Received]:
        """Poll and acknowledge until at least ``count`` messages came or the time is over."""
        shapes = self._ask("poll", seconds + ANSWER_SECONDS, count=count, millis=int(seconds * 1000))
        return [received_of(shape) for shape in shapes]

    def persist(self, topic: str) -> None:
        """Tell the server the offsets that ``update_offset`` and ``poll`` set."""
        self._ask("persist", topic=topic)


class GoPeer(Peer):
    """The Go client beside one server. Topics are made by the client's own administration."""

    def __init__(self, server: Server, driver: Driver) -> None:
        super().__init__(server.namesrv_address, driver, VERSION)
        self._broker_address = server.broker_address

    def topic(self, what: str, queues: int = 4, brokers: int = 1) -> str:
        """A new topic with that many queues on the server's broker, known to clients."""
        topic = self.name(what)
        self.create_topic(topic, queues)
        wait_until(lambda: len(self.queues(topic)) == queues * brokers, 20, f"{topic} has a route")
        return topic

    def create_topic(self, topic: str, queues: int) -> None:
        """Create a topic on the server's broker."""
        self._ask("admin.createTopic", broker=self._broker_address, topic=topic, queues=queues)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic in the broker that has it and in the name server."""
        self._ask("admin.deleteTopic", topic=topic)

    def topics(self) -> list[str]:
        """All topics that the name server knows."""
        return [str(topic) for topic in self._ask("admin.topics")]

    def queues(self, topic: str) -> list[Queue]:
        """The queues of a topic that can be sent to; none when it has no route."""
        try:
            shapes = self._ask("producer.queues", topic=topic)
        except ClientError:
            return []
        return sorted(Queue(shape["topic"], shape["brokerName"], shape["queueId"]) for shape in shapes)

    def puller(self, group: str, topic: str, expression: Wanted = "*") -> GoPullConsumer:
        """A started pull consumer of one topic."""
        options = {"topic": topic, "expression": expression}
        return GoPullConsumer(self.driver, self.namesrv_address, group, **options)

    def _ask(self, op: str, **arguments: Any) -> Any:
        return self.driver.ask(op, namesrv=self.namesrv_address, **arguments)
