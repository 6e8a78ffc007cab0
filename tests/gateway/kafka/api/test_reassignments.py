"""Requests about moves of partitions; `test_partition_moves` has the moves."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.gateway.kafka import partition_moves
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.gateway.kafka.test_partition_moves import NAMES, move, ongoing, send
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.cluster import KafkaCluster


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of three groups."""
    return KafkaCluster(NAMES)


def test_move_to_its_own_group_changes_nothing(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    assert move(cluster, topic, [1001]).error_code == 0
    assert ongoing(cluster) == []
    config = cluster.operations("b").topics.known(topic)
    assert config.attributes[KAFKA_PARTITIONS] == "1*b"


@pytest.mark.parametrize("replicas", [[], [9], [1, 1001], [1, 1]])
def test_replicas_that_are_no_group_are_refused(cluster: KafkaCluster, replicas: list[int]) -> None:
    topic = cluster.make_spread("b", partitions=1)
    refused = move(cluster, topic, replicas)
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "are not all members of one broker group" in refused.error_message


def test_moves_of_what_does_not_exist_are_refused(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    assert move(cluster, "unknown", [1]).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(cluster, topic, [1], partition=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(cluster, topic, None).error_code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_topics_of_coordinators_do_not_move(cluster: KafkaCluster) -> None:
    refused = move(cluster, "__consumer_offsets", [2001])
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_move_is_cancelled(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    send(cluster, "b", topic, b"1")
    cluster.kill("c")
    begun = move(cluster, topic, [2001], at="b")
    assert begun.error_code == ErrorCode.REQUEST_TIMED_OUT and "broker c" in begun.error_message
    assert ongoing(cluster, "b") == [(topic, 0, (2001,), (1001,))]
    assert move(cluster, topic, None, at="b").error_code == 0
    assert ongoing(cluster, "b") == []
    cluster.restart("c")
    cluster.wait(5)
    assert cluster.leaders("c", topic) == [1001] and send(cluster, "b", topic, b"2").base_offset == 1
    assert move(cluster, topic, [1], at="c").error_code == 0
    cluster.wait(5)
    assert cluster.leaders("c", topic) == [1]


def test_listed_moves_are_those_that_were_asked_for(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=2)
    cluster.kill("a")
    move(cluster, topic, [1], at="b")
    for numbers, count in (((0, 1), 1), ((1,), 0)):
        wanted = [
            ListPartitionReassignmentsTopics(topic, numbers),
            ListPartitionReassignmentsTopics("none", (0,)),
        ]
        assert len(ongoing(cluster, "b", wanted)) == count


def test_named_partitions_are_changed_together(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=4)
    wanted = [ReassignablePartition(number, [1]) for number in (0, 1, 1, 3, 2)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, wanted)])
    [answer] = cluster.client("c").ask(request).responses
    codes = [one.error_code for one in answer.partitions]
    assert codes == [0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, 0, 0]
    assert [one[1] for one in ongoing(cluster)] == [0, 3]
    cluster.wait(5)
    assert cluster.leaders("a", topic) == [1, 2001, 1, 1]


def test_other_target_replaces_a_move(cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_moves, "PERIOD_MILLIS", 1_000_000)
    cluster.wait(2)  # nothing is copied from now on
    topic = cluster.make_spread("b", partitions=1)
    assert move(cluster, topic, [1]).error_code == move(cluster, topic, [1]).error_code == 0
    assert move(cluster, topic, [2001]).error_code == 0
    config = cluster.operations("b").topics.known(topic)
    assert config.attributes[KAFKA_PARTITIONS] == "1*b;0>a;0!;0>c"
    assert move(cluster, topic, [1001]).error_code == 0
    config = cluster.operations("b").topics.known(topic)
    assert config.attributes[KAFKA_PARTITIONS] == "1*b;0>a;0!;0>c;0!" and ongoing(cluster) == []


def test_compacted_topic_does_not_move(cluster: KafkaCluster) -> None:
    topic = cluster.name_in("b")
    settings = [CreatableTopicConfig("cleanup.policy", "compact")]
    cluster.client("b").ask(CreateTopicsRequest([CreatableTopic(topic, 1, -1, configs=settings)]))
    cluster.wait(2)
    refused = move(cluster, topic, [2001])
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "is compacted (cleanup.policy)" in refused.error_message


def test_topic_without_a_layout_does_not_move(cluster: KafkaCluster) -> None:
    cluster.member("b").create("plain")
    cluster.wait(2)
    refused = move(cluster, "plain", [2001])
    assert refused.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "was not made by a Kafka client" in refused.error_message
    assert move(cluster, "plain", [1001]).error_code == 0


def test_group_without_a_leader_gets_no_partition(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    cluster.kill("c")
    cluster.wait(30)
    refused = move(cluster, topic, [2001])
    assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT and "has no leader" in refused.error_message
    assert ongoing(cluster) == []


def test_number_of_replicas_stays_if_the_client_wants_it(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    cluster.start_slave("c")
    cluster.wait(30)
    wanted = ReassignableTopic(topic, [ReassignablePartition(0, [2001, 2002])])
    request = AlterPartitionReassignmentsRequest(allow_replication_factor_change=False, topics=[wanted])
    [answer] = cluster.client("a").ask(request).responses
    assert answer.partitions[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "; the group has 2001, 2002" in move(cluster, topic, [2001]).error_message
    assert move(cluster, topic, [2002, 2001]).error_code == 0


def test_slave_refuses_moves(cluster: KafkaCluster) -> None:
    slave = cluster.start_slave("b")
    cluster.wait(5)
    answer = cluster.client(slave).ask(AlterPartitionReassignmentsRequest())
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


# One broker group


def test_single_group_moves_and_shows_nothing() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        for topics in (None, [ListPartitionReassignmentsTopics("a", [0])]):
            answer = client.ask(ListPartitionReassignmentsRequest(topics=topics))
            assert (answer.error_code, answer.error_message, list(answer.topics)) == (0, None, [])
        for replicas, code in (([1], 0), ([2], ErrorCode.INVALID_REPLICA_ASSIGNMENT)):
            wanted = ReassignableTopic("a", [ReassignablePartition(0, replicas)])
            [answer] = client.ask(AlterPartitionReassignmentsRequest(topics=[wanted])).responses
            assert answer.partitions[0].error_code == code


def test_with_access_control_nothing_is_moved_or_shown() -> None:
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with kafka_scene(**ACCESS) as scene:
        assert scene.client().ask(ListPartitionReassignmentsRequest()).error_code == denied
        assert scene.client().ask(AlterPartitionReassignmentsRequest()).error_code == denied
