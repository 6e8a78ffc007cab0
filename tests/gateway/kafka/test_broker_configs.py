"""Settings of the broker by Kafka's names."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.options.kafka import RACK_AWARE_SELECTOR
from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS
from mqgateway.engine.tables.kafka_group_configs import KAFKA_GROUP_CONFIGS
from mqgateway.gateway.kafka.broker_configs import BROKER_CONFIGS, CHANGEABLE, TYPES
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.support.gateway.kafka.client import kafka_scene

BROKER, STATIC, DEFAULT = 4, 4, 5


def described(**settings: Any) -> dict[str, Any]:
    """Return the settings of a broker, by name."""
    with kafka_scene(**settings) as scene:
        request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, "1", None)], True, True)
        [result] = scene.client().ask(request).results
    return {config.name: config for config in result.configs}


def test_settings_are_declared_with_known_types_and_meanings() -> None:
    assert list(BROKER_CONFIGS) == sorted(BROKER_CONFIGS)
    assert CHANGEABLE.keys() <= BROKER_CONFIGS.keys()
    for config in BROKER_CONFIGS.values():
        assert config.kind in TYPES and config.meaning.endswith(".")


def test_all_settings_are_shown() -> None:
    shown = described()
    assert list(shown) == list(BROKER_CONFIGS)
    assert all(config.documentation for config in shown.values())


def test_defaults_of_topics_are_settings_of_the_broker() -> None:
    shown = described()
    for config in KAFKA_CONFIGS.values():
        if config.synonym:
            assert shown[config.synonym].value == config.default


def test_defaults_and_limits_of_groups_are_settings_of_the_broker() -> None:
    shown = described()
    for config in KAFKA_GROUP_CONFIGS.values():
        if config.config.synonym:
            assert shown[config.config.synonym].value == config.config.default
    assert {
        name: shown[f"group.share.{name}"].value
        for name in ("delivery.count.limit", "min.delivery.count.limit", "max.delivery.count.limit")
    } == {"delivery.count.limit": "5", "min.delivery.count.limit": "2", "max.delivery.count.limit": "10"}
    assert shown["group.consumer.max.session.timeout.ms"].value == "60000"
    assert all(shown[name].read_only for name in shown if name.startswith(("group.share", "group.consumer")))


def test_settings_of_groups_are_those_in_effect() -> None:
    shown = described(kafka_group_consumer_heartbeat_interval_millis=500)
    config = shown["group.consumer.heartbeat.interval.ms"]
    assert (config.value, config.config_source) == ("500", STATIC)


def test_rack_and_selector_of_replicas_are_shown() -> None:
    shown = described()
    assert (shown["broker.rack"].value, shown["replica.selector.class"].value) == (None, None)
    shown = described(kafka_rack="r", kafka_replica_selector_class=RACK_AWARE_SELECTOR)
    assert (shown["broker.rack"].value, shown["replica.selector.class"].value) == ("r", RACK_AWARE_SELECTOR)


def test_limits_of_fetches_and_share_groups_are_those_in_effect() -> None:
    shown = described(
        kafka_fetch_max_bytes=2048, kafka_group_share_max_size=3, kafka_group_share_max_share_sessions=4
    )
    names = ("fetch.max.bytes", "group.share.max.size", "group.share.max.share.sessions")
    assert [shown[name].value for name in names] == ["2048", "3", "4"]


def test_value_that_differs_from_the_default_of_kafka_is_static() -> None:
    shown = described(file_reserved_time=96, kafka_group_max_size=7)
    assert {
        name: (
            shown[name].value,
            shown[name].config_source,
            [(one.value, one.source) for one in shown[name].synonyms],
        )
        for name in ("log.retention.hours", "log.retention.ms", "group.max.size", "num.partitions", "node.id")
    } == {
        "log.retention.hours": ("96", STATIC, [("96", STATIC), ("168", DEFAULT)]),
        "log.retention.ms": (None, DEFAULT, []),
        "group.max.size": ("7", STATIC, [("7", STATIC), ("2147483647", DEFAULT)]),
        "num.partitions": ("1", DEFAULT, [("1", DEFAULT)]),
        "node.id": ("1", STATIC, [("1", STATIC)]),
    }


def test_settings_of_sasl_are_shown() -> None:
    shown = described(kafka_oauthbearer_jwks_url="https://idp/keys", kafka_sasl_mechanisms="PLAIN")
    url, issuer = shown["sasl.oauthbearer.jwks.endpoint.url"], shown["sasl.oauthbearer.expected.issuer"]
    assert (url.value, url.config_source) == ("https://idp/keys", STATIC)
    assert (issuer.value, issuer.config_source) == (None, DEFAULT)
    assert shown["sasl.enabled.mechanisms"].value == "PLAIN"
    assert shown["sasl.server.max.receive.size"].value == "524288"
