"""Attributes of topics and groups that concern lite topics. Standard: `LiteMetadataUtil`."""

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.groups import GroupTable
from mqgateway.engine.tables.topics import TopicTable

BOUND_TOPIC = "lite.bind.topic"


class LiteRules:
    """Looks attributes up; a group that does not exist has none, and is not created."""

    def __init__(self, options: BrokerOptions, topics: TopicTable, groups: GroupTable) -> None:
        self._options = options
        self._topics = topics
        self._groups = groups

    def is_parent(self, topic: str) -> bool:
        """Return True if a topic has lite topics."""
        config = self._topics.get(topic)
        return config is not None and config.attributes.get("message.type") == "LITE"

    def minutes_to_live(self, topic: str) -> int:
        """Return how long after its last message a lite topic of a parent is kept, in minutes; below 1 for
        ever.
        """
        config = self._topics.get(topic)
        return _number("-1" if config is None else config.attributes.get("lite.topic.expiration", "-1"))

    def parents(self) -> list[str]:
        """Return every topic that has lite topics."""
        return [config.topic_name for config in self._topics.all() if self.is_parent(config.topic_name)]

    def bound_topic(self, group: str) -> str | None:
        """Return the parent whose lite topics a group consumes; None for a group of another kind."""
        return self._attribute(group, BOUND_TOPIC) or None

    def groups_of(self, topic: str) -> set[str]:
        """Return the groups that consume the lite topics of a parent."""
        configs = self._groups.all()
        return {config.group_name for config in configs if config.attributes.get(BOUND_TOPIC) == topic}

    def is_wildcard(self, group: str) -> bool:
        """Return True if a group consumes every lite topic of its parent."""
        return self._attribute(group, "lite.sub.wildcard") == "true"

    def is_exclusive(self, group: str) -> bool:
        """Return True if a lite topic has one client of the group, the latest subscriber."""
        return self._attribute(group, "lite.sub.model") == "Exclusive"

    def restarts_when_excluded(self, group: str) -> bool:
        """Return True if the client that takes over an exclusive lite topic begins at the first message."""
        return self._attribute(group, "lite.sub.reset.offset.exclusive") == "true"

    def restarts_when_removed(self, group: str) -> bool:
        """Return True if the offset of a lite topic is reset when a client unsubscribes from it."""
        return self._attribute(group, "lite.sub.reset.offset.unsubscribe") == "true"

    def max_events(self, group: str) -> int:
        """Return how many lite topics with messages wait for a client of the group at most."""
        own = _number(self._attribute(group, "lite.sub.client.max.event.cnt"))
        return own if own > 0 else self._options.max_client_event_count

    def _attribute(self, group: str, name: str) -> str:
        config = self._groups.get(group)
        return "" if config is None else config.attributes.get(name, "")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else -1
