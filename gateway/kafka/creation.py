"""Topics that Kafka clients make: their checks, and their configuration.

Standard: `ReplicationControlManager.createTopic`, `Topic.validate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, KAFKA_TOPIC_ID, MESSAGE_FORMAT
from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS, MAX_MESSAGE_BYTES, PREFIX, REMOTE_STORAGE
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import NotAdmitted, OperationError, Operations, Permit, Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.ids import new_id, text_of_id
from mqgateway.gateway.kafka.rights import admit_one, on_cluster, on_topic
from mqgateway.gateway.kafka.topics import Topics, name_problem, store_name


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
    """Makes topics in one broker."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._operations = operations
        self._topics = topics

    def check(self, name: str, partitions: int, configs: Mapping[str, str | None]) -> None:
        """Check a topic that is to be made. Raises `CreationRejected`."""
        problem = name_problem(name)
        if problem is not None:
            raise CreationRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if self._operations.topics.get(store_name(name)) is not None:
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

    def create(
        self, permit: Permit, name: str, partitions: int, configs: Mapping[str, str | None]
    ) -> Deferred[None]:
        """Make a topic; the outcome fires once the name servers know it. Raises `OperationError`."""
        return self._operations.administration.put_topic(permit, new_topic(name, partitions, configs))

    def create_for_client(self, call: KafkaCall, name: str) -> ErrorCode:
        """Make a topic that a client uses before it exists, and return the error if that is not possible."""
        options = self._operations.options
        if not options.auto_create_topic_enable:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            permit = self.admit(call, name)
            self.check(name, options.kafka_num_partitions, {})
            self.create(permit, name, options.kafka_num_partitions, {})
        except CreationRejected as refusal:
            return refusal.code
        except NotAdmitted:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        except OperationError:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        return ErrorCode.NONE


def new_topic(name: str, partitions: int, configs: Mapping[str, str | None]) -> TopicConfig:
    """Return the configuration that makes a topic, by Kafka's name; its attributes are changes."""
    attributes = {
        "+queue.type": "BatchCQ",
        f"+{MESSAGE_FORMAT}": KAFKA_FORMAT,
        f"+{KAFKA_TOPIC_ID}": text_of_id(new_id()),
    }
    attributes |= {f"+{PREFIX}{key}": value for key, value in configs.items() if value is not None}
    return TopicConfig(store_name(name), partitions, partitions, attributes=attributes)


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
