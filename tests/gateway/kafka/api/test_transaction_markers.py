"""WriteTxnMarkers, as administrators end hanging transactions."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.test_coordination import become
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer, committed_values, offset_of


def request(
    producer_id: int,
    epoch: int,
    commit: bool,
    topics: dict[str, list[int]],
    coordinator_epoch: int = 0,
    version: int = 0,
) -> WriteTxnMarkersRequest:
    """Return a request of one marker, of a transaction of a version."""
    wanted = [WritableTxnMarkerTopic(name, numbers) for name, numbers in topics.items()]
    marker = WritableTxnMarker(producer_id, epoch, commit, wanted, coordinator_epoch, version)
    return WriteTxnMarkersRequest([marker])


def codes(client: KafkaClient | KafkaBroker, asked: WriteTxnMarkersRequest, version: int = 2) -> list[int]:
    """Return the codes of the partitions of one marker."""
    [marker] = client.ask(asked, version).markers
    return [one.error_code for topic in marker.topics for one in topic.partitions]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_marker_ends_the_transaction_in_its_partitions(version: int, commit: bool) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a", 2)
        producer = TxnProducer(scene).begun()
        for partition in (0, 1):
            producer.send("a", b"1", partition=partition)
        producer.commit_offset("g", "a", 5)
        asked = request(producer.producer_id, 0, commit, {"a": [0], "__consumer_offsets": [0]})
        assert codes(producer.client, asked, version) == [E.NONE, E.NONE]
        assert committed_values(producer.client, "a") == ([b"1"] if commit else [])
        assert committed_values(producer.client, "a", 1) == []
        assert offset_of(producer.client, "g", "a") == (5 if commit else -1, E.NONE)


def test_markers_of_old_epochs_and_for_unknown_partitions_are_refused() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene).begun()
        producer.send("a", b"1")
        producer.end(True)
        scene.settle(0.2)
        unknown = {"a": [0, 7], "none": [0], "__transaction_state": [0], "__consumer_offsets": [1]}
        assert codes(producer.client, request(producer.producer_id, 0, False, unknown)) == [
            E.INVALID_PRODUCER_EPOCH,
            *[E.UNKNOWN_TOPIC_OR_PARTITION] * 4,
        ]
        asked = request(producer.producer_id, 1, False, {"a": [0]}, coordinator_epoch=-1)
        assert codes(producer.client, asked) == [E.TRANSACTION_COORDINATOR_FENCED]


def test_late_marker_ends_nothing_of_the_next_transaction() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene).begun()
        producer.send("a", b"1")
        producer.end(True)
        scene.settle(0.2)
        producer.send("a", b"2")
        producer.commit_offset("g", "a", 5)
        assert producer.epoch == 1
        places = {"a": [0], "__consumer_offsets": [0]}
        for epoch, version in ((0, 0), (0, 2), (1, 2)):
            asked = request(producer.producer_id, epoch, True, places, version=version)
            assert codes(producer.client, asked) == [E.INVALID_PRODUCER_EPOCH] * 2
        assert committed_values(producer.client, "a") == [b"1"]
        assert offset_of(producer.client, "g", "a") == (-1, E.UNSTABLE_OFFSET_COMMIT)
        asked = request(producer.producer_id, 2, True, places, version=2)
        assert codes(producer.client, asked) == [E.NONE] * 2
        assert committed_values(producer.client, "a") == [b"1", b"2"]
        assert offset_of(producer.client, "g", "a") == (5, E.NONE)


def test_only_administrators_of_a_master_write_markers() -> None:
    kafka = KafkaBroker()
    asked = request(7, 0, False, {"orders": [0]})
    cluster = kafka.operations.options.broker_cluster_name
    kafka.rights.denied |= {(cluster, AclOperation.ALTER), (cluster, AclOperation.CLUSTER_ACTION)}
    assert codes(kafka, asked) == [E.CLUSTER_AUTHORIZATION_FAILED]
    kafka.rights.denied.remove((cluster, AclOperation.CLUSTER_ACTION))
    assert codes(kafka, asked) == [E.INVALID_REQUEST]  # a topic of RocketMQ's has no such transactions
    become(kafka, RoleKind.SLAVE)
    assert codes(kafka, asked) == [E.NOT_LEADER_OR_FOLLOWER]


def test_offsets_wait_until_groups_are_read() -> None:
    kafka = KafkaBroker()
    kafka.coordinator.unload()
    asked = request(7, 0, False, {"__consumer_offsets": [0]})
    assert codes(kafka, asked) == [E.COORDINATOR_LOAD_IN_PROGRESS]
