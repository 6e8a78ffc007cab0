"""Two broker groups as one Kafka cluster: real bytes between clients, brokers and name server."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.api.group_configs import GROUP, GROUP_SETTINGS, VALUES
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import (
    DeleteTopicsRequest,
    DeleteTopicState,
)
from mqgateway.gateway.kafka.codec.messages.describe_cluster_request import DescribeClusterRequest
from mqgateway.gateway.kafka.codec.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.codec.messages.unregister_broker_request import UnregisterBrokerRequest
from mqgateway.gateway.kafka.codec.messages.unregister_controller_request import UnregisterControllerRequest
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_in,
)

TOPIC = 2
"""The type of resource of a topic."""
HINTED_PRODUCE, HINTED_FETCH = 12, 16


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of two groups."""
    return KafkaCluster()


def send(cluster: KafkaCluster, at: str, topic: str, *values: bytes, partition: int = 0) -> Any:
    """Return the answer to a batch."""
    data = batch_of_values(*values, now=cluster.world.clock.millis())
    return produced(cluster.client(at), produce_request(topic, data, partition=partition))


def commit(cluster: KafkaCluster, at: str, topic: str, offset: int) -> int:
    """Commit an offset of group `f` in partition 0; return the code."""
    wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, offset)])
    answer = cluster.client(at).ask(OffsetCommitRequest("f", topics=[wanted]), 8)
    return int(answer.topics[0].partitions[0].error_code)


def committed(cluster: KafkaCluster, topic: str, at: str = "a") -> int:
    """Return the offset of group `f` in partition 0."""
    wanted = OffsetFetchRequestTopics(topic, partition_indexes=(0,))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("f", topics=[wanted])])
    [group] = cluster.client(at).ask(request, 9).groups
    return int(group.topics[0].partitions[0].committed_offset)


def test_every_broker_shows_all_nodes_and_the_same_controller(cluster: KafkaCluster) -> None:
    for at in cluster.names:
        answer = cluster.metadata(at)
        assert [(one.node_id, one.host) for one in answer.brokers] == [(1, "broker-a"), (1001, "broker-b")]
        assert answer.controller_id == 1
        described = cluster.client(at).ask(DescribeClusterRequest())
        assert [one.broker_id for one in described.brokers] == [1, 1001] and described.controller_id == 1


def test_running_brokers_and_the_controller_stay_registered(cluster: KafkaCluster) -> None:
    for at in cluster.names:
        client = cluster.client(at)
        codes = [client.ask(UnregisterBrokerRequest(node)).error_code for node in (1, 1001, 2)]
        assert codes == [
            ErrorCode.INVALID_REQUEST,
            ErrorCode.INVALID_REQUEST,
            ErrorCode.BROKER_ID_NOT_REGISTERED,
        ]
        codes = [client.ask(UnregisterControllerRequest(node)).error_code for node in (1, 1001)]
        assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.CONTROLLER_ID_NOT_REGISTERED]


def test_topic_belongs_to_one_group_whose_master_leads_it(cluster: KafkaCluster) -> None:
    in_a, in_b = cluster.make_topic("a"), cluster.make_topic("b")
    for at in cluster.names:
        assert cluster.leaders(at, in_a) == [1, 1] and cluster.leaders(at, in_b) == [1001, 1001]
        assert set(cluster.shown(at)) == {in_a, in_b}
    assert in_b not in cluster.operations("a").topics and in_a not in cluster.operations("b").topics


def test_topics_with_the_names_of_groups_are_not_shown(cluster: KafkaCluster) -> None:
    for at in cluster.names:
        assert not cluster.shown(at)
        [result] = cluster.client(at).ask(CreateTopicsRequest([CreatableTopic("b", 1, -1)])).topics
        assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_records_are_written_and_read_at_the_leader_only(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    assert send(cluster, "b", topic, b"one", b"two").error_code == 0
    assert values_in(fetched(cluster.client("b"), fetch_request(topic, 0))) == [(0, b"one"), (1, b"two")]
    assert send(cluster, "a", topic, b"three").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    refused = fetched(cluster.client("a"), fetch_request(topic, 0))
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, -1)])
    for at, expected in (("a", (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)), ("b", (0, 2))):
        [[one]] = [
            each.partitions for each in cluster.client(at).ask(ListOffsetsRequest(-1, 0, [wanted])).topics
        ]
        assert (one.error_code, one.offset) == expected


