"""Settings of topics by Kafka's names."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.attributes import TOPIC_ATTRIBUTES, AttributeRefused, altered
from mqgateway.engine.tables.kafka_configs import KAFKA_CONFIGS, kafka_config


def test_defaults_are_allowed_values() -> None:
    for config in KAFKA_CONFIGS.values():
        assert config.problem(config.default) is None, config.name
        assert config.meaning.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("retention.ms", "1.5"),
        ("retention.ms", str(2**63)),
        ("max.message.bytes", str(2**31)),
        ("cleanup.policy", "delete,drop"),
        ("compression.type", "rar"),
        ("preallocate", "yes"),
        ("leader.replication.throttled.replicas", "1"),
        ("follower.replication.throttled.replicas", "0:1,x"),
        ("min.cleanable.dirty.ratio", "1.5"),
    ],
)
def test_a_value_that_is_not_allowed_has_a_problem(name: str, value: str) -> None:
    assert KAFKA_CONFIGS[name].problem(value)
    with pytest.raises(AttributeRefused):
        altered(TOPIC_ATTRIBUTES, {}, {f"+kafka.{name}": value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", "0:1, 2:1"),
        ("retention.ms", "-1"),
        ("cleanup.policy", "compact,delete"),
        ("min.cleanable.dirty.ratio", "0.1"),
    ],
)
def test_an_allowed_value_is_kept_as_an_attribute(name: str, value: str) -> None:
    attributes = altered(TOPIC_ATTRIBUTES, {}, {f"+kafka.{name}": value})
    assert kafka_config(attributes, name) == value
    assert kafka_config({}, name) == KAFKA_CONFIGS[name].default
