"""Topics that Kafka clients make: their checks, and their configuration.

Standard: `ReplicationControlManager.createTopic`, `Topic.validate`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple
from zlib import crc32

from twisted.internet.defer import Deferred

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, KAFKA_TOPIC_ID, MESSAGE_FORMAT
from mqgateway.engine.tables.kafka_configs import (
    KAFKA_CONFIGS,
    MAX_MESSAGE_BYTES,
    MIN_IN_SYNC,
    PREFIX,
    REMOTE_STORAGE,
)
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.ids import new_id, text_of_id
from mqgateway.gateway.kafka.rights import admit_one, on_cluster, on_topic
from mqgateway.gateway.kafka.topics import INTERNAL, Topics, name_problem, store_name

log = logging.getLogger(__name__)

CLUSTER_METADATA: Final = "__cluster_metadata"
"""Topic of Kafka's controllers, which no client may make."""
COORDINATOR_PARTITIONS: Final = 1
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
    """Makes topics, each in one group of brokers. `topics` are those of all groups.

    The name of a topic says in which group it is made, so that brokers that make it at the same time agree.
    """

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._operations = operations
        self._topics = topics

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
        is_foreign = peers is not None and peers.foreign(stored) is not None
        if is_foreign or self._operations.topics.get(stored) is not None:
            raise CreationRejected(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
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

    def group_of(self, name: str) -> str:
        """Return the group in which a topic is made; empty for this broker's.

        Topics of coordinators are in the first group, whose master coordinates.
        """
        peers = self._operations.peers
        if peers is None:
            return ""
        group = peers.names[0 if name in INTERNAL else crc32(name.encode()) % len(peers.names)]
        return "" if group == peers.own else group

    def create(
        self, permit: Permit, name: str, partitions: int, configs: Mapping[str, str | None], group: str
    ) -> Deferred[None]:
        """Make a topic in a group; the outcome fires once the name servers know it, and this broker.

        Raises `OperationError`, or fails with it.
        """
        config, peers = new_topic(name, partitions, configs), self._operations.peers
        if peers is not None and group:
            return peers.put_topic(permit, group, config, is_new=True)
        return self._operations.administration.put_topic(permit, config)

    def create_for_client(self, call: KafkaCall, name: str) -> ErrorCode:
        """Make a topic that a client uses before it exists, and return the error if that is not possible.

        While another group makes it, it has no leader.
        """
        options = self._operations.options
        if not options.auto_create_topic_enable or name == CLUSTER_METADATA:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partitions, configs = options.kafka_num_partitions, {}
        if name in INTERNAL:
            partitions, configs = COORDINATOR_PARTITIONS, COORDINATOR_CONFIGS
        try:
            permit = self.admit(call, name)
            self.check(name, partitions, configs)
            made = self.create(permit, name, partitions, configs, self.group_of(name))
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


def new_topic(name: str, partitions: int, configs: Mapping[str, str | None]) -> TopicConfig:
    """Return the configuration that makes a topic, by Kafka's name; its attributes are changes."""
    attributes = {
        "+queue.type": "BatchCQ",
        f"+{MESSAGE_FORMAT}": KAFKA_FORMAT,
        f"+{KAFKA_TOPIC_ID}": text_of_id(new_id()),
    }
    attributes |= {f"+{PREFIX}{key}": value for key, value in configs.items() if value is not None}
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
