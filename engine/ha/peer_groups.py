"""Groups of replicas that form one cluster for clients of a front end.

The setting names the groups in an order that does not change: new ones are appended. The place of a group in
it gives the group a block of node ids. Each group knows the others' nodes and
topics from their masters; the last answers are kept while a group is down. A topic belongs to one group,
whatever others have of the same name. Others may have partitions of it, under the same id, as its layout
says (`engine/tables/partition_layout`): it belongs to the group of the first partition then. Times in ms of a
monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.group_nodes import LOST_MILLIS, NO_NODE, NO_VIEW, NodesView
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS, KAFKA_TOPIC_ID
from mqgateway.engine.tables.partition_layout import parse_layout
from mqgateway.engine.tables.peer_topics import PeerTopic, PeerTopicTable, peer_key
from mqgateway.engine.tables.topics import TopicConfig

BLOCK: Final = 1000
"""Node ids of a group."""


class _Peer:
    """Nodes and topics of another group, and when the nodes were reported last."""

    def __init__(self) -> None:
        self.view = NO_VIEW
        self.heard = -LOST_MILLIS
        self.topics: dict[str, PeerTopic] = {}
        self.version = ""


class PeerGroups:
    """The groups of one cluster, as a member of the group `own` knows them.

    `names` are all groups in their order. `find` returns a topic of the own group, None for an unknown one.
    `table` keeps the topics of the others; it is loaded before the first use. Raises `ConfigError` if the own
    group is not among the names.
    """

    def __init__(
        self,
        names: Sequence[str],
        own: str,
        find: Callable[[str], TopicConfig | None],
        table: PeerTopicTable,
    ) -> None:
        if own not in names:
            raise ConfigError(f"kafkaClusterGroups has no group {own}, which is this broker's (brokerName)")
        self.names = tuple(names)
        self.own = own
        self.others = tuple(name for name in names if name != own)
        self.changes = 0
        """Number of changes of the other groups' topics."""
        self._find = find
        self._table = table
        self._index = {name: index for index, name in enumerate(names)}
        self._restored: dict[str, _Peer] = {}

    @property
    def _peers(self) -> dict[str, _Peer]:
        """The other groups by name, in their order."""
        if not self._restored:
            self._restored = {name: _Peer() for name in self.others}
            for topic in self._table.all():
                if topic.group in self._restored:
                    self._restored[topic.group].topics[topic.config.topic_name] = topic
        return self._restored

    @property
    def is_complete(self) -> bool:
        """True if the topics of every other group are known. Each has some, its system's."""
        return all(peer.topics for peer in self._peers.values())

    def is_current(self, now: int) -> bool:
        """Return True if the masters of all other groups have answered lately, so that an unknown topic is
        one that was deleted."""
        return all(now - peer.heard < LOST_MILLIS for peer in self._peers.values())

    def agrees(self, names: Sequence[str]) -> bool:
        """Return True if another broker's setting is this one's, but for groups that one lacks yet."""
        return all(own == other for own, other in zip(self.names, names, strict=False))

    def version_of(self, group: str) -> str:
        """Return the version of a group's topics, empty before they were reported."""
        return self._peers[group].version

    def note(self, group: str, view: NodesView, now: int) -> None:
        """Note the nodes that the master of a group reports."""
        peer = self._peers[group]
        peer.view, peer.heard = view, now

    def note_topics(self, group: str, configs: Mapping[str, TopicConfig], version: str) -> list[str]:
        """Note all topics of a group; return the names of those that ended. A new one may have the name."""
        peer = self._peers[group]
        peer.version = version
        gone = [name for name in peer.topics if name not in configs]
        changed = [
            PeerTopic(group, config)
            for name, config in configs.items()
            if name not in peer.topics or peer.topics[name].config != config
        ]
        ended = [name for name in peer.topics if self._ends(group, name, configs.get(name))]
        for name in gone:
            del peer.topics[name]
            self._table.delete(peer_key(group, name))
        peer.topics |= {topic.config.topic_name: topic for topic in changed}
        if changed:
            self._table.put(*changed)
        self.changes += bool(gone or changed)
        return ended

    def _ends(self, group: str, name: str, config: TopicConfig | None) -> bool:
        """Return True if a topic of a group ends, as another one replaces it, or none (`config` is None).

        One whose name belongs to another group, or that this broker has too, does not count.
        """
        known = self._peers[group].topics[name].config.attributes.get(KAFKA_TOPIC_ID)
        if config is not None and config.attributes.get(KAFKA_TOPIC_ID) == known:
            return False
        foreign = self.foreign(name)
        return foreign is not None and foreign.group == group and self._find(name) is None

    def view(self, group: str, now: int) -> NodesView:
        """Return the nodes of another group; without a leader if its master is silent.

        A layout may have a group that is not in the setting here yet: it has no nodes.
        """
        peer = self._peers.get(group)
        if peer is None:
            return NO_VIEW
        return peer.view if now - peer.heard < LOST_MILLIS else peer.view._replace(leader=NO_NODE)

    def clash(self, group: str, own: NodesView) -> int | None:
        """Return the id of a node of a group that another one has too, None for none."""
        ids = {each.node.id for each in self._peers[group].view.nodes}
        views = [own, *(peer.view for name, peer in self._peers.items() if name != group)]
        return next((each.node.id for one in views for each in one.nodes if each.node.id in ids), None)

    def foreign(self, topic: str) -> PeerTopic | None:
        """Return a topic that belongs to another group; None if it is the own group's, or unknown."""
        own = self._find(topic)
        best = None if own is None else self._rank(self.own, own)
        found: PeerTopic | None = None
        for name, peer in self._peers.items():
            known = peer.topics.get(topic)
            if known is not None and (best is None or self._rank(name, known.config) < best):
                best, found = self._rank(name, known.config), known
        return found

    def may_be_foreign(self, topic: str) -> bool:
        """Return True for a topic of another group, also for one that none is known to have while the topics
        of some are unknown."""
        is_unknown = self._find(topic) is None and not self.is_complete
        return is_unknown or self.foreign(topic) is not None

    def foreign_topics(self) -> Iterator[PeerTopic]:
        """Yield all topics that belong to other groups."""
        for name, peer in self._peers.items():
            for topic in list(peer.topics):
                found = self.foreign(topic)
                if found is not None and found.group == name:
                    yield found

    @property
    def foreign_count(self) -> int:
        """Number of topics that other groups have."""
        return sum(len(peer.topics) for peer in self._peers.values())

    def topic_of(self, group: str, topic: str) -> TopicConfig | None:
        """Return a topic as another group has it, None if it has none of the name."""
        peer = self._peers.get(group)
        known = None if peer is None else peer.topics.get(topic)
        return None if known is None else known.config

    def holders(self, topic: str) -> list[str]:
        """Return the other groups that have a topic of a name, whichever it belongs to."""
        return [name for name, peer in self._peers.items() if topic in peer.topics]

    def _rank(self, group: str, config: TopicConfig) -> tuple[bool, bool, int]:
        """Return the rank of a group for a topic: the smallest has it.

        A topic that Kafka clients made stays where it is when another group gets one of its name, or more of
        its partitions.
        """
        layout = parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))
        is_home = layout is None or layout.home == group
        return KAFKA_TOPIC_ID not in config.attributes, not is_home, self._index[group]


def is_part(config: TopicConfig, other: TopicConfig) -> bool:
    """Return True if two groups have parts of one topic."""
    own = config.attributes.get(KAFKA_TOPIC_ID)
    return own is not None and own == other.attributes.get(KAFKA_TOPIC_ID)


def has_part(wanted: TopicConfig, known: TopicConfig) -> bool:
    """Return True if a group's part of a topic is as it should be; it may have more queues."""
    queues = min(known.read_queue_nums, known.write_queue_nums)
    return queues >= wanted.write_queue_nums and known.attributes == wanted.attributes


def group_names(text: str) -> list[str]:
    """Return the names in a setting, which commas separate."""
    return [name for part in text.split(",") if (name := part.strip())]


def first_node_id(text: str, own: str) -> int:
    """Return what is added to the numbers of a group's members for their ids; 0 without the setting."""
    names = group_names(text)
    return names.index(own) * BLOCK if own in names else 0
