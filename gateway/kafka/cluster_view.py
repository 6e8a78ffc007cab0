"""The cluster as Kafka clients see it: the members of this broker's group, their leader, and its epoch.

The master of the group leads all partitions, and is the controller. Its members are the replicas. A slave
knows them from its master; it leads nothing and refuses what only a leader does, with the leader's address.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.node import Node

NO_LEADER = -1
NO_EPOCH = -1


class ClusterNode(NamedTuple):
    """A node of the cluster, with its address for one client."""

    id: int
    host: str
    port: int
    rack: str | None


class PartitionReplicas(NamedTuple):
    """The replicas of every partition: the ids of the leader, of all nodes, and of some of them.

    `leader` is -1 if there is none, and `epoch` is the leader's.
    """

    leader: int
    epoch: int
    nodes: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]

    @property
    def error(self) -> ErrorCode:
        """The error of a partition in metadata."""
        return ErrorCode.LEADER_NOT_AVAILABLE if self.leader == NO_LEADER else ErrorCode.NONE


class ClusterView:
    """The cluster of one broker, whose own node is `node`."""

    def __init__(self, operations: Operations, node: Node) -> None:
        self._replicas = operations.replicas
        self.node = node

    @property
    def leads(self) -> bool:
        """True if this broker leads all partitions."""
        return self._replicas.leads

    @property
    def epoch(self) -> int:
        """The epoch of this broker, if it leads."""
        return self._replicas.epoch

    def replicas(self) -> PartitionReplicas:
        """Return the replicas of every partition."""
        view = self._replicas.nodes()
        if not view.nodes:
            own = self.node.id
            nodes = () if own < 0 else (own,)
            return PartitionReplicas(own if self.leads else NO_LEADER, self.epoch, nodes, nodes, ())
        ids = [each.node.id for each in view.nodes]
        in_sync = [each.node.id for each in view.nodes if each.is_in_sync]
        offline = [each.node.id for each in view.nodes if not each.is_online]
        return PartitionReplicas(view.leader, view.epoch, tuple(ids), tuple(in_sync), tuple(offline))

    def nodes(self, call: KafkaCall) -> list[ClusterNode]:
        """Return the nodes that are online, and this one, by their ids; none while it has no id."""
        own = self._own(call)
        if own.id < 0:
            return []
        others = [
            ClusterNode(node.id, node.host, node.port, node.rack or None)
            for node, is_online, _ in self._replicas.nodes().nodes
            if is_online and node.id != own.id
        ]
        return sorted([own, *others])

    def leader(self, call: KafkaCall) -> ClusterNode | None:
        """Return the node that leads all partitions and groups, None if none does."""
        own = self._own(call)
        if self.leads:
            return None if own.id < 0 else own
        view = self._replicas.nodes()
        node = view.find(view.leader)
        if node is None or node.id == own.id:
            return None
        return ClusterNode(node.id, node.host, node.port, node.rack or None)

    def _own(self, call: KafkaCall) -> ClusterNode:
        return ClusterNode(self.node.id, *self.node.address(call), self.node.rack)

    def problem(self, epoch: int) -> ErrorCode:
        """Return why this broker does not answer for a partition; `epoch` is the leader's as a client knows
        it, -1 if it does not."""
        if not self._replicas.leads:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        current = self._replicas.epoch
        if epoch in (NO_EPOCH, current):
            return ErrorCode.NONE
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > current else ErrorCode.FENCED_LEADER_EPOCH
