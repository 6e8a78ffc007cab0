"""A Kafka cluster as its client sees it: nodes, leaders of partitions and coordinators of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from mqgateway.gateway.client.errors import Unreachable
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.metadata_response import MetadataResponse
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.migration.kafka.connection import BrokerConnection, KafkaError, check
from mqgateway.gateway.migration.kafka.security import ClusterSecurity

T = TypeVar("T")
COORDINATOR_KEYS_SINCE = 4
"""Version of FindCoordinator that names several groups."""


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class KafkaCluster:
    """A cluster, found by the addresses of some of its brokers. `seconds` is the time an answer may take."""

    def __init__(self, bootstrap: Sequence[str], security: ClusterSecurity, seconds: float) -> None:
        self.bootstrap = list(bootstrap)
        self._security = security
        self._seconds = seconds
        self._open: dict[str, BrokerConnection] = {}
        self._addresses: dict[int, str] = {}
        self._leaders: dict[Partition, int] = {}
        self._controller = -1

    def connection(self, address: str) -> BrokerConnection:
        """Return the connection to an address. Raises `Unreachable`."""
        if address not in self._open:
            self._open[address] = BrokerConnection(address, self._security, self._seconds)
        return self._open[address]

    def ask_any(self, request: Message) -> Any:
        """Return the answer of the first broker that is reachable. Raises `ClientError`."""
        failure: Exception = Unreachable("no broker is given")
        for address in dict.fromkeys((*self.bootstrap, *self._addresses.values())):
            try:
                return self.ask_at(address, request)
            except Unreachable as error:
                failure = error
        raise failure

    def ask_at(self, address: str, request: Message) -> Any:
        """Return the answer of the broker at an address. Raises `ClientError`."""
        return self.ask_together(address, [request])[0]

    def ask_together(self, address: str, requests: Sequence[Message]) -> list[Any]:
        """Return the answers of a broker to several requests. A failed connection is closed."""
        try:
            return self.connection(address).ask_together(requests)
        except BaseException:
            if address in self._open:
                self._open.pop(address).close()
            raise

    def metadata(self, topics: Sequence[str] | None = None) -> MetadataResponse:
        """Return the metadata of topics, None for all, and note nodes and leaders."""
        from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequestTopic

        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer: MetadataResponse = self.ask_any(MetadataRequest(names, allow_auto_topic_creation=False))
        self._addresses = {node.node_id: _address(node.host, node.port) for node in answer.brokers}
        self._controller = answer.controller_id
        for topic in answer.topics:
            for one in topic.partitions:
                self._leaders[Partition(topic.name or "", one.partition_index)] = one.leader_id
        return answer

    def nodes(self) -> list[str]:
        """Return the addresses of all brokers, by their ids."""
        self.metadata([])
        return [address for _, address in sorted(self._addresses.items())]

    def controller(self) -> str:
        """Return the address for changes of topics."""
        nodes = self.nodes()
        return self._addresses.get(self._controller, nodes[0])

    def by_leader(self, partitions: Iterable[Partition]) -> dict[str, list[Partition]]:
        """Return partitions by the addresses of their leaders. Those without a leader are left out."""
        wanted = list(partitions)
        if missing := {one.topic for one in wanted if self._leader(one) is None}:
            self.metadata(sorted(missing))
        found: dict[str, list[Partition]] = {}
        for partition in wanted:
            address = self._leader(partition)
            if address is not None:
                found.setdefault(address, []).append(partition)
        return found

    def forget_leaders(self) -> None:
        """Read the leaders again when they are needed next."""
        self._leaders.clear()

    def coordinator(self, group: str) -> str:
        """Return the address of a group's coordinator. Raises `KafkaError`."""
        key = FindCoordinatorRequest.KEY
        failure: Exception = Unreachable("no broker is given")
        for address in self.nodes():
            try:
                if self.connection(address).version(key) >= COORDINATOR_KEYS_SINCE:
                    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
                    [found] = self.ask_at(address, request).coordinators
                else:
                    found = self.ask_at(address, FindCoordinatorRequest(group, 0))
                check(found.error_code, f"coordinator of {group}", found.error_message)
                return _address(found.host, found.port)
            except (Unreachable, KafkaError) as error:
                failure = error
        raise failure

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.popitem()[1].close()

    def _leader(self, partition: Partition) -> str | None:
        return self._addresses.get(self._leaders.get(partition, -1))


def by_topic(values: Mapping[Partition, T]) -> dict[str, list[tuple[int, T]]]:
    """Return values of partitions by topic, as requests have them."""
    found: dict[str, list[tuple[int, T]]] = {}
    for partition, value in values.items():
        found.setdefault(partition.topic, []).append((partition.number, value))
    return found


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
