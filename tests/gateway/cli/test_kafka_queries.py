"""Groups, transactions and producers of a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mqgateway.gateway.cli.kafka_queries import (
    NOT_OPEN,
    KafkaPosition,
    describe_group,
    details_of,
    partitions_of,
    producers,
    transactions,
)
from mqgateway.gateway.client.errors import NoBroker
from mqgateway.gateway.kafka.codec.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
)
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from mqgateway.gateway.kafka.codec.messages.join_group_request import JoinGroupRequest
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.codec.plans import encode_into
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.groups import CommittedOffset, commit_offsets, read_groups
from tests.gateway.kafka.api.test_groups import join_request
from tests.gateway.kafka.api.test_share_fetch import share_fetch
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer
from tests.support.gateway.migration.kafka_clusters import Side

JOIN_VERSION = 3


@pytest.fixture
def side() -> Iterator[Side]:
    """A cluster with the topic `a` of one partition and three records."""
    with kafka_scene() as scene:
        made = Side(scene)
        made.create("a")
        made.produce("a", b"1", b"2", b"3")
        yield made


def test_classic_group_is_described_with_assignment_and_lag(side: Side) -> None:
    joining: JoinGroupRequest = join_request("g")
    joined = side.client.ask(joining, JOIN_VERSION)
    assignment = bytearray(b"\0\0")
    encode_into(assignment, ConsumerProtocolAssignment([TopicPartition("a", [0])]), 0)
    brought = [SyncGroupRequestAssignment(joined.member_id, bytes(assignment))]
    synced = side.client.ask(SyncGroupRequest("g", 1, joined.member_id, assignments=brought), 2)
    assert synced.error_code == 0
    found = describe_group(side.cluster, "g")
    assert (found.kind, found.state, found.assignor, found.lag) == ("classic", "Stable", "range", 0)
    [member] = found.members
    assert member.partitions == (Partition("a", 0),) and member.client_id == "tests"
    with pytest.raises(NoBroker):
        describe_group(side.cluster, "unknown")


def test_group_without_members_has_its_offsets(side: Side) -> None:
    commit_offsets(side.cluster, "g", {Partition("a", 0): CommittedOffset(1, "")})
    [listed] = read_groups(side.cluster)
    found = details_of(side.cluster, listed)
    assert found.positions == (KafkaPosition(Partition("a", 0), 1, 2),)
    assert (found.members, found.lag) == ((), 2)


def test_consumer_group_is_described(side: Side) -> None:
    request = ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=30_000, topic_partitions=())
    request.subscribed_topic_names = ("a",)
    assert side.client.ask(request).error_code == 0
    found = describe_group(side.cluster, "g")
    assert (found.kind, found.assignor) == ("consumer", "uniform")
    assert [(one.member_id, one.partitions) for one in found.members] == [("m", (Partition("a", 0),))]


def test_share_group_is_described_with_its_start_offsets(side: Side) -> None:
    side.scene.set_share_groups(ShareGroupSettings(auto_offset_reset="earliest"))
    request = ShareGroupHeartbeatRequest("g", "m", 0, subscribed_topic_names=("a",))
    joined = side.client.ask(request)
    [topic] = joined.assignment.topic_partitions
    assert side.client.ask(share_fetch(topic.topic_id)).error_code == 0
    found = describe_group(side.cluster, "g")
    assert (found.kind, found.assignor, found.lag) == ("share", "simple", 3)
    assert found.positions == (KafkaPosition(Partition("a", 0), 0, 3),)
    assert [one.partitions for one in found.members] == [(Partition("a", 0),)]


def test_open_transaction_and_its_producer_are_listed(side: Side) -> None:
    producer = TxnProducer(side.scene).begun()
    producer.send("a", b"4")
    [found] = transactions(side.cluster)
    assert (found.transactional_id, found.state, found.timeout) == ("t", "Ongoing", 60_000)
    assert found.partitions == {Partition("a", 0)} and found.started > 0
    [one] = producers(side.cluster, partitions_of(side.cluster, ["a"]))
    assert (one.producer_id, one.last_sequence, one.open_since) == (producer.producer_id, 0, 3)
    assert producer.end(True) == 0
    side.scene.settle(1)
    assert transactions(side.cluster) == []
    assert [each.state for each in transactions(side.cluster, ())] == ["CompleteCommit"]
    assert {each.open_since for each in producers(side.cluster, partitions_of(side.cluster, None))} == {
        NOT_OPEN
    }


def test_unknown_topic_is_an_error(side: Side) -> None:
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        partitions_of(side.cluster, ["unknown"])
