"""The cluster as Kafka clients see it: the members of broker groups, their leaders, and the epochs of these.

The master of a group leads all partitions that the group has; its members are the replicas. A slave knows
them from its master. A broker refuses what only a leader does, with the leader's address. The master of the
first group is the controller. `""` stands for this broker's group, as its name does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mqgateway.engine.ha.group_nodes import GroupNode, NodesView
from mqgateway.engine.options.kafka import RACK_AWARE_SELECTOR
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.topics import Topic, Topics

NO_LEADER = -1
NO_EPOCH = -1


class ClusterNode(NamedTuple):
    """A node of the cluster, with its address for one client."""

    id: int
    host: str
    port: int
    rack: str | None


class PartitionReplicas(NamedTuple):
    """The replicas of every partition of a group: ids of the leader, of all nodes, of some of them.

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
        self._options = operations.options
        self._replicas = operations.replicas
        self._peers = operations.peers
        self.node = node

    @property
    def leads(self) -> bool:
        """True if this broker leads all partitions of its group's topics."""
        return self._replicas.leads

    @property
    def controls(self) -> bool:
        """True if this broker is the controller."""
        return self._replicas.leads and self._controlling == ""

    @property
    def _controlling(self) -> str:
        """The group whose master is the controller."""
        if self._peers is None or self._peers.names[0] == self._peers.own:
            return ""
        return self._peers.names[0]

    @property
    def has_all_topics(self) -> bool:
        """True if the topics of all groups are known, so that an unknown one does not exist."""
        return self._peers is None or self._peers.is_complete

    @property
    def epoch(self) -> int:
        """The epoch of this broker, if it leads."""
        return self._replicas.epoch

    def replicas(self, group: str = "") -> PartitionReplicas:
        """Return the replicas of a group's partitions."""
        view = self._view(group)
        if not view.nodes and self._is_own(group):
            own = self.node.id
            nodes = () if own < 0 else (own,)
            return PartitionReplicas(own if self.leads else NO_LEADER, self.epoch, nodes, nodes, ())
        ids = [each.node.id for each in view.nodes]
        in_sync = [each.node.id for each in view.nodes if each.is_in_sync]
        offline = [each.node.id for each in view.nodes if not each.is_online]
        return PartitionReplicas(view.leader, view.epoch, tuple(ids), tuple(in_sync), tuple(offline))

    def _view(self, group: str) -> NodesView:
        if self._peers is None or self._is_own(group):
            return self._replicas.nodes()
        return self._peers.nodes(group)

    def _is_own(self, group: str) -> bool:
        return not group or (self._peers is not None and group == self._peers.own)

    def nodes(self, call: KafkaCall) -> list[ClusterNode]:
        """Return the nodes that are online, by their ids; none while this one has no id.

        This one is among them, unless it stops and others continue.
        """
        own = self._own(call)
        if own.id < 0:
            return []
        others = {
            node.id: _shown(node)
            for group in ("", *(() if self._peers is None else self._peers.others))
            for node, is_online, *_ in self._view(group).nodes
            if is_online and node.id != own.id
        }
        is_left_out = self._replicas.is_leaving and not self.leads and bool(others)
        return sorted(others.values() if is_left_out else [own, *others.values()])

    def leader(self, call: KafkaCall, group: str = "") -> ClusterNode | None:
        """Return the node that leads all partitions of a group's topics, None if none does."""
        own = self._own(call)
        if not group and self.leads:
            return None if own.id < 0 else own
        view = self._view(group)
        node = view.find(view.leader)
        return None if node is None or node.id == own.id else _shown(node)

    def controller(self, call: KafkaCall) -> ClusterNode | None:
        """Return the controller; None for none."""
        return self.leader(call, self._controlling)

    @property
    def controller_id(self) -> int:
        """The id of the controller, -1 for none."""
        return self.replicas(self._controlling).leader

    @property
    def controller_epoch(self) -> int:
        """The epoch of the controller."""
        return self.replicas(self._controlling).epoch

    def group_of(self, node_ids: Iterable[int]) -> str | None:
        """Return the group that has all these nodes, None for none."""
        wanted = set(node_ids)
        groups = ("", *(() if self._peers is None else self._peers.others))
        return next((group for group in groups if wanted <= set(self.replicas(group).nodes)), None)

    def _own(self, call: KafkaCall) -> ClusterNode:
        return ClusterNode(self.node.id, *self.node.address(call), self.node.rack)

    def problem(self, epoch: int, base: int = 0) -> ErrorCode:
        """Return why this broker does not answer for a partition; `epoch` is the leader's as a client knows
        it, -1 if it does not. `base` is that of a partition that moved (`Topic.epoch_base`)."""
        if not self._replicas.leads:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _epoch_problem(epoch, self._replicas.epoch + base)

    def follower_problem(self, epoch: int, base: int = 0) -> ErrorCode:
        """Return why this follower does not answer for a partition. See `problem`."""
        return _epoch_problem(epoch, self._replicas.nodes().epoch + base)

    def serves_rack(self, rack: str) -> bool:
        """Return True if this broker is a follower that serves the consumers in a rack.

        Kafka's followers serve consumers in every rack. Here others are sent to the leader, as are those that
        still read from a follower that was the leader before.
        """
        return rack != "" and rack == self.node.rack and not self.leads and self._replicas.serves

    def followers_for(self, rack: str) -> list[GroupNode]:
        """Return the followers that a consumer in a rack may read from, the best one first; none if it should
        read from this leader. Source: `RackAwareReplicaSelector`, `ReplicaView.comparator`.
        """
        if not rack or rack == self.node.rack or not self.leads:
            return []
        if self._options.kafka_replica_selector_class != RACK_AWARE_SELECTOR:
            return []
        found = [
            each.node
            for each in self._replicas.nodes().nodes
            if each.serves and each.node.rack == rack and each.node.id != self.node.id
        ]
        return sorted(found, key=_end_and_id, reverse=True)


def _epoch_problem(epoch: int, current: int) -> ErrorCode:
    """Return the error for the epoch that a client knows, if the leader's is `current`."""
    if epoch in (NO_EPOCH, current):
        return ErrorCode.NONE
    return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > current else ErrorCode.FENCED_LEADER_EPOCH


def _end_and_id(node: GroupNode) -> tuple[int, int]:
    return node.end, node.id


class ReplicasByGroup:
    """The replicas of partitions of topics, by group, for one answer. `topics` are those of all groups."""

    def __init__(self, cluster: ClusterView, topics: Topics) -> None:
        self._cluster = cluster
        self._topics = topics
        self._known: dict[str, PartitionReplicas] = {}

    def of(self, group: str) -> PartitionReplicas:
        """Return the replicas of every partition of a group's topics."""
        known = self._known.get(group)
        if known is None:
            known = self._known[group] = self._cluster.replicas(group)
        return known

    def of_partitions(self, topic: Topic, numbers: Iterable[int]) -> Iterator[PartitionReplicas]:
        """Yield the replicas of partitions of a topic. One that its group has not made yet has no leader."""
        for number in numbers:
            place = topic.place(number)
            replicas, base = self.of(place.group), topic.epoch_base(number)
            if base:
                replicas = replicas._replace(epoch=replicas.epoch + base)
            yield replicas if self._topics.has_queue(topic, place) else replicas._replace(leader=NO_LEADER)


def _shown(node: GroupNode) -> ClusterNode:
    return ClusterNode(node.id, node.host, node.port, node.rack or None)
