"""DescribeQuorum and UpdateFeatures: the metadata of a cluster of one broker, which is its only voter.

Standard: `KafkaRaftClient.handleDescribeQuorumRequest`, `QuorumController.updateFeatures`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import NotAdmitted, Operations, Use
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import describe_quorum_response as quorum
from mqgateway.gateway.kafka.codec.messages.describe_quorum_request import DescribeQuorumRequest, TopicData
from mqgateway.gateway.kafka.codec.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from mqgateway.gateway.kafka.codec.messages.update_features_response import (
    UpdatableFeatureResult,
    UpdateFeaturesResponse,
)
from mqgateway.gateway.kafka.features import FEATURES, UPGRADE
from mqgateway.gateway.kafka.node import LEADER_EPOCH, Node
from mqgateway.gateway.kafka.rights import on_cluster

METADATA_TOPIC: Final = "__cluster_metadata"
"""The topic that has Kafka's log of metadata. This broker's metadata has no log, so that it ends at 0."""
LOG_END: Final = 0
NODES_SINCE: Final = 2
"""Version of DescribeQuorum from which the addresses of the voters are reported."""
UPGRADE_TYPE_SINCE: Final = 1
"""Version of UpdateFeatures from which there is a type in place of `allow_downgrade`."""
SAFE_DOWNGRADE: Final = 2


class ClusterRequests:
    """Requests about the controllers and the features of the cluster."""

    def __init__(self, operations: Operations, node: Node) -> None:
        self._operations = operations
        self._node = node

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DescribeQuorumRequest.KEY: self.describe_quorum,
            UpdateFeaturesRequest.KEY: self.update_features,
        }

    def describe_quorum(
        self, call: KafkaCall, request: DescribeQuorumRequest
    ) -> quorum.DescribeQuorumResponse:
        """Answer DescribeQuorum: this broker is leader and voter."""
        try:
            call.admit(Use.QUERY, on_cluster(self._operations, Action.GET))
        except NotAdmitted as error:
            code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return quorum.DescribeQuorumResponse(code, str(error))
        if [(topic.topic_name, _numbers(topic)) for topic in request.topics] != [(METADATA_TOPIC, [0])]:
            return _unknown_partitions(request)
        node, address = self._node, self._node.address(call)
        voter = quorum.ReplicaState(
            node.id,
            log_end_offset=LOG_END,
            last_fetch_timestamp=call.now,
            last_caught_up_timestamp=call.now,
        )
        partition = quorum.PartitionData(
            0, ErrorCode.NONE, None, node.id, LEADER_EPOCH, LOG_END, current_voters=[voter]
        )
        answer = quorum.DescribeQuorumResponse(
            error_message=None, topics=[quorum.TopicData(METADATA_TOPIC, [partition])]
        )
        if call.version >= NODES_SINCE:
            listener = quorum.Listener(node.protocol, address.host, address.port)
            answer.nodes = [quorum.Node(node.id, [listener])]
        return answer

    def update_features(self, call: KafkaCall, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """Answer UpdateFeatures: the levels are fixed, so that only those in force are accepted."""
        try:
            call.admit(Use.QUERY, on_cluster(self._operations, Action.UPDATE))
        except NotAdmitted as error:
            return UpdateFeaturesResponse(
                error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=str(error)
            )
        for update in request.feature_updates:
            problem = _problem(update, call.version)
            if problem is not None:
                text = (
                    "The update failed for all features since the following feature had an error: Invalid "
                    f"update version {update.max_version_level} for feature {update.feature}. {problem}"
                )
                return UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=text)
        results = [UpdatableFeatureResult(each.feature, 0, None) for each in request.feature_updates]
        return UpdateFeaturesResponse(error_message=None, results=results)


def _numbers(topic: TopicData) -> list[int]:
    return [partition.partition_index for partition in topic.partitions]


def _unknown_partitions(request: DescribeQuorumRequest) -> quorum.DescribeQuorumResponse:
    """Return the answer to a request for anything but the partition of the metadata."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topics = [
        quorum.TopicData(
            topic.topic_name,
            [quorum.PartitionData(each.partition_index, code, None) for each in topic.partitions],
        )
        for topic in request.topics
    ]
    return quorum.DescribeQuorumResponse(error_message=None, topics=topics)


def _problem(update: FeatureUpdateKey, version: int) -> str | None:
    feature = FEATURES.get(update.feature)
    if feature is None:
        return "This broker does not support this feature."
    upgrade_type = update.upgrade_type
    if version < UPGRADE_TYPE_SINCE:
        upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return feature.problem(update.max_version_level, upgrade_type)
