"""Two Kafka clusters in memory, each a test server, and blocking connections to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.plan import KafkaPlan, KafkaProgress
from mqgateway.gateway.migration.kafka.run import Migration
from mqgateway.gateway.migration.kafka.security import ClusterSecurity
from mqgateway.gateway.mqadmin.connection import SocketStream
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import batch_of_values, fetch_request, produce_request, produced

ANSWER_SECONDS = 5.0
STEP_SECONDS = 0.01


class MemoryStream:
    """A connection to a server in memory, whose time passes while an answer is waited for."""

    def __init__(self, scene: KafkaScene) -> None:
        self._loop: Any = scene.hands.loop
        self._received = bytearray()
        self._is_lost = False
        self._seconds = ANSWER_SECONDS
        self._loop.net.meet(scene.port, self)

    def makeConnection(self, transport: Any) -> None:
        """See `Protocol` of Twisted."""
        self._transport = transport

    def dataReceived(self, data: bytes) -> None:
        """See `Protocol` of Twisted."""
        self._received += data

    def connectionLost(self, reason: object) -> None:
        """See `Protocol` of Twisted."""
        self._is_lost = True

    def sendall(self, data: bytes, /) -> None:
        """See `SocketStream`."""
        self._transport.write(data)

    def recv(self, size: int, /) -> bytes:
        """See `SocketStream`."""
        for _ in range(int(self._seconds / STEP_SECONDS)):
            if self._received or self._is_lost:
                data = bytes(self._received[:size])
                del self._received[:size]
                return data
            self._loop.settle(STEP_SECONDS)
        raise TimeoutError

    def settimeout(self, seconds: float, /) -> None:
        """See `SocketStream`."""
        self._seconds = seconds

    def close(self) -> None:
        """See `SocketStream`."""
        self._transport.loseConnection()
        self._loop.settle()


class Side:
    """One of the two clusters."""

    def __init__(self, scene: KafkaScene) -> None:
        self.scene = scene
        self.client: KafkaClient = scene.client()
        self.refusals = 0
        """Connections that are refused next."""
        self.cluster = KafkaCluster([f"10.0.0.1:{scene.port}"], ClusterSecurity(self.connect), ANSWER_SECONDS)

    def connect(self, host: str, port: int, seconds: float) -> SocketStream:
        """See `Connect`."""
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError(111, "Connection refused")
        return MemoryStream(self.scene)

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        """Make a topic."""
        rows = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
        request = CreateTopicsRequest([CreatableTopic(name, partitions, -1, configs=rows)], 1000)
        [answer] = self.client.ask(request).topics
        assert answer.error_code == 0, answer

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> int:
        """Produce a batch; return the offset of its first record."""
        data = batch_of_values(*values, now=self.scene.server.clock.millis())
        answer = produced(self.client, produce_request(topic, data, partition=partition))
        assert answer.error_code == 0
        return int(answer.base_offset)

    def batches(self, topic: str, partition: int = 0) -> list[Any]:
        """Return the batches of a partition."""
        from mqgateway.gateway.migration.kafka.records import whole_batches

        [answer] = self.client.ask(fetch_request(topic, 0, partition=partition), 12).responses
        [data] = answer.partitions
        return list(whole_batches(data.records or b""))

    def records(self, topic: str, partition: int = 0) -> list[Record]:
        """Return the records of a partition."""
        return [record for batch in self.batches(topic, partition) for record in batch.records()]

    def values(self, topic: str, partition: int = 0) -> list[bytes]:
        """Return the values of a partition's records."""
        return [bytes(one.value or b"") for one in self.records(topic, partition)]


class Environment:
    """Time, output and files of a run."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.kept = 0

    def monotonic(self) -> float:
        """See `MigrationEnvironment`."""
        return self.now

    def wait(self, seconds: float) -> None:
        """See `MigrationEnvironment`."""
        self.now += seconds

    def report(self, subject: str, what: str) -> None:
        """See `MigrationEnvironment`."""
        self.lines.append(f"{subject}: {what}")

    def keep(self) -> None:
        """See `MigrationEnvironment`."""
        self.kept += 1


class Clusters:
    """A source and a target."""

    def __init__(self, source: Side, target: Side) -> None:
        self.source = source
        self.target = target
        self.environment = Environment()
        self.progress = KafkaProgress()

    def migration(self, plan: KafkaPlan) -> Migration:
        """Return a run of a plan, with what earlier runs have kept."""
        self.progress = KafkaProgress.decode(self.progress.encode(), "progress")
        return Migration(self.environment, self.source.cluster, self.target.cluster, plan, self.progress)

    def plan(self, names: Sequence[str] = ()) -> KafkaPlan:
        """Return the plan for topics."""
        from mqgateway.gateway.migration.kafka.survey import survey

        return survey(self.source.cluster, self.target.cluster, names)

    def migrate(self) -> KafkaPlan:
        """Copy what the source has now."""
        plan = self.plan()
        run = self.migration(plan)
        run.prepare()
        run.follow(until_caught_up=True)
        return plan

    def position(self, topic: str, partition: int = 0) -> int:
        """Return how far a partition is copied."""
        return self.progress.partitions[Partition(topic, partition)].position


@contextmanager
def kafka_clusters(**settings: Any) -> Iterator[Clusters]:
    """Yield a source and a target in memory."""
    with kafka_scene(**settings) as source, kafka_scene(**settings) as target:
        yield Clusters(Side(source), Side(target))
