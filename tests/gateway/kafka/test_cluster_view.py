"""A group of brokers under a controller as one Kafka cluster: real bytes, with a fail-over."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.describe_cluster_request import DescribeClusterRequest
from mqgateway.gateway.kafka.codec.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchRequest
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mqgateway.gateway.kafka.codec.messages.list_transactions_request import ListTransactionsRequest
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.gateway.broker.controlled import Replica
from tests.support.gateway.kafka.client import KafkaClient
from tests.support.gateway.kafka.members import KafkaSet
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_in,
)

LATEST_TIME = -1
NAMED = 12
"""The newest version of Produce and Fetch that names topics."""


def described(answer: Any) -> tuple[int, ...]:
    """Return error, leader, epoch, replicas, replicas in sync and offline replicas of the one partition."""
    [topic] = answer.topics
    [one] = topic.partitions
    return (
        one.error_code,
        one.leader_id,
        one.leader_epoch,
        tuple(one.replica_nodes),
        tuple(one.isr_nodes),
        tuple(one.offline_replicas),
    )


def hint(answer: Any, partition: Any) -> tuple[Any, ...]:
    """Return the leader in an answer: its id, its epoch, and its endpoints."""
    leader = partition.current_leader
    endpoints = [(one.node_id, one.host, one.port, one.rack) for one in answer.node_endpoints]
    return leader.leader_id, leader.leader_epoch, endpoints


def epoch_end(client: KafkaClient, epoch: int, current: int = -1) -> tuple[int, ...]:
    """Return error, epoch and end of an epoch of topic `a`."""
    wanted = OffsetForLeaderPartition(0, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("a", [wanted])])
    [[one]] = [result.partitions for result in client.ask(request).topics]
    return one.error_code, one.leader_epoch, one.end_offset


def latest(client: KafkaClient, epoch: int = -1) -> tuple[int, ...]:
    """Return error, epoch and offset of the end of topic `a`."""
    wanted = ListOffsetsTopic("a", [ListOffsetsPartition(0, epoch, LATEST_TIME)])
    [[one]] = [topic.partitions for topic in client.ask(ListOffsetsRequest(-1, 0, [wanted])).topics]
    return one.error_code, one.leader_epoch, one.offset


@pytest.fixture(scope="module")
def pair() -> tuple[KafkaSet, Replica]:
    """Return a set of two members with topic `a`, and its master, which is member 1."""
    brokers = KafkaSet(kafka_rack="r1")
    master = brokers.join(1)
    brokers.join(2)
    brokers.make_topic(master, "a")
    now = brokers.clock.millis()
    data = batch_of_values(b"one", b"two", now=now)
    assert produced(brokers.client(1), produce_request("a", data)).error_code == 0
    return brokers, master


def test_every_member_shows_leader_replicas_and_replicas_in_sync(pair: tuple[KafkaSet, Replica]) -> None:
    brokers, _ = pair
    for number in (1, 2):
        answer = brokers.metadata(number, "a")
        nodes = [(one.node_id, one.host, one.port, one.rack) for one in answer.brokers]
        assert nodes == [(1, "broker-1", 9092, "r1"), (2, "broker-2", 9093, "r1")]
        assert answer.controller_id == 1
        assert described(answer) == (0, 1, 1, (1, 2), (1, 2), ())
        client = brokers.client(number)
        assert described(client.ask(DescribeTopicPartitionsRequest([TopicRequest("a")]))) == (
            0,
            1,
            1,
            (1, 2),
            (1, 2),
            (),
        )
        cluster = client.ask(DescribeClusterRequest())
        assert [one.broker_id for one in cluster.brokers] == [1, 2] and cluster.controller_id == 1


def test_slave_refuses_what_a_leader_does_and_names_the_leader(pair: tuple[KafkaSet, Replica]) -> None:
    brokers, _ = pair
    client = brokers.client(2)
    [topic] = client.ask(MetadataRequest(topics=None)).topics
    leader = (1, 1, [(1, "broker-1", 9092, "r1")])
    request = produce_request("", batch_of_values(b"x", now=brokers.clock.millis()), topic_id=topic.topic_id)
    answer = client.ask(request)
    [one] = answer.responses[0].partition_responses
    assert one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and hint(answer, one) == leader
    wanted: FetchRequest = fetch_request("", 0, topic_id=topic.topic_id, max_wait=60_000)
    answer = client.ask(wanted)
    [one] = answer.responses[0].partitions
    assert one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and hint(answer, one) == leader
    assert fetched(client, fetch_request("a", 0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert latest(client)[0] == epoch_end(client, 1)[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_slave_names_the_coordinator_and_leaves_changes_to_the_controller(
    pair: tuple[KafkaSet, Replica],
) -> None:
    brokers, _ = pair
    client = brokers.client(2)
    [found] = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])).coordinators
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "broker-1", 9092)
    created = client.ask(CreateTopicsRequest(topics=[CreatableTopic("b", 1, 1)]))
    assert created.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    assert brokers.metadata(2, "new").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    made = brokers.client(1).ask(CreateTopicsRequest(topics=[CreatableTopic("c", 1, 2)]))
    assert (made.topics[0].error_code, made.topics[0].replication_factor) == (0, 2)
    refused = brokers.client(1).ask(CreateTopicsRequest(topics=[CreatableTopic("d", 1, 3)]))
    assert refused.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_slave_lists_no_groups_and_no_transactions(pair: tuple[KafkaSet, Replica]) -> None:
    client = pair[0].client(2)
    groups, transactions = client.ask(ListGroupsRequest()), client.ask(ListTransactionsRequest())
    assert (groups.error_code, list(groups.groups)) == (0, [])
    assert (transactions.error_code, list(transactions.transaction_states)) == (0, [])


def test_slave_gives_ids_to_producers(pair: tuple[KafkaSet, Replica]) -> None:
    answer = pair[0].client(2).ask(InitProducerIdRequest(None))
    assert (answer.error_code, answer.producer_epoch) == (0, 0) and answer.producer_id >= 0


def test_client_continues_on_the_new_leader_in_its_epoch() -> None:
    brokers = KafkaSet()
    master, slave = brokers.join(1), brokers.join(2)
    brokers.make_topic(master, "a")
    data = batch_of_values(b"one", b"two", now=brokers.clock.millis())
    assert produced(brokers.client(1), produce_request("a", data)).error_code == 0
    assert latest(brokers.client(1)) == (0, 1, 2)
    master.kill()
    brokers.wait(12)
    assert slave.leads
    answer = brokers.metadata(2, "a")
    assert [one.node_id for one in answer.brokers] == [2]
    assert described(answer) == (0, 2, 2, (1, 2), (2,), (1,))
    client = brokers.client(2)
    data = batch_of_values(b"three", now=brokers.clock.millis())
    assert produced(client, produce_request("a", data)).base_offset == 2
    read = fetched(client, fetch_request("a", 0))
    assert values_in(read) == [(0, b"one"), (1, b"two"), (2, b"three")]
    assert [(batch.base_offset, batch.leader_epoch) for batch in batches_in(read)] == [(0, 1), (2, 2)]
    assert latest(client) == (0, 2, 3)
    _check_epochs(client)
    master.again()
    brokers.listen(master, 1)
    brokers.wait(12)
    for number in (1, 2):
        assert described(brokers.metadata(number, "a")) == (0, 2, 2, (1, 2), (1, 2), ())
    assert fetched(brokers.client(1), fetch_request("a", 0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def _check_epochs(client: KafkaClient) -> None:
    """Check epochs of a partition whose epoch 1 ended at offset 2, and whose epoch 2 is current."""
    assert epoch_end(client, 1) == epoch_end(client, 1, current=2) == (0, 1, 2)
    assert epoch_end(client, 2) == (0, 2, 3)
    assert epoch_end(client, 0) == (0, 0, 3)
    assert epoch_end(client, 3) == (0, -1, -1)
    assert epoch_end(client, 1, current=1)[0] == ErrorCode.FENCED_LEADER_EPOCH
    assert epoch_end(client, 1, current=3)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert latest(client, 1)[0] == ErrorCode.FENCED_LEADER_EPOCH
    assert latest(client, 3)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH

    def fetch(offset: int, current: int = -1, last: int = -1) -> Any:
        request = fetch_request("a", offset)
        [partition] = request.topics[0].partitions
        partition.current_leader_epoch, partition.last_fetched_epoch = current, last
        return fetched(client, request, NAMED)

    assert fetch(0, current=1).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert fetch(0, current=3).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert values_in(fetch(2, current=2, last=1)) == [(2, b"three")]
    diverging = fetch(3, last=1).diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (1, 2)
    assert fetch(3, last=3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
