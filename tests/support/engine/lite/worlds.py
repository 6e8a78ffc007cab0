"""A parent topic with its groups, for the tests of lite topics: everything but messages is real."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock, elapsed_millis
from mqgateway.engine.lite.events import Events
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.lite.rules import LiteRules
from mqgateway.engine.lite.subscriptions import Subscriber, Subscriptions, SubscriptionStart
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.groups import GroupTable, SubscriptionGroupConfig
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import TopicConfig, TopicTable
from mqgateway.engine.testing.crash_disk import CrashDisk

PARENT = "chat"


def queue(name: str) -> str:
    """Return the LMQ queue of a lite topic."""
    return lmq_name(PARENT, name)


class World:
    """Group G consumes the lite topics of `chat`; `ends` are the end offsets of LMQ queues."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.options = BrokerOptions(**options)
        disk = CrashDisk()
        self.topics = TopicTable(self.options, disk, "/topics.json", self.clock)
        self.groups = GroupTable(self.options, disk, "/groups.json", self.clock)
        self.offsets = ConsumerOffsets(self.options, disk, "/offsets.json", self.clock)
        self.rules = LiteRules(self.options, self.topics, self.groups)
        self.restarts: list[tuple[str, str, SubscriptionStart]] = []
        self.excluded: list[tuple[str, str]] = []
        self.subscriptions = Subscriptions(
            self.options,
            self.rules,
            lambda group, name, start: self.restarts.append((group, name, start)),
            lambda subscriber, name: self.excluded.append((subscriber.client_id, name)),
        )
        self.woken: list[str] = []
        self.ends: dict[str, int] = {}
        self.events = Events(
            self.options,
            self.clock,
            self.rules,
            self.subscriptions,
            self.offsets,
            max_offset=lambda name: self.ends.get(name, 0),
            queues_of=lambda _parent: list(self.ends),
            wake=lambda subscriber: self.woken.append(subscriber.client_id),
            chance=lambda _below: 0,
        )
        self.topics.put(TopicConfig(PARENT, 4, 4, attributes={"message.type": "LITE"}))
        self.bind("G")

    def bind(self, group: str, **attributes: str) -> None:
        """Create a group that consumes lite topics; attributes are given without their prefix `lite.sub.`"""
        given = {f"lite.sub.{name.replace('_', '.')}": value for name, value in attributes.items()}
        config = SubscriptionGroupConfig(group, attributes={"lite.bind.topic": PARENT} | given)
        self.groups.put(config)

    def add(
        self, client_id: str, *names: str, group: str = "G", start: SubscriptionStart | None = None
    ) -> None:
        """Subscribe to these lite topics in addition."""
        subscriber, now = Subscriber(client_id, group), elapsed_millis(self.clock)
        self.subscriptions.add(subscriber, PARENT, map(queue, names), start, now)

    def replace(self, client_id: str, *names: str, group: str = "G") -> None:
        """Subscribe to these lite topics only."""
        subscriber, now = Subscriber(client_id, group), elapsed_millis(self.clock)
        self.subscriptions.replace(subscriber, PARENT, set(map(queue, names)), now)

    def send(self, *names: str) -> None:
        """Send a message to each of these lite topics."""
        for name in map(queue, names):
            self.ends[name] = self.ends.get(name, 0) + 1
            self.events.offer(name)

    def take(self, client_id: str) -> list[str]:
        """Return the names of the lite topics that a client is notified of."""
        return [name.rpartition("$")[2] for name in self.events.take(client_id, PARENT)]

    def tick(self, millis: int) -> None:
        """Advance the time."""
        self.clock.advance(millis)
        self.subscriptions.expire(elapsed_millis(self.clock))
        self.events.tick(elapsed_millis(self.clock))
