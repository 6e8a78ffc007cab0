"""Topics that a client uses before they exist; CreateTopics is in `api/test_topics`."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import StoreOptions
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.creation import Creation, CreationRejected, check_configs, limits_of
from mqgateway.gateway.kafka.topics import Topics
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.gateway.kafka.test_call import call_in
from tests.support.gateway.kafka.client import KafkaScene, kafka_scene


def made(scene: KafkaScene, name: str) -> ErrorCode:
    """Return the error of a topic that is made for a client."""
    creation = Creation(scene.operations, Topics(scene.operations), None)
    return creation.create_for_client(call_in(scene), name)


def test_a_topic_is_made_with_batches_that_stay_whole() -> None:
    with kafka_scene() as scene:
        assert made(scene, "a") is ErrorCode.NONE
        topic = Topics(scene.operations).find("a")
        assert topic is not None and topic.keeps_batches and topic.partitions == 1


def test_topic_of_a_coordinator_is_made_as_the_coordinator_makes_it() -> None:
    with kafka_scene(kafka_num_partitions=4) as scene:
        assert made(scene, "__consumer_offsets") is ErrorCode.NONE
        topic = Topics(scene.operations).find("__consumer_offsets")
        assert topic is not None and (topic.partitions, topic.setting("cleanup.policy")) == (1, "compact")


def test_a_topic_that_cannot_be_made_gives_the_reason() -> None:
    with kafka_scene() as scene:
        assert made(scene, "a b") is ErrorCode.INVALID_TOPIC_EXCEPTION
    with kafka_scene() as scene:
        assert made(scene, "__cluster_metadata") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with kafka_scene(auto_create_topic_enable=False) as scene:
        assert made(scene, "a") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with kafka_scene(**ACCESS) as scene:
        assert made(scene, "a") is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with kafka_scene() as scene:
        assert made(scene, "a" * 200) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_settings_are_checked_with_the_words_of_kafka() -> None:
    check_configs({"retention.ms": None, "segment.ms": "1"}, {})
    with pytest.raises(CreationRejected, match="Unknown topic config name: x"):
        check_configs({"x": "1"}, {})
    with pytest.raises(
        CreationRejected, match=r"Invalid value soon for configuration retention\.ms: Not a number"
    ):
        check_configs({"retention.ms": "soon"}, {})


def test_batch_size_above_max_message_size_is_refused() -> None:
    limits = limits_of(StoreOptions(max_message_size=100))
    check_configs({"max.message.bytes": "100"}, limits)
    check_configs({"max.message.bytes": None}, limits)
    with pytest.raises(
        CreationRejected, match="must be no more than 100, the broker's maxMessageSize"
    ) as refused:
        check_configs({"max.message.bytes": "101"}, limits)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    with pytest.raises(CreationRejected, match="Not a number"):
        check_configs({"max.message.bytes": "much"}, limits)
