"""Moves of partitions between broker groups: real bytes between clients, brokers and name server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mqgateway.engine.producers.fences import NOT_FENCED, fence_of
from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.engine.tables.attributes import KAFKA_PARTITIONS
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka import partition_moves, spread_topics
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mqgateway.gateway.kafka.codec.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
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
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

NAMES = ("a", "b", "c")
LEADERS = {"a": 1, "b": 1001, "c": 2001}
COMMITTED = 1


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of three groups."""
    return KafkaCluster(NAMES)


def move(
    cluster: KafkaCluster, topic: str, replicas: Sequence[int] | None, partition: int = 0, *, at: str = "a"
) -> Any:
    """Move a partition, or cancel its move; return the result."""
    wanted = ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])
    answer = cluster.client(at).ask(AlterPartitionReassignmentsRequest(topics=[wanted]))
    assert answer.error_code == 0
    [[result]] = [each.partitions for each in answer.responses]
    return result


def ongoing(
    cluster: KafkaCluster, at: str = "a", topics: Sequence[Any] | None = None
) -> list[tuple[Any, ...]]:
    """Return topic, partition, and new and old nodes of all moves."""
    answer = cluster.client(at).ask(ListPartitionReassignmentsRequest(topics=topics))
    return [
        (topic.name, one.partition_index, tuple(one.adding_replicas), tuple(one.removing_replicas))
        for topic in answer.topics
        for one in topic.partitions
    ]


def send(cluster: KafkaCluster, at: str, topic: str, *values: bytes, **producer: Any) -> Any:
    """Return the answer to a batch for the first partition."""
    data = batch_of_values(*values, now=cluster.world.clock.millis(), **producer)
    return produced(cluster.client(at), produce_request(topic, data))


def raw(cluster: KafkaCluster, at: str, topic: str, offset: int = 0) -> bytes:
    """Return the bytes of the first partition from an offset on."""
    found = fetched(cluster.client(at), fetch_request(topic, offset))
    assert found.error_code == 0
    return bytes(found.records)


def read(cluster: KafkaCluster, at: str, topic: str, **more: Any) -> list[tuple[int, bytes]]:
    """Return the records of the first partition with their offsets, without those of control batches."""
    found = fetched(cluster.client(at), fetch_request(topic, 0, **more))
    assert found.error_code == 0
    return [
        (batch.base_offset + record.offset_delta, bytes(record.value or b""))
        for batch in batches_in(found)
        if not batch.is_control
        for record in batch.records()
    ]


def epoch(cluster: KafkaCluster, at: str, topic: str) -> int:
    """Return the epoch of the first partition's leader, as a broker shows it."""
    [found] = cluster.metadata(at, topic).topics
    return int(found.partitions[0].leader_epoch)


def queue_ends(cluster: KafkaCluster, group: str, topic: str, queue_id: int) -> tuple[int, int]:
    """Return the ends of a queue of a group."""
    store = cluster.member(group).store
    return store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)


# A move


def test_partition_moves_with_its_offsets_and_bytes(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=3)
    for number in range(20):
        assert send(cluster, "b", topic, b"%d" % number, b"x").base_offset == 2 * number
    before, old_epoch = raw(cluster, "b", topic), epoch(cluster, "a", topic)
    assert move(cluster, topic, [2001]).error_code == 0
    assert ongoing(cluster) == [(topic, 0, (2001,), (1001,))]
    cluster.wait(5)
    for at in NAMES:
        assert ongoing(cluster, at) == []
        assert cluster.leaders(at, topic) == [2001, 2001, 1]
        assert epoch(cluster, at, topic) > old_epoch
    after = raw(cluster, "c", topic)
    assert after.startswith(before) and fence_of(after[len(before) :]) == 0
    assert send(cluster, "b", topic, b"late").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert send(cluster, "c", topic, b"new").base_offset == 41
    assert [offset for offset, _ in read(cluster, "c", topic)] == [*range(40), 41]


def test_copy_that_was_left_is_deleted_but_for_its_fence(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=3)
    send(cluster, "b", topic, b"1", b"2", b"3")
    assert move(cluster, topic, [1]).error_code == 0
    cluster.wait(5)
    assert queue_ends(cluster, "b", topic, 0) == (3, 4)
    assert queue_ends(cluster, "a", topic, 1) == (0, 4)


def test_partition_without_records_keeps_its_end(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    send(cluster, "b", topic, b"1", b"2", b"3")
    wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 3)])
    cluster.client("b").ask(DeleteRecordsRequest([wanted], 1000))
    assert move(cluster, topic, [1]).error_code == 0
    cluster.wait(5)
    assert cluster.leaders("c", topic) == [1]
    assert queue_ends(cluster, "a", topic, 0) == (3, 4)
    assert send(cluster, "a", topic, b"4").base_offset == 4


