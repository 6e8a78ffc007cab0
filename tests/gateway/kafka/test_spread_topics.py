"""Topics over three broker groups: real bytes between clients, brokers and name server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.attributes import KAFKA_DELETED, KAFKA_PARTITIONS
from mqgateway.engine.tables.partition_layout import PartitionLayout
from mqgateway.gateway.broker.operations import OperationError, Use
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
from mqgateway.gateway.kafka.codec.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import (
    DeleteTopicsRequest,
    DeleteTopicState,
)
from mqgateway.gateway.kafka.codec.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
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
from mqgateway.gateway.kafka.creation import new_topic
from mqgateway.gateway.kafka.group_names import kafka_group
from mqgateway.gateway.kafka.topics import Shown, Topics, kafka_name
from mqgateway.gateway.metrics.kafka_metrics import KafkaReading
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_in,
)

NAMES = ("a", "b", "c")
LEADERS = {"a": 1, "b": 1001, "c": 2001}
HINTED_PRODUCE, HINTED_FETCH = 12, 16
TOPIC_RESOURCE = 2
SIX = ("b", "c", "a", "b", "c", "a")
"""Groups of the six partitions of a topic whose first one is in b."""


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of three groups."""
    return KafkaCluster(NAMES)


def nodes(*groups: str) -> list[int]:
    """Return the masters of groups; -1 for a dot."""
    return [LEADERS.get(group, -1) for group in groups]


def leaders(cluster: KafkaCluster, at: str, topic: str) -> list[int]:
    """Return the leaders of a topic's partitions, whose errors say whether they have one."""
    [found] = cluster.metadata(at, topic).topics
    assert found.error_code == 0
    for one in found.partitions:
        expected = ErrorCode.LEADER_NOT_AVAILABLE if one.leader_id == -1 else ErrorCode.NONE
        assert one.error_code == expected
    return [one.leader_id for one in found.partitions]


def send(cluster: KafkaCluster, at: str, topic: str, partition: int, *values: bytes) -> Any:
    """Return the answer to a batch."""
    data = batch_of_values(*values, now=cluster.world.clock.millis())
    return produced(cluster.client(at), produce_request(topic, data, partition=partition))


def read(cluster: KafkaCluster, at: str, topic: str, partition: int) -> list[tuple[int, bytes]]:
    """Return the records of a partition with their offsets."""
    found = fetched(cluster.client(at), fetch_request(topic, 0, partition=partition))
    assert found.error_code == 0
    return values_in(found)


def fill(cluster: KafkaCluster, topic: str) -> None:
    """Write two records to each of six partitions, at its leader."""
    for partition, group in enumerate(SIX):
        answer = send(cluster, group, topic, partition, b"%d" % partition, b"x")
        assert (answer.error_code, answer.base_offset) == (0, 0)


def commit(cluster: KafkaCluster, topic: str, offsets: Sequence[int]) -> None:
    """Commit an offset of group `f` in each partition."""
    parts = [OffsetCommitRequestPartition(number, offset) for number, offset in enumerate(offsets)]
    request = OffsetCommitRequest("f", topics=[OffsetCommitRequestTopic(topic, partitions=parts)])
    [answer] = cluster.client("a").ask(request, 8).topics
    assert {one.error_code for one in answer.partitions} == {0}


def committed(cluster: KafkaCluster, topic: str | None, count: int = 6, at: str = "a") -> list[int]:
    """Return the offsets of group `f` in the partitions of a topic; of all it has if the topic is None."""
    wanted = None if topic is None else [OffsetFetchRequestTopics(topic, partition_indexes=(*range(count),))]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("f", topics=wanted)])
    [group] = cluster.client(at).ask(request, 9).groups
    found = {one.partition_index: one.committed_offset for each in group.topics for one in each.partitions}
    return [found[number] for number in sorted(found)]


