"""Topics and groups as they are configured, and routes.

A front end needs them to translate an admitted request. They show no message and change nothing, so they take
no permit.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.admin import groups, topics
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.bodies import QueueTimeSpan, TopicRouteData, TopicStatsTable


class Topics:
    """Topics of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get(self, name: str) -> TopicConfig | None:
        """Return a topic's configuration, None for an unknown topic."""
        return self._broker.tables.topics.get(name)

    def known(self, name: str) -> TopicConfig:
        """Return a topic's configuration. Raises `OperationError` for an unknown topic."""
        return topics.topic_config(self._broker, name).config

    def groups_of(self, name: str) -> set[str]:
        """Return the groups that subscribe to a topic now or have offsets in it."""
        return topics.groups_of_topic(self._broker, name)

    def stats(self, name: str) -> TopicStatsTable:
        """Return ends and times of last messages of a topic's queues. Raises `OperationError`."""
        return topics.topic_stats(self._broker, name)

    def time_spans(self, name: str, group: str, now: int) -> list[QueueTimeSpan]:
        """Return the times of each queue's first, last and last consumed message. Raises `OperationError`."""
        return topics.time_spans(self._broker, name, group, now)

    def route(self, name: str) -> Deferred[TopicRouteData | None]:
        """Return the route of a topic, as name servers have it; None for an unknown topic."""
        return self._broker.cluster.routes.route(name)

    def delays(self) -> tuple[int, ...]:
        """Return the delays of the delay levels, from level 1 on, ms."""
        levels = self._broker.delays.levels
        return tuple(map(levels.delay, range(1, levels.max_level + 1)))


class Groups:
    """Consumer groups of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration, None for an unknown group."""
        return self._broker.tables.groups.get(name)

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration; an unknown group is created if `autoCreateSubscriptionGroup` is
        on."""
        return self._broker.tables.groups.find(name)

    def known(self, name: str) -> SubscriptionGroupConfig:
        """Return a group's configuration. Raises `OperationError` for an unknown group."""
        return groups.group_config(self._broker, name)

    def is_readable(self, name: str, topic: str) -> bool:
        """Return True if a group may read a topic."""
        return groups.is_readable(self._broker, name, topic)

    def bound_topic(self, name: str) -> str | None:
        """Return the topic whose lite topics a group consumes, None for a group that consumes others."""
        return self._broker.lite.rules.bound_topic(name)
