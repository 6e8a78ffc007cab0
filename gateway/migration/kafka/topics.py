"""Topics of a cluster with their partitions and settings, and topics that are made in another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import check

TOPIC_RESOURCE: Final = 2
OF_THE_TOPIC: Final = 1
"""`config_source` of a setting that was made for a topic."""
TIMESTAMP_TYPE: Final = "message.timestamp.type"
"""Made at the end: with LogAppendTime copied records would have the time of their copy."""
OF_REPLICAS: Final = frozenset(
    ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
)
"""Settings that name brokers of a cluster."""
TIMEOUT_MILLIS: Final = 30_000
SET: Final = 0


class KafkaTopic(NamedTuple):
    """A topic: its number of partitions and the settings made for it."""

    name: str
    partitions: int
    configs: dict[str, str]


def read_topics(cluster: KafkaCluster) -> dict[str, KafkaTopic]:
    """Return the topics by name, without Kafka's own. Raises `ClientError`."""
    counts = {
        one.name: len(one.partitions) for one in cluster.metadata().topics if one.name and not one.is_internal
    }
    configs = _configs(cluster, sorted(counts)) if counts else {}
    return {name: KafkaTopic(name, counts[name], configs.get(name, {})) for name in sorted(counts)}


def _configs(cluster: KafkaCluster, names: list[str]) -> dict[str, dict[str, str]]:
    resources = [DescribeConfigsResource(TOPIC_RESOURCE, name, None) for name in names]
    found: dict[str, dict[str, str]] = {}
    for result in cluster.ask_any(DescribeConfigsRequest(resources)).results:
        check(result.error_code, f"settings of {result.resource_name}", result.error_message)
        found[result.resource_name] = {
            one.name: one.value
            for one in result.configs
            if one.config_source == OF_THE_TOPIC and one.value is not None and one.name not in OF_REPLICAS
        }
    return found


def create_topic(cluster: KafkaCluster, topic: KafkaTopic, *, is_trial: bool = False) -> str:
    """Make a topic without its timestamp type; return the refusal, empty for none.

    In a trial nothing is changed. Raises `ClientError`.
    """
    configs = [CreatableTopicConfig(name, value) for name, value in early(topic.configs).items()]
    made = CreatableTopic(topic.name, topic.partitions, -1, configs=configs)
    request = CreateTopicsRequest([made], TIMEOUT_MILLIS, is_trial)
    [answer] = cluster.ask_at(cluster.controller(), request).topics
    return _refusal(answer.error_code, answer.error_message)


def add_partitions(cluster: KafkaCluster, name: str, count: int) -> str:
    """Extend a topic to a number of partitions; return the refusal, empty for none."""
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)], TIMEOUT_MILLIS, False)
    [answer] = cluster.ask_at(cluster.controller(), request).results
    cluster.forget_leaders()
    return _refusal(answer.error_code, answer.error_message)


def set_configs(cluster: KafkaCluster, name: str, configs: Mapping[str, str]) -> str:
    """Change settings of a topic; return the refusal, empty for none."""
    changes = [AlterableConfig(key, SET, value) for key, value in configs.items()]
    resource = AlterConfigsResource(TOPIC_RESOURCE, name, changes)
    [answer] = cluster.ask_at(cluster.controller(), IncrementalAlterConfigsRequest([resource])).responses
    return _refusal(answer.error_code, answer.error_message)


def early(configs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a topic is made with."""
    return {name: value for name, value in configs.items() if name != TIMESTAMP_TYPE}


def late(configs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a topic gets once all is copied."""
    return {name: value for name, value in configs.items() if name == TIMESTAMP_TYPE}


def _refusal(code: int, message: str | None) -> str:
    return "" if code == ErrorCode.NONE else message or ErrorCode(code).name