def grow(cluster: KafkaCluster, at: str, topic: str, count: int, *assigned: int) -> Any:
    """Add partitions to a topic; return the result."""
    assignments = [CreatePartitionsAssignment([node]) for node in assigned] or None
    request = CreatePartitionsRequest([CreatePartitionsTopic(topic, count, assignments)])
    [result] = cluster.client(at).ask(request).results
    return result


def delete(cluster: KafkaCluster, at: str, topic: str) -> Any:
    """Delete a topic; return the result."""
    [result] = cluster.client(at).ask(DeleteTopicsRequest([DeleteTopicState(topic)])).responses
    return result


def pulled(cluster: KafkaCluster, group: str, topic: str) -> list[bytes]:
    """Return the bodies that a RocketMQ client pulls from the first queue of a group."""
    answer = cluster.member(group).pull(topic=topic)
    assert answer is not None and answer.code == 0
    bodies, start = [], 0
    while start < len(answer.body):
        message = decode(answer.body, start)
        bodies.append(message.body)
        start += message.size
    return bodies


def make_home_only(cluster: KafkaCluster, home: str, name: str, *groups: str) -> None:
    """Make a topic in the group of its first partition only, as before a crash."""
    operations = cluster.operations(home)
    config = new_topic(name, len(groups), {}, PartitionLayout.of(groups))
    operations.administration.put_topic(operations.gate.internal(Use.ADMINISTER), config)


# Places of partitions


@pytest.mark.parametrize("at", NAMES)
def test_partitions_are_spread_over_all_groups_and_every_broker_shows_the_same(
    cluster: KafkaCluster, at: str
) -> None:
    topic = cluster.make_spread("b", partitions=6, at=at)
    for asked in NAMES:
        assert leaders(cluster, asked, topic) == nodes(*SIX)
        request = DescribeTopicPartitionsRequest([TopicRequest(topic)])
        [found] = cluster.client(asked).ask(request).topics
        assert [one.leader_id for one in found.partitions] == nodes(*SIX)
        assert cluster.shown(asked) == [topic]
    ids = {cluster.metadata(asked, topic).topics[0].topic_id for asked in NAMES}
    assert len(ids) == 1 and bytes(16) not in ids


def test_each_group_has_as_many_queues_as_partitions(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=5)
    numbers = [cluster.operations(group).topics.known(topic).write_queue_nums for group in NAMES]
    assert numbers == [1, 2, 2]
    small = cluster.make_spread("c", "small", partitions=1)
    assert [small in cluster.operations(group).topics for group in NAMES] == [False, False, True]
    assert leaders(cluster, "a", small) == nodes("c")


def test_topic_of_several_groups_is_made_on_use(cluster: KafkaCluster) -> None:
    cluster = KafkaCluster(NAMES, kafka_num_partitions=3)
    name = cluster.name_in("b", "used")
    cluster.metadata("a", name, creates=True)
    cluster.wait(2)
    assert [leaders(cluster, at, name) for at in NAMES] == [nodes("b", "c", "a")] * 3


def test_assigned_replicas_say_which_group_has_a_partition(cluster: KafkaCluster) -> None:
    wanted = [CreatableReplicaAssignment(number, [node]) for number, node in enumerate((2001, 1, 2001))]
    topic = CreatableTopic("assigned", -1, -1, wanted)
    [checked] = cluster.client("a").ask(CreateTopicsRequest([topic], 1000, True)).topics
    assert checked.error_code == 0 and not cluster.shown("a")
    [result] = cluster.client("a").ask(CreateTopicsRequest([topic])).topics
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 3, 1)
    assert leaders(cluster, "b", "assigned") == nodes("c", "a", "c")
    for ids in ([1, 1001], [3001], [], [1, 1]):
        wanted = [CreatableReplicaAssignment(0, ids)]
        request = CreateTopicsRequest([CreatableTopic("refused", -1, -1, wanted)])
        [result] = cluster.client("a").ask(request).topics
        assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_too_many_partitions_are_refused_before_they_are_placed(cluster: KafkaCluster) -> None:
    request = CreateTopicsRequest([CreatableTopic("huge", 2**31 - 1, -1)])
    [result] = cluster.client("a").ask(request).topics
    assert result.error_code == ErrorCode.INVALID_PARTITIONS and "maxQueuesPerTopic" in result.error_message
    topic = cluster.make_spread("a")
    assert grow(cluster, "a", topic, 2**31 - 1).error_code == ErrorCode.INVALID_PARTITIONS


