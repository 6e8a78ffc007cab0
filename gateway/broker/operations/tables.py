"""Topics and groups as they are configured, and routes.

A front end needs them to translate an admitted request. They show no message and change nothing, so they take
no permit.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import Deferred

from mqgateway.engine.message import RETRY_PREFIX
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.admin import groups, topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.stats import TOPIC_PUT_NUMS, TOPIC_PUT_SIZE
from mqgateway.gateway.codec.bodies import TopicRouteData, TopicStatsTable


class TopicOperations:
    """Topics of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get(self, name: str) -> TopicConfig | None:
        """Return a topic's configuration, None for an unknown topic."""
        return self._broker.tables.topics.get(name)

    def __len__(self) -> int:
        """Return the number of topics."""
        return len(self._broker.tables.topics)

    def __contains__(self, name: object) -> bool:
        """Return True if there is a topic of this name."""
        return name in self._broker.tables.topics

    def names(self) -> list[str]:
        """Return the names of all topics, those of the broker itself included."""
        return self._broker.tables.topics.names()

    @property
    def version(self) -> bytes:
        """The version of the table: it changes with every change of a topic."""
        return self._broker.tables.topics.data_version.encode()

    def all(self) -> list[TopicConfig]:
        """Return all topics, those of the broker itself included."""
        return list(self._broker.tables.topics.all())

    def is_system(self, name: str) -> bool:
        """Return True if the name is reserved."""
        return self._broker.tables.topics.is_system(name)

    def known(self, name: str) -> TopicConfig:
        """Return a topic's configuration. Raises `OperationError` for an unknown topic."""
        return topics.topic_config(self._broker, name).config

    def queues(self, name: str) -> list[int]:
        """Return the ids of the queues that a topic has in the store, ascending."""
        return sorted(self._broker.store.queues().get(name, ()))

    def message_count(self, name: str) -> int:
        """Return the number of messages in the queues that a topic is configured to have."""
        return topics.message_count(self._broker, name)

    def put_rate(self, name: str) -> float:
        """Return the messages a second that were stored in a topic, over the last minute."""
        return self._broker.stats.put_tps(name)

    def put_rates(self) -> Iterator[tuple[str, float]]:
        """Return each topic that messages were counted of, with its rate as `put_rate` has it."""
        counts = list(self._broker.stats.table(TOPIC_PUT_NUMS).items())
        return ((name, count.minute.rate().tps) for name, count in counts)

    def put_totals(self) -> Iterator[tuple[str, int, int]]:
        """Return each topic that messages were counted of, with messages and bytes stored since the start."""
        sizes = self._broker.stats.table(TOPIC_PUT_SIZE)
        counts = list(self._broker.stats.table(TOPIC_PUT_NUMS).items())
        return ((name, count.value, sizes[name].value if name in sizes else 0) for name, count in counts)

    def groups_of(self, name: str) -> set[str]:
        """Return the groups that subscribe to a topic now or have offsets in it."""
        return topics.groups_of_topic(self._broker, name)

    def stats(self, name: str) -> TopicStatsTable:
        """Return ends and times of last messages of a topic's queues. Raises `OperationError`."""
        return topics.topic_stats(self._broker, name)

    def route(self, name: str) -> Deferred[TopicRouteData | None]:
        """Return the route of a topic, as name servers have it; None for an unknown topic."""
        return self._broker.cluster.routes.route(name)

    def delays(self) -> tuple[int, ...]:
        """Return the delays of the delay levels, from level 1 on, ms."""
        levels = self._broker.delays.levels
        return tuple(map(levels.delay, range(1, levels.max_level + 1)))


class GroupOperations:
    """Consumer groups of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration, None for an unknown group."""
        return self._broker.tables.groups.get(name)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self._broker.tables.groups)

    def __contains__(self, name: object) -> bool:
        """Return True if there is a group of this name."""
        return name in self._broker.tables.groups

    def names(self) -> list[str]:
        """Return the names of all groups, those of the broker itself included."""
        return self._broker.tables.groups.names()

    def get_rate(self, name: str, topic: str) -> float:
        """Return the messages a second that a group took from a topic, over the last minute."""
        return self._broker.stats.get_tps(name, topic)

    def is_popping(self, name: str, topic: str) -> bool:
        """Return True if the members of a group pop a topic that they would pull; see `Clients.set_mode`."""
        mode = self._broker.tables.request_modes.get(topic, name)
        return mode is not None and mode.mode == "POP"

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration; an unknown group is created if `autoCreateSubscriptionGroup` is
        on."""
        return self._broker.tables.groups.find(name)

    def take_up(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration as `find` does, and make its retry topic, without which tools of
        RocketMQ do not find the group."""
        config = self.find(name)
        if config is not None:
            read_write = PERM_READ | PERM_WRITE
            topics = self._broker.tables.topics
            topics.create_for_send_back(RETRY_PREFIX + name, config.retry_queue_nums, read_write, 0)
        return config

    def known(self, name: str) -> SubscriptionGroupConfig:
        """Return a group's configuration. Raises `OperationError` for an unknown group."""
        return groups.group_config(self._broker, name)

    def has_members(self, name: str) -> bool:
        """Return True if a member of a group is connected that sends heartbeats of RocketMQ's kind."""
        return self._broker.clients.consumer_group(name) is not None

    def is_readable(self, name: str, topic: str) -> bool:
        """Return True if a group may read a topic."""
        return groups.is_readable(self._broker, name, topic)

    def bound_topic(self, name: str) -> str | None:
        """Return the topic whose lite topics a group consumes, None for a group that consumes others."""
        return self._broker.lite.rules.bound_topic(name)
