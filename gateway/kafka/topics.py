"""Topics by Kafka's names and ids.

RocketMQ's names have no dots and Kafka's no `|`, so that a dot of Kafka's is `|` in RocketMQ's name of a
topic, and back. Topics that Kafka cannot name, such as retry topics, and those of the broker itself are not
shown. Partition p is queue p.

In a cluster of several broker groups each topic belongs to one of them, whose master leads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from operator import add
from typing import Final, NamedTuple

from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, KAFKA_TOPIC_ID, MESSAGE_FORMAT
from mqgateway.engine.tables.kafka_configs import MAX_MESSAGE_BYTES, PREFIX, kafka_config
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


class Topic(NamedTuple):
    """A topic as Kafka clients see it. `id` has 16 bytes.

    `batch_max_default` is the maximum size of a batch, in bytes, if the topic does not set it. `group` is the
    broker group that has it, empty for this broker's.
    """

    name: str
    store_name: str
    id: bytes
    config: TopicConfig
    batch_max_default: int
    group: str = ""

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return max(self.config.read_queue_nums, self.config.write_queue_nums)

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
    """The topics of this broker's group that Kafka clients see; with `shows_all`, those of all groups.

    `everywhere` are the topics of all groups.
    """

    def __init__(self, operations: Operations, *, shows_all: bool = False) -> None:
        self._topics = operations.topics
        self._peers = peers = operations.peers
        self._shows_all = shows_all
        self.everywhere: Topics = self if shows_all or peers is None else Topics(operations, shows_all=True)
        self._cluster = operations.options.broker_cluster_name
        self._batch_max = operations.options.kafka_message_max_bytes
        self._shown_as: dict[str, Topic] = {}  # by RocketMQ's name; as long as its configuration is the same
        self._names: dict[bytes, str] = {}
        self._names_version = b""

    def find(self, name: str) -> Topic | None:
        """Return a topic by Kafka's name, None for an unknown one."""
        if name_problem(name) is not None:
            return None
        stored = store_name(name)
        if self._peers is not None:
            foreign = self._peers.foreign(stored)
            if foreign is not None:
                return self._shown(foreign.config, foreign.group) if self._shows_all else None
        config = self._topics.get(stored)
        return None if config is None else self._shown(config)

    @property
    def version(self) -> bytes:
        """A value that changes with every change of a topic."""
        if self._peers is None:
            return self._topics.version
        return self._topics.version + self._peers.changes.to_bytes(8, "big")

    def group_of(self, name: str, topic_id: bytes) -> str:
        """Return the group of a topic that a request names, or identifies; empty for this broker's."""
        topic = self.everywhere.find(name) if name else self.everywhere.by_id(topic_id)
        return "" if topic is None else topic.group

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
        peers = self._peers
        for config in self._topics.all():
            if peers is None or peers.foreign(config.topic_name) is None:
                topic = self._shown(config)
                if topic is not None:
                    yield topic
        if peers is not None and self._shows_all:
            for foreign in peers.foreign_topics():
                topic = self._shown(foreign.config, foreign.group)
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

    def _shown(self, config: TopicConfig, group: str = "") -> Topic | None:
        known = self._shown_as.get(config.topic_name)
        if known is not None and known.config is config:
            return known
        name = kafka_name(config.topic_name)
        if name is None or (self._is_system(config.topic_name) and name not in INTERNAL):
            return None
        own = id_of_text(config.attributes.get(KAFKA_TOPIC_ID, ""))
        topic_id = named_id(f"topic {self._cluster} {config.topic_name}") if own is None else own
        if len(self._shown_as) > 2 * len(self):
            self._shown_as.clear()  # most are deleted
        topic = Topic(name, config.topic_name, topic_id, config, self._batch_max, group)
        self._shown_as[config.topic_name] = topic
        return topic

    def _is_system(self, store: str) -> bool:
        """Return True for a reserved name; each group reserves its own name too."""
        return self._topics.is_system(store) or (self._peers is not None and store in self._peers.names)


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
