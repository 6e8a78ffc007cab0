"""Coordinators over three broker groups: real bytes between clients, brokers and name server."""

from __future__ import annotations

import logging

import pytest

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC, java_hash
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import PartitionLayout
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.codec.bodies import ConsumeStats
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import GetConsumeStatsRequestHeader
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_groups_request import DeleteGroupsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_delete_request import OffsetDeleteRequest
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.creation import COORDINATOR_CONFIGS, new_topic
from mqgateway.gateway.kafka.topics import Topics
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.coordinated import commit, committed, coordinators

NAMES = ("a", "b", "c")
NODES = {"a": 1, "b": 1001, "c": 2001}
KEYS = tuple(f"key{number}" for number in range(12))
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of three groups."""
    return KafkaCluster(NAMES)


def by_hash(names: tuple[str, ...] = NAMES) -> dict[str, tuple[int, int]]:
    """Return the answer for each key, if the hash picks one of these groups."""
    return {key: (0, NODES[names[java_hash(key) % len(names)]]) for key in KEYS}


# Where groups are coordinated


def test_every_broker_answers_with_the_same_coordinators(cluster: KafkaCluster) -> None:
    slave = cluster.start_slave("b")
    cluster.wait(60)
    for at in (*NAMES, slave):
        assert coordinators(cluster, at, KEYS) == by_hash()
    assert {node for _, node in by_hash().values()} == set(NODES.values())


def test_broker_without_other_groups_coordinates_all_keys() -> None:
    kafka = KafkaBroker()
    partitions = CoordinatorPartitions(kafka.operations, kafka.topics, KAFKA_OFFSETS_TOPIC)
    assert all(partitions.place(key) == (0, "") and not partitions.error(key) for key in KEYS)
    assert partitions.groups == [""] and partitions.coordinates()
    assert (partitions.group_of(0), partitions.group_of(1)) == ("", None)


def test_partitions_have_the_groups_of_their_layout(cluster: KafkaCluster) -> None:
    operations = cluster.operations("b")
    partitions = CoordinatorPartitions(operations, Topics(operations).everywhere, KAFKA_OFFSETS_TOPIC)
    assert partitions.groups == ["a", "", "c"] and partitions.coordinates()
    assert [partitions.group_of(number) for number in range(-1, 4)] == [None, "a", "", "c", None]
    unknown = CoordinatorPartitions(operations, Topics(operations).everywhere, "missing")
    assert unknown.place("key") is unknown.groups is unknown.group_of(0) is None
    assert unknown.error("key") is NOT_AVAILABLE and not unknown.coordinates()


def test_broker_of_another_group_refuses_requests_of_a_consumer_group(cluster: KafkaCluster) -> None:
    topic, group = cluster.make_spread("a"), cluster.key_at("b")
    assert commit(cluster, "b", group, topic, 3) == 0 and committed(cluster, "b", group, topic) == (0, 3)
    for at in ("a", "c"):
        client = cluster.client(at)
        codes = [
            commit(cluster, at, group, topic, 5),
            committed(cluster, at, group, topic)[0],
            client.ask(HeartbeatRequest(group, 1, "m")).error_code,
            client.ask(ConsumerGroupHeartbeatRequest(group, "m", 0)).error_code,
            client.ask(DescribeGroupsRequest([group])).groups[0].error_code,
            client.ask(DeleteGroupsRequest([group])).results[0].error_code,
            client.ask(OffsetDeleteRequest(group)).error_code,
        ]
        assert codes == [ErrorCode.NOT_COORDINATOR] * len(codes)
    assert committed(cluster, "b", group, topic) == (0, 3)


def test_each_broker_lists_and_deletes_the_groups_that_it_coordinates(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a")
    groups = {at: cluster.key_at(at) for at in NAMES}
    for at, group in groups.items():
        assert commit(cluster, at, group, topic, 1) == 0
    for at, group in groups.items():
        client = cluster.client(at)
        assert [one.group_id for one in client.ask(ListGroupsRequest()).groups] == [group]
        assert client.ask(DeleteGroupsRequest([group])).results[0].error_code == 0
        assert not client.ask(ListGroupsRequest()).groups


def test_group_of_rocketmq_is_listed_by_its_coordinator_alone(cluster: KafkaCluster) -> None:
    topic, group = cluster.make_spread("a"), cluster.key_at("b")
    for at in NAMES:
        operations = cluster.operations(at)
        operations.groups.take_up(group)
        operations.offsets.record(operations.gate.internal(Use.COMMIT_OFFSET), group, topic, 0, 1)
    listed = [cluster.client(at).ask(ListGroupsRequest()).groups for at in NAMES]
    assert [[one.group_id for one in groups] for groups in listed] == [[], [group], []]


def test_members_join_at_the_coordinator_and_get_partitions_of_all_groups(cluster: KafkaCluster) -> None:
    topic, group = cluster.make_spread("a", partitions=6), cluster.key_at("c")
    client = cluster.client("c")
    request = ConsumerGroupHeartbeatRequest(
        group, "member", 0, rebalance_timeout_ms=1000, subscribed_topic_names=[topic], topic_partitions=[]
    )
    answer = client.ask(request)
    [assigned] = answer.assignment.topic_partitions
    assert sorted(assigned.partitions) == [*range(6)]
    again = client.ask(ConsumerGroupHeartbeatRequest(group, "member", answer.member_epoch))
    assert again.error_code == 0


# Offsets


def test_topic_of_rocketmq_in_another_group_keeps_its_offsets_apart(cluster: KafkaCluster) -> None:
    """Kafka clients see the queues of group a, and a consumer of RocketMQ's has offsets at b too."""
    for at in NAMES:
        cluster.member(at).create("both")
    cluster.wait(3)
    group = cluster.key_at("b")
    operations = cluster.operations("b")
    operations.groups.take_up(group)
    operations.offsets.record(operations.gate.internal(Use.COMMIT_OFFSET), group, "both", 0, 7)
    assert committed(cluster, "b", group, "both") == (0, -1)
    assert commit(cluster, "b", group, "both", 3) == 0
    assert committed(cluster, "b", group, "both") == (0, 3)
    assert operations.offsets.recorded(group, "both", 0) == 7


