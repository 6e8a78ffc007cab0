"""A Kafka cluster of several broker groups in memory: a name server, and a master for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from mqgateway.engine.message import java_hash
from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.front_end import FrontEndEnvironment
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.front_end import KAFKA
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.kafka.client import KafkaClient

KAFKA_PORT = 9092
REMOTING_PORT = 10911
APART = 100
"""Difference of the ports of one group and the next."""
BEHIND = 50
"""Difference of the ports of a master and its slave."""


class _Loop:
    """The time of a cluster, as clients have it. `settle` lets a tenth of a second pass at least."""

    def __init__(self, group: Group) -> None:
        self.net = group.net

    def settle(self, seconds: float) -> None:
        """Let time pass."""
        self.net.settle(max(seconds, 0.1))


class KafkaCluster:
    """Broker groups with these names, in the order of the setting. Those in `started` have a master."""

    def __init__(
        self, names: Sequence[str] = ("a", "b"), *, started: Sequence[str] | None = None, **settings: Any
    ) -> None:
        self.names = names
        self.world = Group()
        self._settings = settings
        self._members: dict[str, Member] = {}
        self._servers: dict[str, Any] = {}
        for name in names if started is None else started:
            self.start(name)
        self.wait(3)

    def start(self, name: str) -> Member:
        """Start the master of a group, with an empty store."""
        return self._add(name, name, BrokerRole.ASYNC_MASTER, 0)

    def start_slave(self, name: str) -> str:
        """Start a slave of a group; return what it is called here."""
        self._add(f"{name}-slave", name, BrokerRole.SLAVE, 1)
        return f"{name}-slave"

    def _add(self, called: str, group: str, role: BrokerRole, number: int) -> Member:
        member = Member(
            self.world,
            REMOTING_PORT + self._offset(called),
            role,
            number,
            broker_name=group,
            kafka_cluster_groups=",".join(self.names),
            **self._settings,
        )
        self._members[called] = member
        self.listen(called)
        return member

    def restart(self, name: str) -> None:
        """Start the master of a group again, on its disk."""
        self._members[name].begin(BrokerRole.ASYNC_MASTER, 0)
        self.listen(name)

    def extend(self, name: str) -> None:
        """Append a group to the setting: start its master, and restart the others one after the other."""
        self.names = (*self.names, name)
        for other, member in self._members.items():
            member.settings["kafka_cluster_groups"] = ",".join(self.names)
            self.stop(other)
            self.restart(other)
            self.wait(5)
        self.start(name)
        self.wait(10)

    def stop(self, name: str) -> None:
        """Stop the master of a group."""
        self._servers.pop(name).stop()
        self._members[name].stop()

    def kill(self, name: str) -> None:
        """Kill the process of a group's master: it does nothing that a stop does."""
        self._servers.pop(name)._schedule.stop()
        self.world.net.ports.pop(KAFKA_PORT + self._offset(name))
        self._members[name].kill()

    def listen(self, name: str) -> None:
        """Start Kafka's port of a group's master."""
        member = self._members[name]
        environment: Any = FrontEndEnvironment(
            operations=member.service.operations,
            server=member.service.server,
            reactor=self.world.net,  # type: ignore[arg-type]
            clock=self.world.clock,
            host="",
            port=KAFKA_PORT + self._offset(name),
            advertised=f"broker-{name}",
            meter=FrontEndMeter(has_latency=False),
        )
        self._servers[name] = KAFKA.start(environment)

    def _offset(self, name: str) -> int:
        group, _, slave = name.partition("-")
        return self.names.index(group) * APART + (BEHIND if slave else 0)

    def member(self, name: str) -> Member:
        """Return the master of a group."""
        return self._members[name]

    def operations(self, name: str) -> Operations:
        """Return the operations of a group's master."""
        return self._members[name].service.operations

    def transactions(self, name: str) -> TxnCoordinator:
        """Return the coordinator of transactions of a group's master."""
        coordinator: TxnCoordinator = self._servers[name]._service._transactions.coordinator
        return coordinator

    def node(self, name: str) -> int:
        """Return the node id of a group's master."""
        return self.names.index(name) * 1000 + 1

    def client(self, name: str) -> KafkaClient:
        """Return a client of a group's master."""
        return KafkaClient(_Loop(self.world), KAFKA_PORT + self._offset(name))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.world.wait(seconds)

    def name_in(self, group: str, word: str = "topic") -> str:
        """Return a name of a topic that is made in a group."""
        for number in range(100):
            name = f"{word}{number}"
            if self.names[crc32(name.encode()) % len(self.names)] == group:
                return name
        raise AssertionError("no name belongs to the group")

    def make_topic(self, group: str, word: str = "topic", partitions: int = 2, *, at: str = "") -> str:
        """Make a topic that one group has, by a request to `at`, else the first group."""
        name = self.name_in(group, word)
        wanted = [CreatableReplicaAssignment(index, [self.node(group)]) for index in range(partitions)]
        self._make(CreatableTopic(name, -1, -1, wanted), at)
        return name

    def make_spread(self, first: str, word: str = "spread", partitions: int = 4, *, at: str = "") -> str:
        """Make a topic with partitions in all groups, the first one in `first`."""
        name = self.name_in(first, word)
        self._make(CreatableTopic(name, partitions, -1), at)
        return name

    def _make(self, topic: CreatableTopic, at: str) -> None:
        [result] = self.client(at or self.names[0]).ask(CreateTopicsRequest([topic])).topics
        assert result.error_code == 0, result.error_message
        self.wait(2)

    def metadata(self, at: str, *topics: str, creates: bool = False) -> Any:
        """Return what a group's master answers of topics; of all if none is named."""
        wanted = [MetadataRequestTopic(name=name) for name in topics] if topics else None
        return self.client(at).ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=creates))

    def shown(self, at: str) -> list[str]:
        """Return the topics that a group's master shows, without those of coordinators."""
        return [topic.name for topic in self.metadata(at).topics if not topic.is_internal]

    def key_at(self, group: str, word: str = "key") -> str:
        """Return a name of a consumer group that a broker group coordinates."""
        names = (f"{word}{number}" for number in range(100))
        return next(name for name in names if self.names[java_hash(name) % len(self.names)] == group)

    def leaders(self, at: str, topic: str) -> list[int]:
        """Return the leaders of a topic's partitions, as a group's master shows them."""
        [found] = self.metadata(at, topic).topics
        assert found.error_code == 0
        return [one.leader_id for one in found.partitions]