def test_partition_moves_back_and_on(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    expected, epochs = [], [epoch(cluster, "a", topic)]
    for number, group in enumerate(("b", "c", "b", "a")):
        if number:
            assert move(cluster, topic, [LEADERS[group]], at=group).error_code == 0
            cluster.wait(5)
            epochs.append(epoch(cluster, "a", topic))
        answer = send(cluster, group, topic, b"%d" % number)
        assert answer.error_code == 0
        expected.append((answer.base_offset, b"%d" % number))
    assert read(cluster, "a", topic) == expected == [(0, b"0"), (2, b"1"), (4, b"2"), (6, b"3")]
    assert epochs == sorted(set(epochs))


def test_large_partition_is_copied_within_the_limit_of_bytes_a_second(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_moves, "BYTES_A_SECOND", 4000)
    monkeypatch.setattr(partition_moves, "PART_BYTES", 1000)
    topic = cluster.make_spread("b", partitions=1)
    for _ in range(20):
        send(cluster, "b", topic, bytes(900))
    assert move(cluster, topic, [2001]).error_code == 0
    cluster.wait(3)
    assert ongoing(cluster) and 0 < queue_ends(cluster, "c", topic, 0)[1] < 20
    cluster.wait(10)
    assert not ongoing(cluster) and queue_ends(cluster, "c", topic, 0) == (0, 21)


# Producers and consumers


def test_idempotent_producer_is_known_to_the_new_leader(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    producer = {"producer_id": 7, "producer_epoch": 0}
    for number in range(3):
        send(cluster, "b", topic, b"%d" % number, base_sequence=number, **producer)
    move(cluster, topic, [2001])
    cluster.wait(5)
    assert send(cluster, "c", topic, b"2", base_sequence=2, **producer).base_offset == 2
    gap = send(cluster, "c", topic, b"5", base_sequence=5, **producer)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(cluster, "c", topic, b"3", base_sequence=3, **producer).base_offset == 4
    assert [value for _, value in read(cluster, "c", topic)] == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("commits", [True, False])
def test_transaction_continues_at_the_new_leader(cluster: KafkaCluster, commits: bool) -> None:
    topic, at = cluster.make_spread("b", partitions=1), cluster.key_at("a")
    coordinator = cluster.client("a")
    began = coordinator.ask(InitProducerIdRequest(at, 60_000, -1, -1))
    producer = {"producer_id": began.producer_id, "producer_epoch": began.producer_epoch}

    def transactional(group: str, value: bytes, sequence: int) -> int:
        now = cluster.world.clock.millis()
        data = batch_of_values(value, now=now, flags=TRANSACTIONAL, base_sequence=sequence, **producer)
        request = produce_request(topic, data, transactional_id=at)
        return int(produced(cluster.client(group), request).error_code)

    assert transactional("b", b"1", 0) == 0
    move(cluster, topic, [2001])
    cluster.wait(5)
    assert read(cluster, "c", topic, isolation_level=COMMITTED) == []
    assert transactional("b", b"2", 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert transactional("c", b"2", 1) == 0
    request = EndTxnRequest(at, began.producer_id, began.producer_epoch, commits)
    assert coordinator.ask(request, 5).error_code == 0
    cluster.wait(3)
    assert [value for _, value in read(cluster, "c", topic)] == [b"1", b"2"]
    found = fetched(cluster.client("c"), fetch_request(topic, 0, isolation_level=COMMITTED))
    assert found.last_stable_offset == found.high_watermark
    aborted = [(one.producer_id, one.first_offset) for one in found.aborted_transactions or ()]
    assert aborted == ([] if commits else [(began.producer_id, 0)])


@pytest.mark.parametrize("coordinator", NAMES)
def test_committed_offsets_of_a_partition_stay(cluster: KafkaCluster, coordinator: str) -> None:
    topic, group = cluster.make_spread("b", partitions=3), cluster.key_at(coordinator)

    def commit(offset: int) -> None:
        part = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, offset)])
        [answer] = cluster.client(coordinator).ask(OffsetCommitRequest(group, topics=[part]), 8).topics
        assert answer.partitions[0].error_code == 0

    def committed() -> list[tuple[int, int]]:
        wanted = OffsetFetchRequestGroup(
            group, topics=[OffsetFetchRequestTopics(topic, partition_indexes=(0, 1, 2))]
        )
        [answer] = cluster.client(coordinator).ask(OffsetFetchRequest(groups=[wanted]), 9).groups
        return [(one.partition_index, one.committed_offset) for one in answer.topics[0].partitions]

    send(cluster, "b", topic, b"1", b"2", b"3")
    commit(2)
    move(cluster, topic, [2001])
    cluster.wait(5)
    assert committed() == [(0, 2), (1, -1), (2, -1)]
    send(cluster, "c", topic, b"4", b"5")
    commit(6)
    for name in NAMES:
        cluster.stop(name)
        cluster.restart(name)
    cluster.wait(5)
    assert committed() == [(0, 6), (1, -1), (2, -1)]