# Records and offsets


def test_records_of_a_partition_are_at_its_leader_only(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    for partition, group in enumerate(SIX):
        for at in NAMES:
            wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, -1)])
            [[end]] = [
                each.partitions for each in cluster.client(at).ask(ListOffsetsRequest(-1, 0, [wanted])).topics
            ]
            if at == group:
                assert read(cluster, at, topic, partition) == [(0, b"%d" % partition), (1, b"x")]
                assert (end.error_code, end.offset) == (0, 2)
                continue
            codes = {
                end.error_code,
                send(cluster, at, topic, partition, b"y").error_code,
                fetched(cluster.client(at), fetch_request(topic, 0, partition=partition)).error_code,
            }
            assert codes == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    unknown = send(cluster, "a", topic, 6, b"y").error_code
    assert unknown == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_refusals_name_the_leader_of_each_partition(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    [found] = cluster.metadata("a", topic).topics
    for partition, node in enumerate(nodes(*SIX)):
        if node == LEADERS["a"]:
            continue
        data = batch_of_values(b"x", now=cluster.world.clock.millis())
        request = produce_request(topic, data, partition=partition)
        [[refused]] = [
            each.partition_responses for each in cluster.client("a").ask(request, HINTED_PRODUCE).responses
        ]
        assert refused.current_leader.leader_id == node
        request = fetch_request("", 0, partition=partition, topic_id=found.topic_id)
        answer = cluster.client("a").ask(request, HINTED_FETCH)
        [[missed]] = [each.partitions for each in answer.responses]
        assert missed.current_leader.leader_id == node
        assert [one.node_id for one in answer.node_endpoints] == [node]


def test_records_are_deleted_in_the_partition_that_is_named(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    wanted = [DeleteRecordsPartition(number, 1) for number in (2, 5)]
    [answer] = cluster.client("a").ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, wanted)], 1000)).topics
    assert [(one.error_code, one.low_watermark) for one in answer.partitions] == [(0, 1)] * 2
    wanted = [DeleteRecordsPartition(0, 1)]
    [answer] = cluster.client("a").ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, wanted)], 1000)).topics
    assert answer.partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_rocketmq_clients_use_the_same_queues(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    for group in NAMES:
        assert pulled(cluster, group, topic) == [b"%d" % SIX.index(group), b"x"]
        cluster.member(group).send(1, topic, b"by-rocketmq")
        assert read(cluster, group, topic, SIX.index(group))[2] == (2, b"by-rocketmq")


def test_offsets_are_kept_by_partition_and_shown_by_queue(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    commit(cluster, topic, (0, 1, 2, 1, 2, 1))
    assert committed(cluster, topic) == committed(cluster, None) == [0, 1, 2, 1, 2, 1]
    offsets = cluster.operations("a").offsets
    assert [offsets.recorded("f", topic, queue) for queue in (0, 1)] == [2, 1]  # partitions 2 and 5
    permit = cluster.operations("a").gate.internal(Use.COMMIT_OFFSET)
    offsets.record(permit, "f", topic, 1, 2)
    assert committed(cluster, topic) == [0, 1, 2, 1, 2, 2]
    cluster.wait(10)  # the log follows the table
    cluster.stop("a")
    cluster.restart("a")
    cluster.wait(5)
    assert committed(cluster, topic) == [0, 1, 2, 1, 2, 2]
    assert delete(cluster, "b", topic).error_code == 0
    cluster.wait(2)
    assert committed(cluster, None) == []


def test_offsets_of_other_groups_partitions_survive_a_fail_over(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    commit(cluster, topic, (2, 1, 2, 1, 2, 1))
    slave = cluster.start_slave("a")
    cluster.wait(60)
    cluster.stop("a")
    cluster.stop(slave)
    cluster.restart(slave)
    cluster.wait(10)
    assert committed(cluster, topic, at=slave) == [2, 1, 2, 1, 2, 1]


def test_metrics_of_a_group_have_the_numbers_of_its_partitions(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    commit(cluster, topic, (2, 2, 2, 2, 2, 1))
    member = cluster.member("a").service
    reading = KafkaReading(member.broker, member.operations, (kafka_name, kafka_group))
    shown = [sample for part in reading.partitions(reading.end) for sample in part if sample[0][0] == topic]
    assert shown == [((topic, "2"), 2), ((topic, "5"), 2)]
    offsets = [one for part in reading.group_offsets() for one in part if one[0] == "f"]
    assert offsets == [("f", topic, 2, 2, 0), ("f", topic, 5, 1, 1)]


# A group that is down


def test_stopped_group_leaves_its_partitions_without_leader_and_brings_them_back(
    cluster: KafkaCluster,
) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    cluster.stop("c")
    cluster.wait(20)
    for at in ("a", "b"):
        assert leaders(cluster, at, topic) == nodes("b", ".", "a", "b", ".", "a")
    for partition in (0, 2, 3, 5):
        assert send(cluster, SIX[partition], topic, partition, b"more").base_offset == 2
    cluster.restart("c")
    cluster.wait(10)
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes(*SIX)
    for partition in (1, 4):
        assert send(cluster, "c", topic, partition, b"more").base_offset == 2
    for partition, group in enumerate(SIX):
        values = [b"%d" % partition, b"x", b"more"]
        assert read(cluster, group, topic, partition) == list(enumerate(values))


def test_group_without_a_topics_first_partition_starts_while_others_are_down(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    for name in NAMES:
        cluster.stop(name)
    cluster.restart("c")
    cluster.wait(20)
    assert leaders(cluster, "c", topic) == nodes(".", "c", ".", ".", "c", ".")
    assert read(cluster, "c", topic, 4) == [(0, b"4"), (1, b"x")]


def test_changes_while_a_group_is_down_are_refused_and_name_it(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    small = cluster.make_spread("b", "small", partitions=1)
    cluster.stop("c")
    cluster.wait(20)
    name = cluster.name_in("a", "late")
    [made] = cluster.client("a").ask(CreateTopicsRequest([CreatableTopic(name, 3, -1)])).topics
    for result in (
        made,
        grow(cluster, "a", topic, 8),
        grow(cluster, "a", small, 2),
        delete(cluster, "a", topic),
    ):
        assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert "Broker group c" in result.error_message and "no leader" in result.error_message
    [missing] = cluster.metadata("a", name).topics
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    [used] = cluster.metadata("a", cluster.name_in("c", "used"), creates=True).topics
    assert used.error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert delete(cluster, "a", small).error_code == 0
    cluster.restart("c")
    cluster.wait(10)
    assert cluster.shown("a") == [topic]
    assert leaders(cluster, "a", topic) == nodes(*SIX)


# Changes that are interrupted


def test_creation_that_a_crash_interrupts_is_completed(cluster: KafkaCluster) -> None:
    make_home_only(cluster, "b", "half", *SIX)
    assert leaders(cluster, "b", "half") == nodes("b", ".", ".", "b", ".", ".")
    cluster.wait(5)
    for at in NAMES:
        assert leaders(cluster, at, "half") == nodes(*SIX)


def test_creation_is_completed_once_a_group_is_back(
    cluster: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.stop("c")
    with caplog.at_level(logging.WARNING):
        make_home_only(cluster, "b", "half", *SIX)
        cluster.wait(60)
    assert leaders(cluster, "a", "half") == nodes("b", ".", "a", "b", ".", "a")
    assert 1 <= sum("topic half is not the same" in text for text in caplog.messages) <= 3
    cluster.restart("c")
    cluster.wait(10)
    assert leaders(cluster, "a", "half") == nodes(*SIX)
    assert send(cluster, "c", "half", 4, b"x").error_code == 0


@pytest.mark.parametrize("is_down", [False, True])
def test_deletion_that_a_crash_interrupts_is_completed(cluster: KafkaCluster, is_down: bool) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    if is_down:
        cluster.stop("c")
        cluster.wait(20)
    operations = cluster.operations("b")
    marked = replace(operations.topics.known(topic), attributes={f"+{KAFKA_DELETED}": "true"})
    operations.administration.put_topic(operations.gate.internal(Use.ADMINISTER), marked)
    cluster.wait(3)
    for at in ("a", "b"):
        [found] = cluster.metadata(at, topic).topics
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if is_down:
        [result] = cluster.client("a").ask(CreateTopicsRequest([CreatableTopic(topic, 1, -1)])).topics
        assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and "deleted" in result.error_message
        cluster.restart("c")
        cluster.wait(10)
    assert not any(topic in cluster.operations(group).topics for group in NAMES)
    assert cluster.make_spread("b", partitions=6) == topic
    assert read(cluster, "c", topic, 1) == []


def test_topic_that_is_made_after_two_deletions_at_once_stays(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    request = DeleteTopicsRequest([DeleteTopicState(topic)])
    clients = [cluster.client(at) for at in ("a", "b", "c")]
    for client in clients:
        client.write(client.frame(request))
    for client in clients:
        [answer] = client.frames()
        [result] = client.decoded(request, answer).responses
        assert result.error_code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert cluster.make_spread("b", partitions=6) == topic
    cluster.wait(5)
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes(*SIX)


def test_part_of_a_topic_that_is_gone_is_made_again_without_harm_to_others(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    operations = cluster.operations("c")
    operations.administration.delete_topic(operations.gate.internal(Use.ADMINISTER), topic)
    cluster.wait(5)
    assert leaders(cluster, "a", topic) == nodes(*SIX)
    assert [len(read(cluster, group, topic, number)) for number, group in enumerate(SIX)] == [2, 0, 2] * 2


def test_group_that_lost_its_disk_gets_its_parts_of_topics_again(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    fill(cluster, topic)
    assert grow(cluster, "a", topic, 8).error_code == 0
    cluster.stop("b")
    cluster.start("b")
    cluster.wait(10)
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes(*SIX, "b", "c")
    assert [len(read(cluster, group, topic, number)) for number, group in enumerate(SIX)] == [0, 2, 2] * 2


def test_topic_of_the_same_name_that_rocketmq_made_is_left_alone(
    cluster: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        make_home_only(cluster, "b", "half", "b", "c")
        cluster.member("c").create("half")
        cluster.wait(5)
    assert "another topic half" in caplog.text
    assert leaders(cluster, "a", "half") == nodes("b", ".")
    assert send(cluster, "c", "half", 1, b"x").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_settings_reach_all_groups(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=6)
    for operation, value, expected in ((0, "1000", {"1000"}), (1, None, {None})):
        config = AlterableConfig("retention.ms", operation, value)
        resource = AlterConfigsResource(TOPIC_RESOURCE, topic, [config])
        [result] = cluster.client("a").ask(IncrementalAlterConfigsRequest([resource])).responses
        assert result.error_code == 0
        cluster.wait(3)
        kept = {
            cluster.operations(group).topics.known(topic).attributes.get("kafka.retention.ms")
            for group in NAMES
        }
        assert kept == expected


# More partitions


def test_added_partitions_go_to_groups_with_fewest_and_move_none(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=4)
    for partition, group in enumerate("bcab"):
        assert send(cluster, group, topic, partition, b"%d" % partition).error_code == 0
    commit(cluster, topic, (1, 1, 1, 1))
    assert grow(cluster, "a", topic, 6).error_code == 0
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes(*SIX)
    for partition, group in enumerate("bcab"):
        assert read(cluster, group, topic, partition) == [(0, b"%d" % partition)]
    assert committed(cluster, topic) == [1, 1, 1, 1, -1, -1]
    assert grow(cluster, "c", topic, 8, 1, 1).error_code == 0
    assert leaders(cluster, "c", topic) == nodes(*SIX, "a", "a")
    assert grow(cluster, "c", topic, 10, 1).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_topic_keeps_the_group_of_its_first_partition_when_earlier_groups_get_some(
    cluster: KafkaCluster,
) -> None:
    topic = cluster.make_spread("b", partitions=1)
    commit(cluster, topic, (5,))
    assert grow(cluster, "c", topic, 3).error_code == 0
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes("b", "c", "a")
    assert committed(cluster, topic, 3) == [5, -1, -1]
    foreign = cluster.operations("a").peers
    assert foreign is not None
    known = foreign.foreign(topic)
    assert known is not None and known.group == "b"


def test_addition_that_does_not_know_the_last_one_is_refused(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=2)
    operations = cluster.operations("a")
    peers, permit = operations.peers, operations.gate.internal(Use.ADMINISTER)
    assert peers is not None
    known = peers.topic_of("b", topic)
    assert known is not None
    for groups, is_refused in (("a", False), ("c", True)):
        layout = PartitionLayout.of(["b", "c"]).extended([groups])
        change = replace(known, attributes={f"+{KAFKA_PARTITIONS}": layout.text})
        errors: list[Any] = []
        peers.put_topic(permit, "b", change).addErrback(lambda failure, to=errors: to.append(failure.value))
        cluster.wait(3)
        assert [isinstance(error, OperationError) for error in errors] == [True] * is_refused
    assert leaders(cluster, "c", topic) == nodes("b", "c", "a")


def put(cluster: KafkaCluster, group: str, topic: str, **changes: Any) -> None:
    """Change a group's part of a topic, but not the others."""
    operations = cluster.operations(group)
    config = replace(operations.topics.known(topic), **changes)
    operations.administration.put_topic(operations.gate.internal(Use.ADMINISTER), config)


def test_owner_that_lacks_the_last_partitions_takes_them_over(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=2)
    layout = PartitionLayout.of(["b", "c"]).extended(["c", "b"])
    attributes = {f"+{KAFKA_PARTITIONS}": layout.text}
    put(cluster, "c", topic, read_queue_nums=2, write_queue_nums=2, attributes=attributes)
    cluster.wait(5)
    for at in NAMES:
        assert leaders(cluster, at, topic) == nodes("b", "c", "c", "b")
    assert cluster.operations("b").topics.known(topic).write_queue_nums == 2


def test_group_that_does_not_own_a_topic_does_not_change_it_elsewhere(
    cluster: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = cluster.make_spread("b", partitions=3)
    put(cluster, "c", topic, attributes={"+kafka.retention.ms": "7"})
    operations = cluster.operations("c")
    assert operations.peers is not None
    errors: list[Any] = []
    permit = operations.gate.internal(Use.ADMINISTER)
    sent = operations.peers.put_part(permit, "b", operations.topics.known(topic))
    sent.addErrback(lambda failure: errors.append(failure.getErrorMessage()))
    cluster.wait(5)
    assert ["belongs to group b" in error for error in errors] == [True]
    for group in NAMES:
        assert "kafka.retention.ms" not in cluster.operations(group).topics.known(topic).attributes


# Share groups


def names(topics: Topics) -> set[str]:
    """Return the names of topics, without those of coordinators."""
    return {topic.name for topic in topics if not topic.is_internal}


def test_share_groups_are_offered_topics_that_the_group_of_their_coordinator_has_whole(
    cluster: KafkaCluster,
) -> None:
    whole, spread, other = cluster.make_topic("a"), cluster.make_spread("a"), cluster.make_topic("b")
    topics = Topics(cluster.operations("a"))
    assert names(Topics(cluster.operations("a"), Shown.WHOLE)) == {whole}
    assert names(Topics(cluster.operations("b"), Shown.WHOLE)) == {other}
    assert names(topics) == {whole, spread} and names(topics.everywhere) == {whole, spread, other}
