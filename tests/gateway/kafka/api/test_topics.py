"""Topics created, deleted and extended by Kafka clients."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene


def partitions(client: KafkaClient, name: str) -> int:
    """Return the number of partitions, 0 for an unknown topic."""
    wanted = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    [topic] = client.ask(wanted).topics
    return len(topic.partitions)


def created(client: KafkaClient, topic: CreatableTopic, **more: Any) -> Any:
    """Return the result of a request to create a topic."""
    [result] = client.ask(CreateTopicsRequest([topic], **more)).topics
    return result


def test_a_topic_is_created_with_partitions_id_and_settings() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        configs = [CreatableTopicConfig("retention.ms", "1000"), CreatableTopicConfig("segment.ms", None)]
        result = created(client, CreatableTopic("orders.v1", 3, 1, configs=configs))
        assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 3, 1)
        own = {config.name: config.value for config in result.configs if config.config_source == 1}
        assert own == {"retention.ms": "1000"}
        assert partitions(client, "orders.v1") == 3
        config = scene.server.broker.tables.topics.get("orders|v1")
        assert config is not None and config.attributes["kafka.retention.ms"] == "1000"
        assert config.attributes["queue.type"] == "BatchCQ"


def test_created_topic_has_defaults_of_the_broker() -> None:
    with kafka_scene(min_in_sync_replicas=2, kafka_message_max_bytes=300) as scene:
        own = [CreatableTopicConfig("max.message.bytes", "200")]
        results = [
            created(scene.client(), CreatableTopic(name, 1, 1, configs=own[at:]))
            for at, name in enumerate("ab")
        ]
        keys = "max.message.bytes", "min.insync.replicas", "segment.index.bytes"
        assert [
            [(one.value, one.config_source) for one in result.configs if one.name in keys]
            for result in results
        ] == [[("200", 1), ("2", 4), ("10485760", 5)], [("300", 4), ("2", 4), ("10485760", 5)]]


def test_only_checked_topics_are_not_created() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assert created(client, CreatableTopic("a", 3, 1), validate_only=True).error_code == 0
        assert partitions(client, "a") == 0


WRONG = {
    "name": (CreatableTopic("a b", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "long name": (CreatableTopic("a" * 200, 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "topic of controllers": (CreatableTopic("__cluster_metadata", 1, 1), ErrorCode.INVALID_REQUEST),
    "colliding name": (CreatableTopic("there_is", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "existing name": (CreatableTopic("there.is", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
    "no partitions": (CreatableTopic("a", 0, 1), ErrorCode.INVALID_PARTITIONS),
    "replicas": (CreatableTopic("a", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
    "no replicas": (CreatableTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "unknown setting": (
        CreatableTopic("a", 1, 1, configs=[CreatableTopicConfig("x", "y")]),
        ErrorCode.INVALID_CONFIG,
    ),
    "wrong setting": (
        CreatableTopic("a", 1, 1, configs=[CreatableTopicConfig("retention.ms", "soon")]),
        ErrorCode.INVALID_CONFIG,
    ),
    "assignments and a number": (
        CreatableTopic("a", 1, -1, [CreatableReplicaAssignment(0, [1])]),
        ErrorCode.INVALID_REQUEST,
    ),
    "assignments with a gap": (
        CreatableTopic("a", -1, -1, [CreatableReplicaAssignment(1, [1])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
    "assignment to another broker": (
        CreatableTopic("a", -1, -1, [CreatableReplicaAssignment(0, [2])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_topic_that_cannot_be_created_is_refused_with_a_reason(kind: str) -> None:
    topic, code = WRONG[kind]
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "there.is")
        result = created(client, topic)
        assert result.error_code == code and result.error_message


def test_a_topic_that_is_named_twice_is_refused() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        twice = [CreatableTopic("a", 1, 1), CreatableTopic("a", 1, 1)]
        results = client.ask(CreateTopicsRequest(twice)).topics
        assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST] * 2


def test_assignments_to_this_broker_give_the_number_of_partitions() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        assignments = [CreatableReplicaAssignment(number, [1]) for number in (1, 0)]
        assert created(client, CreatableTopic("a", -1, -1, assignments)).num_partitions == 2


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_are_deleted_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        if version < 6:
            request = DeleteTopicsRequest(topic_names=["a", "b"])
        else:
            request = DeleteTopicsRequest([DeleteTopicState(None, topic_id), DeleteTopicState("b")])
        gone, unknown = client.ask(request, version).responses
        assert (gone.name, gone.error_code) == ("a", 0)
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert partitions(client, "a") == 0


def test_deleted_topic_has_no_route_when_the_answer_is_sent() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        namesrv: Any = scene.server._nodes._namesrv
        routes = namesrv.namesrv.tables.topic_queues
        assert "a" in routes
        client.ask(DeleteTopicsRequest([DeleteTopicState("a")]))
        assert "a" not in routes


def test_a_topic_to_delete_has_a_name_or_an_id() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        both = [DeleteTopicState("a", b"\1" * 16), DeleteTopicState(None, b"\1" * 16)]
        codes = [result.error_code for result in client.ask(DeleteTopicsRequest(both)).responses]
        assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_ID]


def test_partitions_are_added() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a", 2)

        def added(count: int, *assignments: int, only_check: bool = False, name: str = "a") -> int:
            given = [CreatePartitionsAssignment([broker]) for broker in assignments] or None
            request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, given)], 1000, only_check)
            [result] = client.ask(request).results
            code: int = result.error_code
            return code

        assert added(3, only_check=True) == 0 and partitions(client, "a") == 2
        assert added(3) == 0 and partitions(client, "a") == 3
        assert added(4, 1) == 0 and partitions(client, "a") == 4
        assert added(4) == added(1) == added(-1) == ErrorCode.INVALID_PARTITIONS
        assert added(6, 1) == added(5, 2) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert added(5, name="b") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert added(2**31 - 1) == ErrorCode.INVALID_PARTITIONS
        [topic] = client.ask(MetadataRequest([MetadataRequestTopic(name="a")])).topics
        assert topic.topic_id == topic_id


def test_with_access_control_nothing_is_created_or_deleted() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        scene.server.create_topic("a")
        assert created(client, CreatableTopic("b", 1, 1)).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        [gone] = client.ask(DeleteTopicsRequest([DeleteTopicState("a")])).responses
        assert gone.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        [gone] = client.ask(DeleteTopicsRequest([DeleteTopicState("unknown")])).responses
        assert gone.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        [more] = client.ask(CreatePartitionsRequest([CreatePartitionsTopic("a", 20)])).results
        assert more.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
