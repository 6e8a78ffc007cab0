"""The mappings of a broker's static topics, and their file `topicQueueMapping.json`.

Standard: `TopicQueueMappingManager`, `TopicQueueMappingDetail`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.items import MappingItem, MappingRefused, check, check_follows
from mqgateway.engine.tables.config_table import VERSION, ConfigTable
from mqgateway.engine.worker import Worker

if TYPE_CHECKING:
    from mqgateway.engine.options import BrokerOptions

GLOBAL_SCOPE = "__global__"
QUEUE_ITEMS_MAX = 1000
"""Maximum number of mapping items of one queue."""


@dataclass(slots=True)
class TopicQueueMappingDetail:
    """Mapping of a static topic as one broker knows it: the mapping items it has, or had, by queue."""

    topic: str
    broker_name: str
    total_queues: int
    epoch: int
    scope: str = GLOBAL_SCOPE
    queues: dict[int, list[MappingItem]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the topic."""
        return self.topic

    @property
    def item_count(self) -> int:
        """Number of mapping items of all queues."""
        return sum(map(len, self.queues.values()))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises `ConfigError`."""
        topic = json_members.read_name(value, "topic")
        hosted = json_members.read(value, "hostedQueues", dict[str, Any]())
        if not all(isinstance(items, list) and len(items) <= QUEUE_ITEMS_MAX for items in hosted.values()):
            raise ConfigError("the mapping items of a queue are not a list, or are too many")
        try:
            queues = {
                int(key): [MappingItem.from_json(one) for one in items] for key, items in hosted.items()
            }
        except (TypeError, ValueError) as error:
            raise ConfigError(f"the number of a queue cannot be read: {error}") from None
        return cls(
            topic,
            json_members.read_name(value, "bname"),
            json_members.read(value, "totalQueues", 0),
            json_members.read(value, "epoch", 0, json_members.LONG_BITS),
            json_members.read(value, "scope", "") or GLOBAL_SCOPE,
            queues,
        )

    def to_json(self) -> dict[str, Any]:
        """Return all members by RocketMQ's names; `currIdMap` is worked out for name servers only."""
        hosted = {number: [item.to_json() for item in items] for number, items in self.queues.items()}
        return self.info() | {"currIdMap": {}, "hostedQueues": hosted}

    def leads(self, queue_id: int) -> bool:
        """Return True if the broker is the one that a queue is written to."""
        items = self.queues.get(queue_id)
        if not items:
            return False
        return items[-1].broker_name == self.broker_name

    def info(self) -> dict[str, Any]:
        """Return what is registered with name servers: the queues the broker leads, and their physical
        queues.
        """
        return {
            "bname": self.broker_name,
            "currIdMap": {one: items[-1].queue_id for one, items in self.queues.items() if self.leads(one)},
            "dirty": False,
            "epoch": self.epoch,
            "scope": self.scope,
            "topic": self.topic,
            "totalQueues": self.total_queues,
        }


class Mappings(ConfigTable[TopicQueueMappingDetail]):
    """All mappings of a broker, by topic."""

    entry = TopicQueueMappingDetail
    member = "topicQueueMappingInfoMap"

    def __init__(
        self, options: BrokerOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        super().__init__(disk, path, clock, worker, ())
        self._options = options
        self.item_count = 0

    def _implied(self, name: str) -> None:
        return None

    @property
    def table(self) -> Mapping[str, TopicQueueMappingDetail]:
        """The mappings by topic."""
        return self._table

    def load(self) -> None:
        """As `ConfigTable.load`."""
        super().load()
        self._count_items()

    def _count_items(self) -> None:
        self.item_count = sum(mapping.item_count for mapping in self._table.values())

    def put(self, *configs: TopicQueueMappingDetail) -> None:
        """As `ConfigTable.put`."""
        for mapping in configs:
            self.item_count += mapping.item_count - self._items_of(mapping.topic)
        super().put(*configs)

    def _items_of(self, topic: str) -> int:
        known = self._table.get(topic)
        return 0 if known is None else known.item_count

    def update(self, mapping: TopicQueueMappingDetail, *, force: bool = False) -> None:
        """Merge a mapping; mapping items that it does not contain stay. Raises `MappingRefused`.

        Standard: `updateTopicQueueMapping`.
        """
        if mapping.broker_name != self._options.broker_name:
            raise MappingRefused(f"the mapping is for broker {mapping.broker_name}")
        for items in mapping.queues.values():
            check(items)
        old = self._table.get(mapping.topic)
        whole = mapping
        if old is not None and not force:
            self._check(mapping, old)
        if old is not None:
            whole = replace(mapping, queues={**old.queues, **mapping.queues})
        self._check_size(whole)
        self.put(whole)

    def _check_size(self, mapping: TopicQueueMappingDetail) -> None:
        most = self._options.max_queues_per_topic
        if any(not 0 <= number < most for number in mapping.queues):
            raise MappingRefused(
                f"the queues of a topic are numbered from 0, below {most} (maxQueuesPerTopic)"
            )
        items = self.item_count + mapping.item_count - self._items_of(mapping.topic)
        if items > self._options.max_queue_pieces:
            raise MappingRefused(f"{items} pieces of queues are too many (maxQueuePieces)")

    def _check(self, mapping: TopicQueueMappingDetail, old: TopicQueueMappingDetail) -> None:
        if mapping.epoch < old.epoch:
            raise MappingRefused(f"Can't accept data with small epoch {mapping.epoch} < {old.epoch}")
        if mapping.scope != old.scope:
            raise MappingRefused(f"Can't accept data with unmatched scope {mapping.scope} != {old.scope}")
        for number, items in old.queues.items():
            if number in mapping.queues:
                check_follows(items, mapping.queues[number], mapping.epoch == old.epoch)
            elif mapping.epoch == old.epoch:
                raise MappingRefused("Cannot accept equal epoch with null data")

    def adopt(self, reported: Mapping[str, Any]) -> bool:
        """Replace the table by a master's, which arrives with its topics; return False if it is as new as
        ours.

        Raises `ConfigError`, and then nothing has changed. Standard: `SlaveSynchronize.syncTopicConfig`.
        """
        table = {VERSION: reported.get("mappingDataVersion")}
        if (mappings := reported.get("topicQueueMappingDetailMap")) is not None:
            table[self.member] = mappings
        is_new = super().adopt(table)
        self._count_items()
        return is_new

    def delete(self, name: str) -> bool:
        """As `ConfigTable.delete`."""
        self.item_count -= self._items_of(name)
        return super().delete(name)

    def clean(self, topic: str, queues: Mapping[int, list[MappingItem]]) -> None:
        """Replace the mapping items of queues by those that are left; a queue with none is forgotten."""
        old = self._table[topic]
        left = {number: items for number, items in {**old.queues, **queues}.items() if items}
        self.put(replace(old, queues=left))
