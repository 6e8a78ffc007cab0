"""The bytes of partitions, as Kafka clients see them."""

from __future__ import annotations

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from mqgateway.gateway.kafka.codec.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced


def test_partitions_have_the_sizes_of_their_records() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        scene.server.create_topic("Orders", queues=1)
        data = batch_of_values(bytes(10_000), now=scene.server.clock.millis())
        for topic in ("a", "Orders"):
            produced(client, produce_request(topic, data))
        wanted = [
            DescribableLogDirTopic("a", [0, 1, 7]),
            DescribableLogDirTopic("Orders", [0]),
            DescribableLogDirTopic("none", [0]),
        ]
        [folder] = client.ask(DescribeLogDirsRequest(wanted)).results
        sizes = {
            (topic.name, one.partition_index): one.partition_size
            for topic in folder.topics
            for one in topic.partitions
        }
        assert sizes.keys() == {("a", 0), ("a", 1), ("Orders", 0)} and sizes["a", 1] == 0
        assert 10_000 < sizes["a", 0] < 10_500 and 10_000 < sizes["Orders", 0] < 10_500
        assert folder.total_bytes >= folder.usable_bytes > 0
        [all_topics] = client.ask(DescribeLogDirsRequest(None)).results
        assert {topic.name for topic in all_topics.topics} == {"a", "Orders"}


def test_with_access_control_sizes_are_not_shown() -> None:
    with kafka_scene(**ACCESS) as scene:
        answer = scene.client().ask(DescribeLogDirsRequest(None))
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED and not answer.results


def moved(client: KafkaClient, path: str, *topics: AlterReplicaLogDirTopic) -> list[list[int]]:
    """Return the errors of partitions that are to be in a folder."""
    answer = client.ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, topics)]))
    return [[one.error_code for one in topic.partitions] for topic in answer.results]


def test_partitions_can_be_moved_to_the_folder_of_the_store_only() -> None:
    topics = AlterReplicaLogDirTopic("a", [0, 1]), AlterReplicaLogDirTopic("none", [0])
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        [folder] = client.ask(DescribeLogDirsRequest(None)).results
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert moved(client, folder.log_dir, *topics) == [[0, unknown], [unknown]]
        missing = ErrorCode.LOG_DIR_NOT_FOUND
        assert moved(client, "/elsewhere", *topics) == [[missing, missing], [missing]]


def test_with_access_control_no_partition_is_moved() -> None:
    with kafka_scene(**ACCESS) as scene:
        codes = moved(scene.client(), "/elsewhere", AlterReplicaLogDirTopic("a", [0]))
        assert codes == [[ErrorCode.CLUSTER_AUTHORIZATION_FAILED]]
