"""Topics that Kafka clients make: their checks, and their configuration.

Standard: `ReplicationControlManager.createTopic`, `Topic.validate`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from zlib import crc32

from twisted.internet.defer import Deferred

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.tables.attributes import (
    KAFKA_DELETED,
    KAFKA_FORMAT,
    KAFKA_PARTITIONS,
    KAFKA_TOPIC_ID,
    MESSAGE_FORMAT,
)
from mqgateway.engine.tables.kafka_configs import (
    KAFKA_CONFIGS,
    MAX_MESSAGE_BYTES,
    MIN_IN_SYNC,
    PREFIX,
    REMOTE_STORAGE,
)
from mqgateway.engine.tables.partition_layout import PartitionLayout, spread
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.ids import new_id, text_of_id
from mqgateway.gateway.kafka.rights import admit_one, on_cluster, on_topic
from mqgateway.gateway.kafka.spread_topics import SpreadTopics
from mqgateway.gateway.kafka.topics import INTERNAL, Topic, Topics, name_problem, store_name

log = logging.getLogger(__name__)

CLUSTER_METADATA: Final = "__cluster_metadata"
"""Topic of Kafka's controllers, which no client may make."""
COORDINATOR_CONFIGS: Final = {"cleanup.policy": "compact"}
"""Settings of a coordinator's topic, as Apache Kafka has them: the coordinator removes its records, not their
age."""


class CreationRejected(Exception):
    """A topic or a setting that is refused, with Kafka's code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class Limit(NamedTuple):
    """The largest value that a setting of a topic may have, and the broker's setting that says so."""

    most: int
    setting: str


