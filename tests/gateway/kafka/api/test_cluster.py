"""The quorum of one voter, and its features."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from mqgateway.gateway.kafka.codec.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from mqgateway.gateway.kafka.codec.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from mqgateway.gateway.kafka.codec.messages.unregister_broker_request import UnregisterBrokerRequest
from mqgateway.gateway.kafka.codec.messages.unregister_controller_request import UnregisterControllerRequest
from mqgateway.gateway.kafka.codec.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Message
from tests.gateway.kafka.api.test_metadata import ACCESS
from tests.support.gateway.kafka.client import kafka_scene

QUORUM = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])
UPGRADE, DOWNGRADE = 1, 2


def test_broker_is_the_only_voter() -> None:
    with kafka_scene(kafka_node_id=3, kafka_advertised_address="kafka.example:9093") as scene:
        answer = scene.client().ask(QUORUM)
        [[partition]] = [topic.partitions for topic in answer.topics]
        assert (answer.error_code, partition.error_code, partition.leader_id) == (0, 0, 3)
        [voter] = partition.current_voters
        assert (voter.replica_id, voter.log_end_offset) == (3, partition.high_watermark)
        assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp > 0
        assert not partition.observers
        [node] = answer.nodes
        assert [(one.name, one.host, one.port) for one in node.listeners] == [
            ("PLAINTEXT", "kafka.example", 9093)
        ]


@pytest.mark.parametrize("version", range(3))
def test_every_version_of_the_quorum_is_described(version: int) -> None:
    with kafka_scene() as scene:
        assert scene.client().ask(QUORUM, version).topics[0].partitions[0].leader_id == 1


@pytest.mark.parametrize("name, number", [("other", 0), ("__cluster_metadata", 1)])
def test_quorum_of_another_partition_is_unknown(name: str, number: int) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(DescribeQuorumRequest([TopicData(name, [PartitionData(number)])]))
        [[partition]] = [topic.partitions for topic in answer.topics]
        assert answer.error_code == 0
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_levels_in_force_are_accepted() -> None:
    updates = [FeatureUpdateKey("transaction.version", 2), FeatureUpdateKey("metadata.version", 33)]
    with kafka_scene() as scene:
        client = scene.client()
        answer = client.ask(UpdateFeaturesRequest(feature_updates=updates), 1)
        assert (answer.error_code, [one.error_code for one in answer.results]) == (0, [0, 0])
        assert client.ask(UpdateFeaturesRequest(feature_updates=updates)).error_code == 0


@pytest.mark.parametrize(
    "update, text",
    [
        (FeatureUpdateKey("no.such", 1), "Local controller 1 does not support this feature"),
        (FeatureUpdateKey("transaction.version", 3), "only supports versions 0-2"),
        (FeatureUpdateKey("transaction.version", 1, False, DOWNGRADE), "always 2"),
    ],
)
def test_another_level_is_refused(update: FeatureUpdateKey, text: str) -> None:
    with kafka_scene() as scene:
        updates = [FeatureUpdateKey("metadata.version", 33), update]
        answer = scene.client().ask(UpdateFeaturesRequest(feature_updates=updates))
        assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert f"Invalid update version {update.max_version_level} for feature" in answer.error_message
        assert text in answer.error_message


@pytest.mark.parametrize("allowed, text", [(False, "Can't downgrade"), (True, "always 2")])
def test_first_version_has_a_mark_for_downgrades(allowed: bool, text: str) -> None:
    with kafka_scene() as scene:
        updates = [FeatureUpdateKey("transaction.version", 1, allowed)]
        answer = scene.client().ask(UpdateFeaturesRequest(feature_updates=updates), 0)
        assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION and text in answer.error_message


VOTER = bytes(range(16))
LISTENERS = [Listener("CONTROLLER", "other.example", 9093)]


@pytest.mark.parametrize(
    "request_, code",
    [
        (UnregisterBrokerRequest(7), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (UnregisterBrokerRequest(1), ErrorCode.INVALID_REQUEST),
        (UnregisterControllerRequest(7), ErrorCode.CONTROLLER_ID_NOT_REGISTERED),
        (UnregisterControllerRequest(1), ErrorCode.INVALID_REQUEST),
        (AddRaftVoterRequest(None, 1, 7, VOTER, LISTENERS), ErrorCode.UNSUPPORTED_VERSION),
        (AddRaftVoterRequest(None, 1, 7, VOTER), ErrorCode.INVALID_REQUEST),
        (AddRaftVoterRequest(None, 1, 7, NO_UUID, LISTENERS), ErrorCode.INVALID_REQUEST),
        (AddRaftVoterRequest("other", 1, 7, VOTER, LISTENERS), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (RemoveRaftVoterRequest(None, 1, VOTER), ErrorCode.UNSUPPORTED_VERSION),
        (RemoveRaftVoterRequest(None, -1, VOTER), ErrorCode.INVALID_REQUEST),
    ],
)
def test_nodes_of_the_cluster_are_fixed(request_: Message, code: ErrorCode) -> None:
    with kafka_scene() as scene:
        answer = scene.client().ask(request_)
        assert answer.error_code == code and answer.error_message


def test_with_access_control_the_cluster_is_neither_described_nor_changed() -> None:
    with kafka_scene(**ACCESS) as scene:
        for request in (
            QUORUM,
            UpdateFeaturesRequest(),
            UnregisterBrokerRequest(7),
            UnregisterControllerRequest(7),
            AddRaftVoterRequest(None, 1, 7, VOTER, LISTENERS),
            RemoveRaftVoterRequest(None, 7, VOTER),
        ):
            assert scene.client().ask(request).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
