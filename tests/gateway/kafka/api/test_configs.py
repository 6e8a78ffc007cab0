"""Settings of topics and of the broker, as Kafka clients read and change them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import alter_configs_request as replacing
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
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene
from tests.support.gateway.testing.hands import HOST

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def described(client: KafkaClient, kind: int, name: str, **more: Any) -> Any:
    """Return the result for one resource."""
    keys = more.pop("keys", None)
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], **more)
    [result] = client.ask(request).results
    return result


def own(client: KafkaClient, name: str) -> dict[str, str]:
    """Return the settings that a topic has itself."""
    result = described(client, TOPIC, name)
    return {config.name: config.value for config in result.configs if config.config_source == 1}


def changed(client: KafkaClient, kind: int, name: str, *changes: tuple[str, int, str | None]) -> Any:
    """Change settings one by one, and return the result."""
    resource = AlterConfigsResource(kind, name, [AlterableConfig(*change) for change in changes])
    [result] = client.ask(IncrementalAlterConfigsRequest([resource])).responses
    return result


def test_a_topic_has_all_settings_with_their_defaults() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        result = described(client, TOPIC, "a", include_synonyms=True, include_documentation=True)
        assert [config.name for config in result.configs] == list(KAFKA_CONFIGS)
        assert all(config.documentation for config in result.configs)
        assert {one.name for config in result.configs for one in config.synonyms} >= {"log.cleanup.policy"}
        values = {config.name: config.value for config in result.configs}
        assert values["max.message.bytes"] == "1048588"
        assert values["retention.ms"] == str(72 * 3_600_000)  # as long as the log keeps its files


def test_settings_of_topics_name_the_settings_of_the_broker_that_have_their_defaults() -> None:
    with kafka_scene(min_in_sync_replicas=2, kafka_message_max_bytes=300) as scene:
        client = scene.client()
        create(client, "a")
        changed(client, TOPIC, "a", ("cleanup.policy", SET, "compact"))
        keys = ["cleanup.policy", "max.message.bytes", "min.insync.replicas", "flush.ms"]
        result = described(client, TOPIC, "a", keys=keys, include_synonyms=True)
        assert {
            config.name: (
                config.config_source,
                [(one.name, one.value, one.source) for one in config.synonyms],
            )
            for config in result.configs
        } == {
            "cleanup.policy": (1, [("cleanup.policy", "compact", 1), ("log.cleanup.policy", "delete", 5)]),
            "max.message.bytes": (4, [("message.max.bytes", "300", 4), ("message.max.bytes", "1048588", 5)]),
            "min.insync.replicas": (4, [("min.insync.replicas", "2", 4), ("min.insync.replicas", "1", 5)]),
            "flush.ms": (5, []),
        }


def test_no_wanted_settings_are_all_settings() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        assert len(described(client, TOPIC, "a", keys=[]).configs) == len(KAFKA_CONFIGS)


def test_only_the_wanted_settings_are_given() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        result = described(client, TOPIC, "a", keys=["cleanup.policy", "nothing"])
        [config] = result.configs
        assert (config.name, config.value, config.config_type) == ("cleanup.policy", "delete", 7)
        assert config.documentation is None and not config.synonyms


def test_settings_are_set_deleted_appended_and_subtracted() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        assert (
            changed(client, TOPIC, "a", ("retention.ms", SET, "1"), ("segment.ms", SET, "2")).error_code == 0
        )
        assert own(client, "a") == {"retention.ms": "1", "segment.ms": "2"}
        assert changed(client, TOPIC, "a", ("retention.ms", DELETE, None)).error_code == 0
        assert own(client, "a") == {"segment.ms": "2"}
        assert changed(client, TOPIC, "a", ("cleanup.policy", APPEND, "compact")).error_code == 0
        assert own(client, "a")["cleanup.policy"] == "delete,compact"
        assert changed(client, TOPIC, "a", ("cleanup.policy", SUBTRACT, "delete")).error_code == 0
        assert own(client, "a")["cleanup.policy"] == "compact"


@pytest.mark.parametrize("kind, name", [(TOPIC, "a"), (BROKER, "1"), (BROKER, ""), (GROUP, "g")])
def test_deletion_of_a_setting_without_a_value_succeeds(kind: int, name: str) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        before = described(client, kind, name)
        assert changed(client, kind, name, ("no.such", DELETE, None)).error_code == 0
        assert changed(client, kind, name, ("log.retention.ms", DELETE, None)).error_code == 0
        assert described(client, kind, name) == before


def test_replacing_settings_gives_the_others_their_defaults() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        changed(client, TOPIC, "a", ("retention.ms", SET, "1"))
        config = replacing.AlterableConfig("segment.ms", "5")
        request = replacing.AlterConfigsRequest([replacing.AlterConfigsResource(TOPIC, "a", [config])])
        [result] = client.ask(request).responses
        assert result.error_code == 0 and own(client, "a") == {"segment.ms": "5"}


WRONG = {
    "unknown key": (("x", SET, "1"), ErrorCode.INVALID_CONFIG),
    "wrong value": (("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
    "tiered storage": (("remote.storage.enable", SET, "true"), ErrorCode.INVALID_CONFIG),
    "too small": (("retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG),
    "no value": (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
    "no list": (("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
    "unknown operation": (("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_change_is_refused_with_a_reason_and_changes_nothing(kind: str) -> None:
    change, code = WRONG[kind]
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        result = changed(client, TOPIC, "a", change)
        assert result.error_code == code and result.error_message
        assert own(client, "a") == {}


def test_batch_size_above_max_message_size_is_refused() -> None:
    with kafka_scene(max_message_size=2_000_000) as scene:
        client = scene.client()
        create(client, "a")
        result = changed(client, TOPIC, "a", ("max.message.bytes", SET, "2000001"))
        assert result.error_code == ErrorCode.INVALID_CONFIG
        assert "no more than 2000000, the broker's maxMessageSize" in result.error_message
        config = CreatableTopicConfig("max.message.bytes", "2000001")
        [topic] = client.ask(CreateTopicsRequest([CreatableTopic("b", 1, 1, configs=[config])])).topics
        assert (topic.error_code, topic.error_message) == (ErrorCode.INVALID_CONFIG, result.error_message)
        assert changed(client, TOPIC, "a", ("max.message.bytes", SET, "2000000")).error_code == 0
        assert own(client, "a") == {"max.message.bytes": "2000000"}


def test_a_setting_that_is_named_twice_is_refused() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        twice = ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)
        assert changed(client, TOPIC, "a", *twice).error_code == ErrorCode.INVALID_REQUEST


def test_only_checked_changes_are_not_made() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        resource = AlterConfigsResource(TOPIC, "a", [AlterableConfig("retention.ms", SET, "1")])
        [result] = client.ask(IncrementalAlterConfigsRequest([resource], True)).responses
        assert result.error_code == 0 and own(client, "a") == {}


def test_settings_of_groups_are_those_of_the_broker() -> None:
    given = {
        "kafka_group_initial_rebalance_delay_millis": 1,
        "kafka_group_max_session_timeout_millis": 2,
        "kafka_group_min_session_timeout_millis": 3,
        "kafka_group_max_size": 4,
        "kafka_offset_metadata_max_bytes": 5,
        "kafka_offsets_retention_minutes": 6,
    }
    with kafka_scene(**given) as scene:
        values = {config.name: config.value for config in described(scene.client(), BROKER, "1").configs}
    assert [
        values["group.initial.rebalance.delay.ms"],
        values["group.max.session.timeout.ms"],
        values["group.min.session.timeout.ms"],
        values["group.max.size"],
        values["offset.metadata.max.bytes"],
        values["offsets.retention.minutes"],
    ] == ["1", "2", "3", "4", "5", "6"]


def test_listeners_are_those_that_run() -> None:
    with kafka_scene(kafka_advertised_address="kafka.example:9093") as scene:
        client = scene.client()
        keys = ["listeners", "advertised.listeners"]
        configs = {config.name: config for config in described(client, BROKER, "1", keys=keys).configs}
        assert {name: config.value for name, config in configs.items()} == {
            "listeners": f"PLAINTEXT://{HOST}:{scene.port}",
            "advertised.listeners": "PLAINTEXT://kafka.example:9093",
        }
        assert all(config.read_only and config.config_type == 7 for config in configs.values())
        result = changed(client, BROKER, "1", ("listeners", SET, "PLAINTEXT://:1"))
        assert result.error_code == ErrorCode.INVALID_REQUEST


def test_two_settings_of_the_broker_can_be_changed() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert changed(client, BROKER, "1", ("num.partitions", SET, "7")).error_code == 0
        values = {config.name: config.value for config in described(client, BROKER, "1").configs}
        assert values["num.partitions"] == "7" and values["node.id"] == "1"
        assert changed(client, BROKER, "1", ("num.partitions", DELETE, None)).error_code == 0
        values = {config.name: config.value for config in described(client, BROKER, "1").configs}
        assert values["num.partitions"] == "1"
        assert changed(client, BROKER, "1", ("node.id", SET, "2")).error_code == ErrorCode.INVALID_REQUEST
        assert (
            changed(client, BROKER, "1", ("num.partitions", SET, "x")).error_code == ErrorCode.INVALID_CONFIG
        )
        assert not described(client, BROKER, "").configs


@pytest.mark.parametrize(
    "kind, name, code",
    [
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (99, "a", ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_unknown_resource_is_refused(kind: int, name: str, code: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert described(client, kind, name).error_code == code
        assert changed(client, kind, name, ("retention.ms", SET, "1")).error_code == code


def test_with_access_control_settings_are_neither_shown_nor_changed() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        scene.server.create_topic("a")
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        for (kind, name), code in zip(((TOPIC, "a"), (BROKER, "1")), denied, strict=True):
            assert described(client, kind, name).error_code == code
            assert changed(client, kind, name, ("retention.ms", SET, "1")).error_code == code