class Creation:
    """Makes topics, whose partitions are spread over the groups of brokers. `topics` are those of all groups.

    The name of a topic says which group has its first partition, so that brokers that make it at the same
    time agree. `spread` makes topics of several groups, None if there is only this broker's.
    """

    def __init__(self, operations: Operations, topics: Topics, spread: SpreadTopics | None) -> None:
        self._operations = operations
        self._topics = topics
        self.spread = spread

    def check(self, name: str, partitions: int, configs: Mapping[str, str | None]) -> None:
        """Check a topic that is to be made. Raises `CreationRejected`."""
        problem = name_problem(name)
        if problem is not None:
            raise CreationRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if name == CLUSTER_METADATA:
            text = f"Creation of internal topic {name} is prohibited."
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        peers = self._operations.peers
        if peers is not None and not peers.is_complete:
            text = "The topics of other broker groups are not known yet (kafkaClusterGroups)."
            raise CreationRejected(ErrorCode.REQUEST_TIMED_OUT, text)
        stored = store_name(name)
        foreign = None if peers is None else peers.foreign(stored)
        known = self._operations.topics.get(stored) if foreign is None else foreign.config
        if known is not None:
            is_deleted = KAFKA_DELETED in known.attributes
            text = f"Topic '{name}' " + ("is being deleted." if is_deleted else "already exists.")
            raise CreationRejected(ErrorCode.TOPIC_ALREADY_EXISTS, text)
        other = self._topics.colliding(name)
        if other is not None:
            raise CreationRejected(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {other.name}",
            )
        if partitions < 1:
            raise CreationRejected(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        check_configs(configs, limits_of(self._operations.store_options))

    def admit(self, call: KafkaCall, name: str) -> Permit:
        """Admit the creation of a topic. Raises `NotAdmitted`, `OperationError`."""
        create = AclOperation.CREATE
        needs = on_topic(store_name(name), create), on_cluster(self._operations, create)
        return admit_one(call, Use.ADMINISTER, *needs)

    def layout(self, name: str, partitions: int) -> PartitionLayout | None:
        """Return where the partitions of a new topic are; None for a broker without other groups, and without
        partitions. Raises `CreationRejected`.
        """
        self._check_number(partitions)
        groups = self._spread(name, partitions, ())
        return PartitionLayout.of(groups) if groups else None

    def extended(self, topic: Topic, partitions: int, groups: Sequence[str]) -> PartitionLayout | None:
        """Return where the partitions of a topic are if it has more of them: in `groups`, if there are any.
        None for a topic without a layout. Raises `CreationRejected`.
        """
        self._check_number(partitions)
        if topic.layout is None:
            return None
        if topic.is_internal:
            text = f"Topic '{topic.name}' keeps its partitions, which say where keys are coordinated."
            raise CreationRejected(ErrorCode.INVALID_REQUEST, text)
        before = [place.group for place in topic.layout.places]
        return topic.layout.extended(
            groups or self._spread(topic.name, partitions - topic.partitions, before)
        )

    def _spread(self, name: str, partitions: int, before: Sequence[str]) -> list[str]:
        """Return the groups of partitions that are added, none for a broker without other groups.

        Topics of coordinators belong to the first group, whose master makes them.
        """
        peers = self._operations.peers
        if peers is None:
            return []
        first = 0 if name in INTERNAL else crc32(name.encode()) % len(peers.names)
        return spread(peers.names, partitions, first, before)

    def coordinator_partitions(self) -> int:
        """Return the number of partitions that a topic of coordinators is made with: one in each group."""
        peers = self._operations.peers
        return 1 if peers is None else len(peers.names)

    def _check_number(self, partitions: int) -> None:
        most = self._operations.options.max_queues_per_topic
        if partitions > most:
            text = f"A topic may not have more than {most} partitions (maxQueuesPerTopic)."
            raise CreationRejected(ErrorCode.INVALID_PARTITIONS, text)

    def check_groups(self, name: str, layout: PartitionLayout | None) -> None:
        """Check that all groups that have partitions of a topic can change it. Raises `CreationRejected`."""
        silent = None if layout is None or self.spread is None else self.spread.silent(layout)
        if silent is not None:
            text = f"Broker group {silent}, which has partitions of topic '{name}', has no leader."
            raise CreationRejected(ErrorCode.REQUEST_TIMED_OUT, text)

    def create(
        self,
        permit: Permit,
        name: str,
        partitions: int,
        configs: Mapping[str, str | None],
        layout: PartitionLayout | None,
    ) -> Deferred[None]:
        """Make a topic; the outcome fires once the name servers know it, and this broker.

        Raises `OperationError`, or fails with it.
        """
        if layout is not None and self.spread is not None:
            return self.spread.create(permit, new_topic(name, partitions, configs, layout), layout)
        return self._operations.administration.put_topic(permit, new_topic(name, partitions, configs))

    def create_for_client(self, call: KafkaCall, name: str) -> ErrorCode:
        """Make a topic that a client uses before it exists, and return the error if that is not possible.

        While another group makes it, it has no leader.
        """
        options = self._operations.options
        if not options.auto_create_topic_enable or name == CLUSTER_METADATA:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partitions, configs = options.kafka_num_partitions, {}
        if name in INTERNAL:
            partitions, configs = self.coordinator_partitions(), COORDINATOR_CONFIGS
        try:
            permit = self.admit(call, name)
            self.check(name, partitions, configs)
            layout = self.layout(name, partitions)
            self.check_groups(name, layout)
            made = self.create(permit, name, partitions, configs, layout)
        except CreationRejected as refusal:
            is_early = refusal.code is ErrorCode.REQUEST_TIMED_OUT
            return ErrorCode.LEADER_NOT_AVAILABLE if is_early else refusal.code
        except NotAdmitted:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        except OperationError:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        made.addErrback(lambda failure: log.info("topic %s is not made: %s", name, failure.value))
        is_there = self._topics.find(name) is not None
        return ErrorCode.NONE if is_there else ErrorCode.LEADER_NOT_AVAILABLE


def new_topic(
    name: str,
    partitions: int,
    configs: Mapping[str, str | None],
    layout: PartitionLayout | None = None,
) -> TopicConfig:
    """Return the configuration that makes a topic, by Kafka's name, in the group of its first partition; its
    attributes are changes."""
    attributes = {
        "+queue.type": "BatchCQ",
        f"+{MESSAGE_FORMAT}": KAFKA_FORMAT,
        f"+{KAFKA_TOPIC_ID}": text_of_id(new_id()),
    }
    attributes |= {f"+{PREFIX}{key}": value for key, value in configs.items() if value is not None}
    if layout is not None:
        partitions = layout.queues(layout.home)
        attributes[f"+{KAFKA_PARTITIONS}"] = layout.text
    return TopicConfig(store_name(name), partitions, partitions, attributes=attributes)


def default_config(operations: Operations, name: str) -> str:
    """Return the default of a topic's setting, which may be the broker's."""
    store = operations.store_options
    if name == "retention.ms":
        return str(store.file_reserved_time * 3_600_000)
    if name == MIN_IN_SYNC:
        return str(store.min_in_sync_replicas)
    if name == MAX_MESSAGE_BYTES:
        return str(operations.options.kafka_message_max_bytes)
    return KAFKA_CONFIGS[name].default


def limits_of(options: StoreOptions) -> dict[str, Limit]:
    """Return the limits that a broker sets to settings of topics, by their names.

    The store holds no batch larger than maxMessageSize, whatever a topic says.
    """
    return {MAX_MESSAGE_BYTES: Limit(options.max_message_size, "maxMessageSize")}


def check_configs(configs: Mapping[str, str | None], limits: Mapping[str, Limit]) -> None:
    """Check settings of a topic; None stands for the default. Raises `CreationRejected`."""
    for name, value in configs.items():
        config = KAFKA_CONFIGS.get(name)
        if config is None:
            raise CreationRejected(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        limit = limits.get(name)
        problem = None if value is None else config.problem(value)
        if value is not None and problem is None and limit is not None and int(value) > limit.most:
            problem = f"Value must be no more than {limit.most}, the broker's {limit.setting}"
        if (name, value) == (REMOTE_STORAGE, "true"):
            text = "Tiered storage is not supported by this broker. Topic cannot be configured with it."
            raise CreationRejected(ErrorCode.INVALID_CONFIG, text)
        if problem is not None:
            raise CreationRejected(
                ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {problem}"
            )
