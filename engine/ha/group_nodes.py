"""Nodes of a group of replicas as clients of a front end see them: ids, addresses, leader, replicas in sync.

A slave reports its node to its master, and is answered the master's view of the whole group. So a slave that
becomes master knows the others, and the one before it. Both are JSON, as name servers and brokers of RocketMQ
carry nothing of the kind. The master judges which nodes are there and in sync. Times in ms of a monotonic
clock.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any, Final, NamedTuple

from mqgateway.engine import lenient_json

LOST_MILLIS: Final = 9000
"""Silence after which a node is offline. Kafka: `broker.session.timeout.ms`."""
NODES_MAX: Final = 64
TEXT_MAX: Final = 255
"""Characters of a host or of a rack."""
NO_NODE: Final = -1
NO_END: Final = -1
"""Stands for the end of a log that does not follow its master's."""


class GroupNode(NamedTuple):
    """A node: its number among the replicas, its id for clients, its address, and its rack.

    `begin` and `end` are those of its log when it was reported. A node that is leaving stops.
    """

    number: int
    id: int
    host: str
    port: int
    rack: str = ""
    end: int = NO_END
    begin: int = 0
    is_leaving: bool = False


class NodeState(NamedTuple):
    """A node in its master's view. Readers may use one that `serves`: it is in sync and keeps up."""

    node: GroupNode
    is_online: bool
    is_in_sync: bool
    serves: bool = False


class NodesView(NamedTuple):
    """All nodes of a group by their ids, the id of the leader (`NO_NODE` for none), and its epoch."""

    epoch: int
    leader: int
    nodes: tuple[NodeState, ...]

    def find(self, node_id: int) -> GroupNode | None:
        """Return a node by its id, None for an unknown one."""
        return next((each.node for each in self.nodes if each.node.id == node_id), None)


NO_VIEW: Final = NodesView(0, NO_NODE, ())


class GroupNodes:
    """Nodes that a master has heard of, by their numbers."""

    def __init__(self) -> None:
        self._nodes: dict[int, GroupNode] = {}
        self._heard: dict[int, int] = {}
        self._ends: dict[int, int] = {}  # of this master's log when a node reported last
        self._keeping_up: set[int] = set()

    def note(self, node: GroupNode, now: int, end: int) -> bool:
        """Note what a node reports; return False if another one has its id, or there are too many nodes.

        `end` is that of this master's log. A node keeps up if it has all that this log had at its last
        report. Kafka: `Replica.updateFetchStateOrThrow`. A node that is leaving is offline at once.
        """
        taken = any(each.id == node.id and number != node.number for number, each in self._nodes.items())
        if taken or (node.number not in self._nodes and len(self._nodes) >= NODES_MAX):
            return False
        self._nodes[node.number] = node
        if node.is_leaving:
            self._forget(node.number)
            return True
        self._heard[node.number] = now
        before = self._ends.get(node.number)
        if before is not None and before <= node.end:
            self._keeping_up.add(node.number)
        else:
            self._keeping_up.discard(node.number)
        self._ends[node.number] = end
        return True

    def _forget(self, number: int) -> None:
        """Take a node for offline."""
        self._heard.pop(number, None)
        self._ends.pop(number, None)
        self._keeping_up.discard(number)

    def adopt(self, view: NodesView) -> None:
        """Take over the nodes of an earlier master's view; none of them counts as online yet."""
        self._nodes = {each.node.number: each.node._replace(end=NO_END) for each in view.nodes}
        self._heard.clear()
        self._ends.clear()
        self._keeping_up.clear()

    def view(
        self, own: GroupNode, epoch: int, now: int, *, in_sync: Container[int] | None, gap_max: int
    ) -> NodesView:
        """Return the view of a master, which is `own`.

        `in_sync` has the numbers of replicas in sync; if it is None, those are that are online and whose log
        lacks less than `gap_max` bytes.
        """
        states = [NodeState(own, True, True, True)]
        for number, node in self._nodes.items():
            if number == own.number or node.id == own.id:
                continue
            is_online = number in self._heard and now - self._heard[number] < LOST_MILLIS
            if in_sync is None:
                is_in_sync = is_online and node.end != NO_END and own.end - node.end < gap_max
            else:
                is_in_sync = number in in_sync
            serves = is_online and is_in_sync and number in self._keeping_up
            states.append(NodeState(node, is_online, is_in_sync, serves))
        return NodesView(epoch, own.id, tuple(sorted(states, key=_id_of)))


def _id_of(state: NodeState) -> int:
    return state.node.id


def format_node(node: GroupNode) -> str:
    """Return the text with which a node reports itself."""
    return json.dumps(node._asdict())


def parse_node(text: str) -> GroupNode:
    """Return the node in a report. Raises `ValueError`."""
    return _node_in(_members_of(text))


def format_view(view: NodesView) -> str:
    """Return the text of a master's answer."""
    nodes = [each.node._asdict() | _flags(each) for each in view.nodes]
    return json.dumps({"epoch": view.epoch, "leader": view.leader, "nodes": nodes})


def parse_view(text: str) -> NodesView:
    """Return the view in a master's answer. Raises `ValueError`."""
    fields = _members_of(text)
    reported = fields.get("nodes")
    if not isinstance(reported, list):
        raise ValueError("it has no nodes")
    states = [
        NodeState(
            _node_in(each), bool(each.get("online")), bool(each.get("inSync")), bool(each.get("serves"))
        )
        for each in reported[: NODES_MAX + 1]
        if isinstance(each, dict)
    ]
    epoch, leader = _number(fields, "epoch"), _number(fields, "leader")
    return NodesView(epoch, leader, tuple(sorted(states, key=_id_of)))


def _flags(state: NodeState) -> dict[str, bool]:
    return {"online": state.is_online, "inSync": state.is_in_sync, "serves": state.serves}


def _members_of(text: str) -> dict[str, Any]:
    fields = lenient_json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError("it is not an object")
    return fields


def _number(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    if type(value) is not int or not -1 <= value < 1 << 63:
        raise ValueError(f"{name} is {value!r}")
    return value


def _node_in(fields: dict[str, Any]) -> GroupNode:
    host, rack = fields.get("host"), fields.get("rack", "")
    if not isinstance(host, str) or not isinstance(rack, str) or not 0 < len(host) <= TEXT_MAX >= len(rack):
        raise ValueError("it has no host")
    number, node_id, port = (_number(fields, name) for name in ("number", "id", "port"))
    if node_id < 0 or number < 0 or not 0 < port < 1 << 16 or node_id >= 1 << 31:
        raise ValueError(f"node {node_id} has number {number} and port {port}")
    end, begin = _number(fields, "end"), _number({"begin": 0} | fields, "begin")
    return GroupNode(number, node_id, host, port, rack, end, begin, fields.get("is_leaving") is True)