def test_offsets_of_a_group_survive_a_fail_over_of_its_coordinator(cluster: KafkaCluster) -> None:
    topic, group = cluster.make_spread("a"), cluster.key_at("b")
    assert [commit(cluster, "b", group, topic, 3, partition) for partition in range(4)] == [0] * 4
    slave = cluster.start_slave("b")
    cluster.wait(60)
    for name in ("b", slave):
        cluster.stop(name)
    cluster.restart(slave)
    cluster.wait(10)
    assert coordinators(cluster, "a", [group]) == {group: (0, 1001)}
    for partition in range(4):
        assert committed(cluster, slave, group, topic, partition) == (0, 3)


def test_stopped_group_takes_its_consumer_groups_with_it_and_no_others(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a")
    groups = {at: cluster.key_at(at) for at in NAMES}
    for at, group in groups.items():
        assert commit(cluster, at, group, topic, 1) == 0
    cluster.stop("a")
    cluster.wait(20)
    for at in ("b", "c"):
        answers = coordinators(cluster, at, KEYS)
        assert answers == {
            key: (NOT_AVAILABLE, -1) if node == 1 else (0, node) for key, (_, node) in by_hash().items()
        }
        assert commit(cluster, at, groups[at], topic, 2) == 0
        assert committed(cluster, at, groups[at], topic) == (0, 2)
    cluster.restart("a")
    cluster.wait(10)
    assert coordinators(cluster, "b", KEYS) == by_hash()
    assert committed(cluster, "a", groups["a"], topic) == (0, 1)


@pytest.mark.parametrize("forgets", [False, True])
def test_coordinator_restarts_while_the_first_group_is_down(cluster: KafkaCluster, forgets: bool) -> None:
    """It knows the topic by its own part of it, also without what it has kept of the other groups."""
    topic, group = cluster.make_topic("c"), cluster.key_at("b")
    assert commit(cluster, "b", group, topic, 3) == 0
    cluster.stop("a")
    cluster.stop("b")
    disk, folder = cluster.member("b").disk, "/store/config"
    for name in disk.listdir(folder) if forgets else ():
        if name.startswith("kafkaPeerTopics"):
            disk.unlink(f"{folder}/{name}")
    cluster.restart("b")
    cluster.wait(20)
    assert coordinators(cluster, "c", [group]) == coordinators(cluster, "b", [group]) == {group: (0, 1001)}
    assert committed(cluster, "b", group, topic) == (0, 3)
    assert commit(cluster, "b", group, topic, 4) == 0


def test_tools_of_rocketmq_show_the_offsets_and_members_at_the_coordinator(cluster: KafkaCluster) -> None:
    topic, group = cluster.make_spread("a", partitions=6), cluster.key_at("b")
    client = cluster.client("b")
    request = ConsumerGroupHeartbeatRequest(
        group, "member", 0, rebalance_timeout_ms=1000, subscribed_topic_names=[topic], topic_partitions=[]
    )
    epoch = client.ask(request).member_epoch
    commits = [OffsetCommitRequestPartition(number, 2) for number in (1, 2, 4)]
    wanted = OffsetCommitRequest(
        group, epoch, "member", topics=[OffsetCommitRequestTopic(topic, partitions=commits)]
    )
    answer = client.ask(wanted, 9)
    assert {one.error_code for one in answer.topics[0].partitions} == {0}
    shown = {}
    for at in NAMES:
        coordinated = cluster.operations(at).coordinated.group(group)
        header = GetConsumeStatsRequestHeader(consumer_group=group)
        answer = cluster.member(at).ask(RequestCode.GET_CONSUME_STATS, header)
        assert answer is not None
        stats = ConsumeStats.decode(answer.body).offset_table if answer.body else {}
        offsets = {queue.queue_id: one.consumer_offset for queue, one in stats.items()}
        shown[at] = coordinated is not None and len(coordinated.members), offsets
    assert shown == {"a": (False, {}), "b": (1, {0: 2, 1: 2}), "c": (False, {})}


# The topic


def test_coordinators_stay_where_they_are_when_a_group_is_added(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("a")
    groups = {at: cluster.key_at(at) for at in NAMES}
    for at, group in groups.items():
        assert commit(cluster, at, group, topic, 1) == 0
    cluster.extend("d")
    for at in (*NAMES, "d"):
        assert coordinators(cluster, at, KEYS) == by_hash()
    for at, group in groups.items():
        assert committed(cluster, at, group, topic) == (0, 1)
    assert not cluster.client("d").ask(ListGroupsRequest()).groups


@pytest.mark.parametrize("has_layout", [False, True])
def test_first_group_coordinates_all_of_a_cluster_that_was_set_up_before(has_layout: bool) -> None:
    cluster = KafkaCluster(NAMES, started=("a",))
    layout = PartitionLayout.of(["a"]) if has_layout else None
    operations = cluster.operations("a")
    topic = new_topic(KAFKA_OFFSETS_TOPIC, 1, COORDINATOR_CONFIGS, layout)
    operations.administration.put_topic(operations.gate.internal(Use.ADMINISTER), topic)
    cluster.start("b")
    cluster.start("c")
    cluster.wait(5)
    for at in NAMES:
        assert coordinators(cluster, at, KEYS) == by_hash(("a",))
    topic_name = cluster.make_spread("b")
    assert commit(cluster, "a", KEYS[0], topic_name, 3) == 0
    assert commit(cluster, "b", KEYS[0], topic_name, 3) == ErrorCode.NOT_COORDINATOR
    assert not cluster.client("b").ask(ListGroupsRequest()).groups


def test_coordinators_are_not_known_while_a_group_has_never_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    cluster = KafkaCluster(NAMES, started=("a", "b"))
    cluster.wait(5)
    logged = [one for one in caplog.messages if f"{KAFKA_OFFSETS_TOPIC} is not in all broker groups" in one]
    assert len(logged) == 1 and "kafkaClusterGroups" in logged[0]
    for at in ("a", "b"):
        assert set(coordinators(cluster, at, KEYS).values()) == {(NOT_AVAILABLE, -1)}
        assert commit(cluster, at, KEYS[0], "x", 1) == NOT_AVAILABLE
    cluster.start("c")
    cluster.wait(5)
    for at in NAMES:
        assert coordinators(cluster, at, KEYS) == by_hash()


def test_topic_is_made_while_a_group_is_down_which_gets_its_partition_later() -> None:
    cluster = KafkaCluster(NAMES)
    for at in NAMES:
        operations = cluster.operations(at)
        operations.administration.delete_topic(operations.gate.internal(Use.ADMINISTER), KAFKA_OFFSETS_TOPIC)
        cluster.stop(at)
    for at in ("a", "b"):
        cluster.restart(at)
    cluster.wait(20)
    kept = {
        key: answer if answer[1] != NODES["c"] else (NOT_AVAILABLE, -1) for key, answer in by_hash().items()
    }
    assert coordinators(cluster, "b", KEYS) == kept
    cluster.restart("c")
    cluster.wait(10)
    assert coordinators(cluster, "b", KEYS) == by_hash()
    topic = cluster.make_spread("a")
    assert commit(cluster, "c", cluster.key_at("c"), topic, 1) == 0


def test_partitions_cannot_be_added_to_the_topic(cluster: KafkaCluster) -> None:
    request = CreatePartitionsRequest([CreatePartitionsTopic(KAFKA_OFFSETS_TOPIC, 4, None)])
    for at in NAMES:
        [result] = cluster.client(at).ask(request).results
        assert result.error_code == ErrorCode.INVALID_REQUEST and KAFKA_OFFSETS_TOPIC in result.error_message
    attributes = cluster.operations("b").topics.known(KAFKA_OFFSETS_TOPIC).attributes
    assert attributes[KAFKA_PARTITIONS] == "3*a/b/c"