def test_refusal_names_the_leader_of_the_topics_group(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    [found] = cluster.metadata("a", topic).topics
    data = batch_of_values(b"x", now=cluster.world.clock.millis())
    answer = cluster.client("a").ask(produce_request(topic, data), HINTED_PRODUCE)
    [[partition]] = [each.partition_responses for each in answer.responses]
    assert partition.current_leader.leader_id == 1001
    assert [(one.node_id, one.host, one.port) for one in answer.node_endpoints] == [(1001, "broker-b", 9192)]
    request = fetch_request("", 0, topic_id=found.topic_id)
    answer = cluster.client("a").ask(request, HINTED_FETCH)
    [[read]] = [each.partitions for each in answer.responses]
    assert (read.error_code, read.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1001)


def test_offsets_of_another_groups_topic_survive_while_it_is_down(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    assert commit(cluster, "a", topic, 3) == 0
    cluster.stop("b")
    cluster.stop("a")
    cluster.restart("a")
    cluster.wait(90)
    [found] = cluster.metadata("a", topic).topics
    assert [one.error_code for one in found.partitions] == [ErrorCode.LEADER_NOT_AVAILABLE] * 2
    assert committed(cluster, topic) == 3
    cluster.restart("b")
    cluster.wait(5)
    assert cluster.leaders("a", topic) == [1001, 1001] and committed(cluster, topic) == 3


@pytest.mark.parametrize("is_down", [False, True])
def test_offsets_of_another_groups_topic_survive_a_fail_over(cluster: KafkaCluster, is_down: bool) -> None:
    topic = cluster.make_topic("b")
    assert commit(cluster, "a", topic, 3) == 0
    if is_down:
        cluster.stop("b")
    slave = cluster.start_slave("a")
    cluster.wait(60)
    for name in ("a", slave):
        cluster.stop(name)
    cluster.restart(slave)
    cluster.wait(10)
    if is_down:
        cluster.restart("b")
        cluster.wait(10)
    assert committed(cluster, topic, slave) == 3


def test_offsets_end_with_the_topic_of_another_group(cluster: KafkaCluster) -> None:
    for is_down in (False, True):
        topic = cluster.make_topic("b")
        assert commit(cluster, "a", topic, 3) == 0
        if is_down:
            cluster.stop("a")
        request = DeleteTopicsRequest([DeleteTopicState(topic)])
        [deleted] = cluster.client("b" if is_down else "a").ask(request).responses
        assert deleted.error_code == 0
        if is_down:
            cluster.restart("a")
            cluster.wait(3)
        assert cluster.make_topic("b") == topic
        assert committed(cluster, topic) == -1
        cluster.client("a").ask(request)


def test_name_of_a_topic_is_unique_in_the_cluster(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    for at in cluster.names:
        [result] = cluster.client(at).ask(CreateTopicsRequest([CreatableTopic(topic, 1, -1)])).topics
        assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_topic_is_made_at_another_broker_and_its_id_is_answered(cluster: KafkaCluster) -> None:
    for at, group in (("a", "b"), ("b", "a")):
        name = cluster.name_in(group, f"made-at-{at}-")
        [result] = cluster.client(at).ask(CreateTopicsRequest([CreatableTopic(name, 3, -1)])).topics
        assert (result.error_code, result.num_partitions) == (0, 3)
        cluster.wait(2)
        [found] = cluster.metadata(group, name).topics
        assert found.topic_id == result.topic_id != bytes(16)


def test_replicas_that_are_asked_for_say_in_which_group_a_topic_is_made(cluster: KafkaCluster) -> None:
    name = cluster.name_in("a", "assigned")
    wanted = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, [1001])])
    [result] = cluster.client("a").ask(CreateTopicsRequest([wanted])).topics
    assert result.error_code == 0 and cluster.leaders("a", name) == [1001]
    wanted = CreatableTopic("across", -1, -1, [CreatableReplicaAssignment(0, [1, 1001])])
    [result] = cluster.client("a").ask(CreateTopicsRequest([wanted])).topics
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_topic_of_another_group_is_made_on_use(cluster: KafkaCluster) -> None:
    name = cluster.name_in("b", "used")
    [first] = cluster.metadata("a", name, creates=True).topics
    assert first.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    cluster.wait(2)
    assert cluster.leaders("a", name) == [1001]


def test_topic_of_another_group_is_changed_and_deleted(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    client = cluster.client("a")
    wanted = CreatePartitionsTopic(topic, 3, [CreatePartitionsAssignment([1001])])
    [grown] = client.ask(CreatePartitionsRequest([wanted])).results
    assert grown.error_code == 0 and cluster.leaders("a", topic) == [1001] * 3
    config = AlterableConfig("retention.ms", 0, "1000")
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC, topic, [config])])
    [changed] = client.ask(request).responses
    kept = cluster.operations("b").topics.get(topic)
    assert changed.error_code == 0 and kept is not None and "1000" in kept.attributes.values()
    [deleted] = client.ask(DeleteTopicsRequest([DeleteTopicState(topic)])).responses
    assert deleted.error_code == 0
    for at in cluster.names:
        [found] = cluster.metadata(at, topic).topics
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_change_that_the_other_group_does_not_answer_is_reported(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    cluster.stop("b")
    [grown] = (
        cluster.client("a").ask(CreatePartitionsRequest([CreatePartitionsTopic(topic, 3, None)])).results
    )
    assert grown.error_code == ErrorCode.REQUEST_TIMED_OUT


def test_settings_of_groups_are_changed_at_the_controller_only(cluster: KafkaCluster) -> None:
    config = AlterableConfig("consumer.session.timeout.ms", 0, "50000")
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(32, "f", [config])])
    [refused] = cluster.client("b").ask(request).responses
    [changed] = cluster.client("a").ask(request).responses
    assert (refused.error_code, changed.error_code) == (ErrorCode.NOT_CONTROLLER, 0)


