"""Topics by Kafka's names and ids.

RocketMQ's names have no dots and Kafka's no `|`, so that a dot of Kafka's is `|` in RocketMQ's name of a
topic, and back. Topics that Kafka cannot name, such as retry topics, and those of the broker itself are not
shown. Partition p is queue p.

In a cluster of several broker groups each topic belongs to one of them. A layout says which group has which
partition, as which queue (`engine/tables/partition_layout`); without one the topic's group has all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from itertools import product
from operator import add
from typing import Final, NamedTuple

from mqgateway.engine.ha.peer_groups import is_part
from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.tables.attributes import (
    KAFKA_DELETED,
    KAFKA_FORMAT,
    KAFKA_PARTITIONS,
    KAFKA_TOPIC_ID,
    MESSAGE_FORMAT,
)
from mqgateway.engine.tables.kafka_configs import MAX_MESSAGE_BYTES, PREFIX, kafka_config
from mqgateway.engine.tables.partition_layout import (
    ELSEWHERE,
    PartitionLayout,
    PartitionPlace,
    parse_layout,
)
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.ids import id_of_text, named_id
from mqgateway.gateway.kafka.rights import on_topic

NAME_MAX: Final = 249
INTERNAL: Final = frozenset(KAFKA_COORDINATOR_TOPICS)

_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_SEPARATOR: Final = re.compile(r"[._]")


class Shown(Enum):
    """The topics that are found: those with partitions in this broker's group, those with all partitions
    there, or those of all groups."""

    HERE = auto()
    WHOLE = auto()
    EVERYWHERE = auto()


class Topic(NamedTuple):
    """A topic as Kafka clients see it. `id` has 16 bytes.

    `batch_max_default` is the maximum size of a batch, in bytes, if the topic does not set it. `group` is the
    broker group that it belongs to, empty for this broker's. `layout` has the places of its partitions, None
    if that group has all. This broker's group, `own`, has `queues_here` of its queues. `is_apart` is True if
    the topic is another group's, and this broker may have queues by the same name, which are none of it.
    """

    name: str
    store_name: str
    id: bytes
    config: TopicConfig
    batch_max_default: int
    group: str = ""
    layout: PartitionLayout | None = None
    own: str = ""
    queues_here: int = 0
    is_apart: bool = False

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return _queues(self.config) if self.layout is None else len(self.layout.places)

    def place(self, partition: int) -> PartitionPlace:
        """Return the group, empty for this broker's, and the queue there of a partition; of one that does not
        exist a queue that does not exist."""
        if self.layout is None or not 0 <= partition < len(self.layout.places):
            return PartitionPlace(self.group, partition)
        place = self.layout.places[partition]
        return place if place.group != self.own else place._replace(group="")

    def queue(self, partition: int) -> int:
        """Return the queue of this broker's group that a partition is, which exists; -1 if another group has
        it, or it is not made yet."""
        if self.layout is None:
            return -1 if self.group else partition
        place = self.layout.places[partition]
        return place.queue_id if place.group == self.own and place.queue_id < self.queues_here else -1

    def problem(self, partition: int) -> ErrorCode:
        """Return why this broker's group does not have a partition."""
        if not 0 <= partition < self.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if self.queue(partition) < 0 else ErrorCode.NONE

    def offset_key(self, partition: int) -> int:
        """Return the number by which this broker's table of offsets has a partition: its queue if this
        broker's group had it first. A move changes no number, so that no committed offset moves with it."""
        if self.layout is None:
            return ELSEWHERE + partition if self.is_apart else partition
        place = self.layout.first_places[partition] if 0 <= partition < self.partitions else None
        is_here = place is not None and place.group == self.own
        return place.queue_id if place is not None and is_here else ELSEWHERE + partition

    def partition_of(self, key: int) -> int:
        """Return the partition of a number in this broker's table of offsets, -1 for none."""
        if self.layout is None:
            number = key - ELSEWHERE if self.is_apart else key
            return number if 0 <= number < ELSEWHERE else -1
        if key >= ELSEWHERE:
            return key - ELSEWHERE
        return self.layout.first_partitions(self.own).get(key, -1)

    def partition_at(self, queue_id: int) -> int:
        """Return the partition that a queue of this broker's group is, -1 for none."""
        return queue_id if self.layout is None else self.layout.partitions(self.own).get(queue_id, -1)

    def epoch_base(self, partition: int) -> int:
        """Return what is added to the epochs of the group that leads a partition; see `PartitionLayout`."""
        return 0 if self.layout is None else self.layout.epoch_base(partition)

    @property
    def is_whole(self) -> bool:
        """True if this broker's group has all partitions."""
        if self.layout is None:
            return not self.group
        return all(place.group == self.own for place in self.layout.places)

    @property
    def keeps_batches(self) -> bool:
        """True if batches of Kafka producers are stored whole."""
        return self.config.attributes.get(MESSAGE_FORMAT) == KAFKA_FORMAT

    @property
    def is_internal(self) -> bool:
        """True for a topic of Kafka's own."""
        return self.name in INTERNAL

    @property
    def batch_max(self) -> int:
        """The maximum size of a batch, in bytes."""
        own = self.config.attributes.get(PREFIX + MAX_MESSAGE_BYTES)
        return self.batch_max_default if own is None else int(own)

    def setting(self, name: str) -> str:
        """Return a setting of the topic by Kafka's name."""
        return kafka_config(self.config.attributes, name)