def test_consumer_with_an_older_epoch_is_not_sent_back(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    send(cluster, "b", topic, b"1", b"2")
    old = epoch(cluster, "a", topic)
    move(cluster, topic, [2001])
    cluster.wait(5)
    new = epoch(cluster, "a", topic)

    def ends(leader_epoch: int, current: int = -1) -> tuple[int, int, int]:
        wanted = OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(0, current, leader_epoch)])
        [answer] = cluster.client("c").ask(OffsetForLeaderEpochRequest(-1, [wanted])).topics
        [one] = answer.partitions
        return one.error_code, one.leader_epoch, one.end_offset

    assert ends(old) == (0, old, 3) and ends(new, new) == (0, new, 3) and ends(new + 1) == (0, -1, -1)
    assert ends(old, old)[0] == ErrorCode.FENCED_LEADER_EPOCH
    assert ends(old, new + 1)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
    send(cluster, "c", topic, b"3")
    [batch] = batches_in(fetched(cluster.client("c"), fetch_request(topic, 3)))
    assert batch.leader_epoch == new
    latest = ListOffsetsTopic(topic, [ListOffsetsPartition(0, new, -1)])
    [answer] = cluster.client("c").ask(ListOffsetsRequest(-1, 0, [latest])).topics
    assert [(one.offset, one.leader_epoch) for one in answer.partitions] == [(4, new)]


# RocketMQ's clients


def test_topic_with_moves_is_closed_to_clients_of_rocketmq(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    send(cluster, "b", topic, b"1")
    answer = cluster.member("b").pull(topic=topic)
    assert answer is not None and answer.code == 0
    move(cluster, topic, [2001])
    cluster.wait(5)
    for group in ("b", "c"):
        answer = cluster.member(group).pull(topic=topic)
        assert answer is not None and "only Kafka clients" in (answer.remark or "")


def test_partition_with_messages_of_rocketmq_stays(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    cluster.member("b").send(topic=topic)
    send(cluster, "b", topic, b"1")
    assert move(cluster, topic, [2001]).error_code == 0
    cluster.wait(5)
    assert ongoing(cluster) == [] and cluster.leaders("c", topic) == [1001]
    assert send(cluster, "b", topic, b"2").error_code == 0


# Crashes


def test_fence_of_a_move_that_does_not_continue_is_lifted(cluster: KafkaCluster) -> None:
    topic = cluster.make_spread("b", partitions=1)
    send(cluster, "b", topic, b"1")
    cluster.kill("c")
    move(cluster, topic, [2001], at="b")
    operations = cluster.operations("b")
    operations.batches.fence(operations.gate.internal(Use.SEND), topic, 0, 0)
    cluster.wait(1)
    assert send(cluster, "b", topic, b"2").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.kill("b")
    cluster.restart("b")
    cluster.wait(3)
    assert send(cluster, "b", topic, b"2").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    cluster.wait(partition_moves.FENCE_MILLIS / 1000)
    assert ongoing(cluster, "b") == []
    assert send(cluster, "b", topic, b"2").base_offset == 2
    assert operations.batches.fence_at(topic, 0) in (0, NOT_FENCED)


@pytest.mark.parametrize("at", ["b", "a"])
def test_owner_that_lacks_the_last_change_adopts_it_before_it_makes_another(
    cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """As a slave that became master without it; the group of the partition that moves has it."""
    monkeypatch.setattr(partition_moves, "PERIOD_MILLIS", 1_000_000)
    monkeypatch.setattr(spread_topics, "PERIOD_MILLIS", 3000)
    cluster.wait(4)
    topic = cluster.make_spread("b", partitions=2)
    target = cluster.operations("c")
    begun = {f"+{KAFKA_PARTITIONS}": "2*b/c;0>c"}
    part = replace(target.topics.known(topic), read_queue_nums=2, write_queue_nums=2, attributes=begun)
    target.administration.put_topic(target.gate.internal(Use.ADMINISTER), part)
    peers = cluster.operations("b").peers
    assert peers is not None
    for _ in range(20):
        cluster.wait(0.1)
        known = peers.topic_of("c", topic)
        if known is not None and known.attributes[KAFKA_PARTITIONS] == "2*b/c;0>c":
            break
    refused = move(cluster, topic, [1], at=at)
    assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "is being taken over after a fail-over" in refused.error_message
    cluster.wait(5)
    assert ongoing(cluster) == [(topic, 0, (2001,), (1001,))]
    assert move(cluster, topic, None, at=at).error_code == 0