def settings(cluster: KafkaCluster, at: str) -> dict[str, str]:
    """Return the settings that group `f` has itself, as a broker shows them."""
    request = DescribeConfigsRequest([DescribeConfigsResource(32, "f", None)])
    [found] = cluster.client(at).ask(request).results
    return {config.name: config.value for config in found.configs if config.config_source == 8}


def test_settings_of_a_group_reach_all_broker_groups(cluster: KafkaCluster) -> None:
    name = "consumer.session.timeout.ms"
    for operation, value, kept in ((0, "50000", {name: "50000"}), (1, None, {})):
        change = AlterConfigsResource(32, "f", [AlterableConfig(name, operation, value)])
        [changed] = cluster.client("a").ask(IncrementalAlterConfigsRequest([change])).responses
        assert changed.error_code == 0
        assert [settings(cluster, at) for at in cluster.names] == [kept, kept]


def test_settings_of_a_group_are_repeated_for_a_broker_group_that_was_down(cluster: KafkaCluster) -> None:
    change = AlterConfigsResource(32, "f", [AlterableConfig("share.heartbeat.interval.ms", 0, "6000")])
    cluster.stop("b")
    [changed] = cluster.client("a").ask(IncrementalAlterConfigsRequest([change])).responses
    assert changed.error_code == ErrorCode.REQUEST_TIMED_OUT and "b" in changed.error_message.split()
    cluster.restart("b")
    cluster.wait(5)
    [changed] = cluster.client("a").ask(IncrementalAlterConfigsRequest([change])).responses
    assert changed.error_code == 0 and settings(cluster, "a") == settings(cluster, "b") != {}


def test_odd_settings_of_a_group_are_refused_between_broker_groups(cluster: KafkaCluster) -> None:
    peers = cluster.operations("a").peers
    assert peers is not None
    outcomes: list[Any] = []
    for values in ({"odd": "1"}, {"share.heartbeat.interval.ms": "x"}, {"share.heartbeat.interval.ms": 1}):
        peers.ask("b", GROUP_SETTINGS, {GROUP: "f", VALUES: values}).addErrback(outcomes.append)
    cluster.wait(1)
    assert len(outcomes) == 3 and all("share" in str(one) or "odd" in str(one) for one in outcomes)
    assert not settings(cluster, "b")


def test_topic_of_one_name_in_two_groups_belongs_to_the_first(cluster: KafkaCluster) -> None:
    for name in cluster.names:
        cluster.member(name).create("both")
    cluster.wait(3)
    for at in cluster.names:
        assert cluster.leaders(at, "both") == [1]
    assert send(cluster, "b", "both", b"x").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert send(cluster, "a", "both", b"x").error_code == 0


def test_topic_that_kafka_made_stays_where_it_is(cluster: KafkaCluster) -> None:
    topic = cluster.make_topic("b")
    cluster.member("a").create(topic)
    cluster.wait(3)
    for at in cluster.names:
        assert cluster.leaders(at, topic) == [1001, 1001]


def test_nothing_is_made_while_a_group_has_never_answered() -> None:
    cluster = KafkaCluster(("a", "b"), started=("a",))
    [found] = cluster.metadata("a", "new", creates=True).topics
    assert found.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    [result] = cluster.client("a").ask(CreateTopicsRequest([CreatableTopic("new", 1, -1)])).topics
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    cluster.start("b")
    cluster.wait(3)
    assert cluster.make_topic("a") and cluster.make_topic("b")


def test_slave_shows_the_whole_cluster_and_follows(cluster: KafkaCluster) -> None:
    in_a, in_b = cluster.make_topic("a"), cluster.make_topic("b")
    slave = cluster.start_slave("b")
    cluster.wait(60)
    for at in ("a", "b", slave):
        answer = cluster.metadata(at)
        assert [one.node_id for one in answer.brokers] == [1, 1001, 1002] and answer.controller_id == 1
        assert cluster.leaders(at, in_a) == [1, 1] and cluster.leaders(at, in_b) == [1001, 1001]
    [found] = cluster.metadata("a", in_b).topics
    assert {tuple(one.replica_nodes) for one in found.partitions} == {(1001, 1002)}
    for topic, leader in ((in_a, 1), (in_b, 1001)):
        data = batch_of_values(b"x", now=cluster.world.clock.millis())
        answer = cluster.client(slave).ask(produce_request(topic, data), HINTED_PRODUCE)
        [[partition]] = [each.partition_responses for each in answer.responses]
        assert (partition.error_code, partition.current_leader.leader_id) == (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            leader,
        )
    [result] = cluster.client(slave).ask(CreateTopicsRequest([CreatableTopic("new", 1, -1)])).topics
    assert result.error_code == ErrorCode.NOT_CONTROLLER
