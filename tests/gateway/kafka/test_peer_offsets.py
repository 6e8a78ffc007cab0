"""Offsets of transactions whose group another broker group coordinates: real bytes between brokers."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from mqgateway.gateway.kafka.codec.messages.end_txn_request import EndTxnRequest
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.support.gateway.kafka.cluster import KafkaCluster
from tests.support.gateway.kafka.coordinated import TRANSACTION_KEYS, committed, coordinators

NAMES = ("a", "b", "c")
NODES = {1: "a", 1001: "b", 2001: "c"}
TIMEOUT = 60_000
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
OLD, NEW = 3, 5
"""Versions of TxnOffsetCommit: after AddOffsetsToTxn, and without it (KIP-890)."""


class Producer:
    """A transactional producer that commits offsets of consumer groups. `at` is the coordinator."""

    def __init__(self, cluster: KafkaCluster, transactional_id: str = "t", at: str = "") -> None:
        self._cluster = cluster
        self._id = transactional_id
        found = coordinators(cluster, at or "b", [transactional_id], TRANSACTION_KEYS)
        error, node = found[transactional_id]
        assert error == 0
        self.at = at or NODES[node]
        answer = cluster.client(self.at).ask(InitProducerIdRequest(transactional_id, TIMEOUT, -1, -1))
        assert answer.error_code == 0
        self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def add(self, group: str) -> int:
        """Add the offsets of a group to the transaction; return the code."""
        request = AddOffsetsToTxnRequest(self._id, self.id, self.epoch, group)
        return int(self._cluster.client(self.at).ask(request, 3).error_code)

    def commit(self, at: str, group: str, topic: str, offset: int, version: int = NEW) -> int:
        """Commit an offset of partition 0 at a broker; return the code."""
        wanted = TxnOffsetCommitRequestTopic(topic, partitions=[TxnOffsetCommitRequestPartition(0, offset)])
        request = TxnOffsetCommitRequest(self._id, group, self.id, self.epoch, topics=[wanted])
        answer = self._cluster.client(at).ask(request, version)
        return int(answer.topics[0].partitions[0].error_code)

    def end(self, *, commits: bool = True, version: int = NEW) -> int:
        """End the transaction; return the code."""
        request = EndTxnRequest(self._id, self.id, self.epoch, commits)
        answer = self._cluster.client(self.at).ask(request, version)
        if version == NEW and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
        return int(answer.error_code)


@pytest.fixture
def cluster() -> KafkaCluster:
    """Return a cluster of three groups."""
    return KafkaCluster(NAMES)


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(("commits", "offset"), [(True, 5), (False, -1)])
def test_offsets_of_groups_of_all_coordinators_end_with_the_transaction(
    cluster: KafkaCluster, commits: bool, offset: int, version: int
) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    groups = {at: cluster.key_at(at) for at in NAMES}
    for at, group in groups.items():
        if version == OLD:
            assert producer.add(group) == 0
        assert producer.commit(at, group, topic, 5, version) == 0
        assert committed(cluster, at, group, topic) == (UNSTABLE, -1)
    assert producer.end(commits=commits, version=version) == 0
    cluster.wait(2)
    for at, group in groups.items():
        assert committed(cluster, at, group, topic) == (0, offset)


def test_offsets_outside_of_a_transaction_are_refused(cluster: KafkaCluster) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    for at in NAMES:
        group = cluster.key_at(at)
        assert producer.commit(at, group, topic, 5, OLD) == ErrorCode.INVALID_TXN_STATE
        assert committed(cluster, at, group, topic) == (0, -1)


def test_broker_of_another_group_refuses_offsets(cluster: KafkaCluster) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    assert producer.commit("c", cluster.key_at("b"), topic, 5) == ErrorCode.NOT_COORDINATOR


def test_offsets_are_committed_once_the_coordinator_of_the_group_is_back(cluster: KafkaCluster) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    at = next(name for name in NAMES if name != producer.at)
    group = cluster.key_at(at)
    assert producer.commit(at, group, topic, 5) == 0
    cluster.stop(at)
    assert producer.end() == 0
    cluster.restart(at)
    cluster.wait(30)
    assert committed(cluster, at, group, topic) == (0, 5)
    assert producer.commit(at, group, topic, 6) == 0


def test_pending_offsets_of_an_open_transaction_survive_restarts(cluster: KafkaCluster) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    groups = {at: cluster.key_at(at) for at in NAMES}
    for at, group in groups.items():
        assert producer.commit(at, group, topic, 5) == 0
    for at in NAMES:
        cluster.stop(at)
        cluster.restart(at)
        cluster.wait(10)
    for at, group in groups.items():
        assert committed(cluster, at, group, topic) == (UNSTABLE, -1)
        assert producer.commit(at, group, topic, 6) == 0
    assert producer.end() == 0
    cluster.wait(2)
    for at, group in groups.items():
        assert committed(cluster, at, group, topic) == (0, 6)


def test_marker_of_a_client_ends_offsets_at_the_coordinator_of_the_partition(cluster: KafkaCluster) -> None:
    topic, producer = cluster.make_spread("a"), Producer(cluster)
    group = cluster.key_at("b")
    assert producer.commit("b", group, topic, 5) == 0
    wanted = WritableTxnMarkerTopic("__consumer_offsets", [1])
    marker = WritableTxnMarker(producer.id, producer.epoch, True, [wanted], 0)
    for at, code in (("c", ErrorCode.NOT_LEADER_OR_FOLLOWER), ("b", ErrorCode.NONE)):
        [answer] = cluster.client(at).ask(WriteTxnMarkersRequest([marker]), 1).markers
        assert answer.topics[0].partitions[0].error_code == code
    assert committed(cluster, "b", group, topic) == (0, 5)