Admitted = tuple[Topic, Permit]
"""A topic, and the permit of a client to use it."""


class Topics:
    """The topics that Kafka clients see, as `shown` says. `everywhere` are the topics of all groups."""

    def __init__(self, operations: Operations, shown: Shown = Shown.HERE) -> None:
        self._topics = operations.topics
        self._peers = peers = operations.peers
        self._shown_topics = shown
        is_everywhere = peers is None or shown is Shown.EVERYWHERE
        self.everywhere: Topics = self if is_everywhere else Topics(operations, Shown.EVERYWHERE)
        self._cluster = operations.options.broker_cluster_name
        self._batch_max = operations.options.kafka_message_max_bytes
        self._shown_as: dict[str, Topic] = {}  # by RocketMQ's name; as long as its configuration is the same
        self._names: dict[bytes, str] = {}
        self._names_version = b""

    def find(self, name: str) -> Topic | None:
        """Return a topic by Kafka's name, None for an unknown one."""
        if name_problem(name) is not None:
            return None
        return self._found(store_name(name))

    def _found(self, stored: str) -> Topic | None:
        """Return a topic by RocketMQ's name, None for one that is not shown."""
        config, peers = self._topics.get(stored), self._peers
        foreign = None if peers is None else peers.foreign(stored)
        if foreign is None:
            topic = None if config is None else self._shown(config, queues=_queues(config))
        elif config is not None and is_part(config, foreign.config):
            topic = self._shown(foreign.config, foreign.group, _queues(config))
        elif self._shown_topics is Shown.EVERYWHERE:
            topic = self._shown(foreign.config, foreign.group)
        else:
            return None
        is_left_out = self._shown_topics is Shown.WHOLE and topic is not None and not topic.is_whole
        return None if is_left_out else topic

    @property
    def version(self) -> bytes:
        """A value that changes with every change of a topic."""
        if self._peers is None:
            return self._topics.version
        return self._topics.version + self._peers.changes.to_bytes(8, "big")

    def named(self, name: str, topic_id: bytes) -> Topic | None:
        """Return a topic of any group that a request names, or identifies; None for an unknown one."""
        return self.everywhere.find(name) if name else self.everywhere.by_id(topic_id)

    def has_queue(self, topic: Topic, place: PartitionPlace) -> bool:
        """Return True if the queue of a partition is made in its group, as far as this broker knows."""
        if topic.layout is None:
            return True
        if not place.group:
            return place.queue_id < topic.queues_here
        part = None if self._peers is None else self._peers.topic_of(place.group, topic.store_name)
        return part is not None and is_part(part, topic.config) and place.queue_id < _queues(part)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return a topic by its id, None for an unknown one."""
        topic = self.find(self._names.get(topic_id, ""))
        if topic is not None and topic.id == topic_id:
            return topic
        version = self.version
        if version != self._names_version:  # else no topic has the id
            self._names = {topic.id: topic.name for topic in self}
            self._names_version = version
        return self.find(self._names.get(topic_id, ""))

    def admitted(
        self, call: KafkaCall, use: Use, operation: AclOperation, name: str, topic_id: bytes | None = None
    ) -> Admitted | ErrorCode:
        """Return the topic that a request names, with a permit for an operation, or why there is none.

        Without rights a client does not learn which names exist. Ids cannot be guessed, so that an unknown
        one is reported first. `topic_id` is None if the request names topics by their names.
        """
        topic = self.find(name) if topic_id is None else self.by_id(topic_id)
        known = topic
        if topic is None and self.everywhere is not self:
            known = self.everywhere.find(name) if topic_id is None else self.everywhere.by_id(topic_id)
        if known is None and topic_id is not None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        try:
            permit = call.admit(
                use, on_topic(store_name(name) if known is None else known.store_name, operation)
            )
        except NotAdmitted:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        except OperationError:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # this broker's role does not allow it
        if topic is None and known is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # it belongs to another group
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else (topic, permit)

    def __iter__(self) -> Iterator[Topic]:
        """Yield all topics."""
        names = [config.topic_name for config in self._topics.all()]
        if self._peers is not None and self._shown_topics is Shown.EVERYWHERE:
            names += (each.config.topic_name for each in self._peers.foreign_topics())
        for stored in dict.fromkeys(names):
            topic = self._found(stored)
            if topic is not None:
                yield topic

    def __len__(self) -> int:
        """Return about how many topics there are."""
        return len(self._topics) + (0 if self._peers is None else self._peers.foreign_count)

    def colliding(self, name: str) -> Topic | None:
        """Return a topic whose name differs only by dots and underscores, None if there is none."""
        parts = _SEPARATOR.split(name)
        if 2 ** len(parts) <= 2 * len(self):
            marks = product("._", repeat=len(parts) - 1)
            named = ("".join(map(add, parts, (*chosen, ""))) for chosen in marks)
            return next(filter(None, map(self.find, named)), None)
        folded = name.replace(".", "_")
        return next((topic for topic in self if topic.name.replace(".", "_") == folded), None)

    def _shown(self, config: TopicConfig, group: str = "", queues: int = 0) -> Topic | None:
        known = self._shown_as.get(config.topic_name)
        if known is not None and known.config is config and known.queues_here == queues:
            return known
        name = kafka_name(config.topic_name)
        if name is None or (self._is_system(config.topic_name) and name not in INTERNAL):
            return None
        if KAFKA_DELETED in config.attributes:
            return None
        own = id_of_text(config.attributes.get(KAFKA_TOPIC_ID, ""))
        topic_id = named_id(f"topic {self._cluster} {config.topic_name}") if own is None else own
        if len(self._shown_as) > 2 * len(self):
            self._shown_as.clear()  # most are deleted
        layout, own_group, is_first = None, "", True
        if self._peers is not None:
            layout = parse_layout(config.attributes.get(KAFKA_PARTITIONS, ""))
            own_group, is_first = self._peers.own, self._peers.own == self._peers.names[0]
        # The first group once coordinated all groups, and has offsets of such topics by their partitions.
        is_apart = layout is None and bool(group) and not is_first
        topic = Topic(
            name,
            config.topic_name,
            topic_id,
            config,
            self._batch_max,
            group,
            layout,
            own_group,
            queues,
            is_apart,
        )
        self._shown_as[config.topic_name] = topic
        return topic

    def _is_system(self, store: str) -> bool:
        """Return True for a reserved name; each group reserves its own name too."""
        return self._topics.is_system(store) or (self._peers is not None and store in self._peers.names)


def _queues(config: TopicConfig) -> int:
    return max(config.read_queue_nums, config.write_queue_nums)


def store_name(name: str) -> str:
    """Return RocketMQ's name of a Kafka topic."""
    return name.replace(".", "|")


def kafka_name(store: str) -> str | None:
    """Return Kafka's name of a RocketMQ topic, None if Kafka cannot name it."""
    name = store.replace("|", ".")
    return None if name_problem(name) is not None else name


def name_problem(name: str) -> str | None:
    """Return why a name is not allowed, None if it is. Standard: `Topic.validate`."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > NAME_MAX:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {NAME_MAX}"
        )
    if _LEGAL_NAME.fullmatch(name) is None:
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None
