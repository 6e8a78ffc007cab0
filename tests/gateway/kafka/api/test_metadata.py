"""Topics, partitions and nodes as Kafka clients see them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.rights import NOT_ASKED
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene

OF_TOPICS = 0b1101_1111_1000
"""Bits of all operations on a topic."""
ACCESS: dict[str, Any] = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "inner_client_authentication_credentials": '{"accessKey":"inner","secretKey":"hidden"}',
}


def create(client: KafkaClient, name: str, partitions: int = 1) -> bytes:
    """Create a topic, and return its id."""
    [result] = client.ask(CreateTopicsRequest([CreatableTopic(name, partitions, -1)])).topics
    assert result.error_code == 0, result
    topic_id: bytes = result.topic_id
    return topic_id


def named(*names: str) -> list[MetadataRequestTopic]:
    """Return topics as Metadata asks for them."""
    return [MetadataRequestTopic(name=name) for name in names]


@pytest.mark.parametrize("version", range(14))
def test_topics_of_both_kinds_of_client_are_described_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "by.kafka", 3)
        scene.server.create_topic("ByRocketMQ", queues=2)
        answer = client.ask(MetadataRequest(named("by.kafka", "ByRocketMQ")), version)
        [broker] = answer.brokers
        assert (broker.node_id, broker.host, broker.port) == (1, "10.0.0.1", scene.port)
        first, second = answer.topics
        assert (first.error_code, first.name, len(first.partitions)) == (0, "by.kafka", 3)
        assert (second.error_code, second.name, len(second.partitions)) == (0, "ByRocketMQ", 2)
        assert all(one.leader_id == 1 and tuple(one.isr_nodes) == (1,) for one in first.partitions)
        if version >= 10:
            assert first.topic_id == topic_id and len(second.topic_id) == 16 and any(second.topic_id)


def test_all_topics_are_those_that_kafka_can_name() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        scene.server.create_topic("B|c")
        scene.server.create_topic("%RETRY%group")
        answer = client.ask(MetadataRequest(topics=None))
        assert {topic.name for topic in answer.topics} == {"a", "B.c"}
        assert {topic.name for topic in client.ask(MetadataRequest(topics=[]), 0).topics} == {"a", "B.c"}
        assert client.ask(MetadataRequest(topics=[])).topics == ()


def test_a_topic_is_found_by_its_id() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        wanted = [MetadataRequestTopic(topic_id, None), MetadataRequestTopic(b"\1" * 16, None)]
        found, unknown = client.ask(MetadataRequest(wanted)).topics
        assert (found.name, found.topic_id) == ("a", topic_id)
        assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


def test_names_beside_ids_are_ignored() -> None:
    """The Java client writes empty names beside ids."""
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create(client, "b")
        [found] = client.ask(MetadataRequest([MetadataRequestTopic(topic_id, "")])).topics
        assert (found.error_code, found.name, found.topic_id) == (0, "a", topic_id)
        wanted = [MetadataRequestTopic(NO_UUID, "b"), MetadataRequestTopic(topic_id, "b")]
        assert [topic.name for topic in client.ask(MetadataRequest(wanted)).topics] == ["a"]


def test_an_unknown_topic_is_created_if_client_and_settings_allow_it() -> None:
    with kafka_scene(kafka_num_partitions=5) as scene:
        client = scene.client()
        [refused] = client.ask(MetadataRequest(named("new"), allow_auto_topic_creation=False)).topics
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        [made] = client.ask(MetadataRequest(named("new"))).topics
        assert (made.error_code, len(made.partitions)) == (0, 5)
    with kafka_scene(auto_create_topic_enable=False) as scene:
        [refused] = scene.client().ask(MetadataRequest(named("new"))).topics
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "a|b", "x" * 250])
def test_a_name_that_kafka_does_not_allow_is_an_invalid_topic(name: str) -> None:
    with kafka_scene() as scene:
        [topic] = scene.client().ask(MetadataRequest(named(name))).topics
        assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_allowed_operations_are_given_only_to_who_asks() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        [plain] = client.ask(MetadataRequest(named("a"))).topics
        [asked] = client.ask(MetadataRequest(named("a"), include_topic_authorized_operations=True)).topics
        assert plain.topic_authorized_operations == NOT_ASKED
        assert asked.topic_authorized_operations == OF_TOPICS
        old = client.ask(MetadataRequest(named("a"), include_cluster_authorized_operations=True), 8)
        assert old.cluster_authorized_operations > 0


def test_with_access_control_a_client_without_a_user_sees_no_topic() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        [topic] = client.ask(MetadataRequest(named("a"))).topics
        assert topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert client.ask(MetadataRequest(topics=None)).topics == ()


def test_the_advertised_address_is_the_setting_or_the_one_that_the_client_used() -> None:
    with kafka_scene(kafka_advertised_address="mq.example.com:9999") as scene:
        [broker] = scene.client().ask(MetadataRequest(topics=[])).brokers
        assert (broker.host, broker.port) == ("mq.example.com", 9999)
    with kafka_scene(kafka_advertised_address="client") as scene:
        [broker] = scene.client().ask(MetadataRequest(topics=[])).brokers
        assert (broker.host, broker.port) == ("10.0.0.1", scene.port)


def test_partitions_come_in_pages() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 3)
        create(client, "b", 2)
        wanted = [TopicRequest("b"), TopicRequest("a"), TopicRequest("c")]
        found: list[tuple[str, int]] = []
        cursor = None
        for _ in range(9):
            answer = client.ask(DescribeTopicPartitionsRequest(wanted, 2, cursor))
            found += [
                (topic.name, one.partition_index) for topic in answer.topics for one in topic.partitions
            ]
            if answer.next_cursor is None:
                break
            cursor = Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
        assert found == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
        assert answer.topics[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        everything = client.ask(DescribeTopicPartitionsRequest([])).topics
        assert [topic.name for topic in everything] == ["a", "b"]
