"""Requests about the controllers, the brokers and the features of a cluster.

DescribeQuorum, UpdateFeatures, UnregisterBroker, UnregisterController, AddRaftVoter and RemoveRaftVoter. The
controller is the only voter, and nothing of this can be changed. Standard: `ControllerApis`,
`KafkaRaftClient`, `QuorumController`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import describe_quorum_response as quorum
from mqgateway.gateway.kafka.codec.messages.add_raft_voter_request import AddRaftVoterRequest
from mqgateway.gateway.kafka.codec.messages.add_raft_voter_response import AddRaftVoterResponse
from mqgateway.gateway.kafka.codec.messages.describe_quorum_request import DescribeQuorumRequest, TopicData
from mqgateway.gateway.kafka.codec.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from mqgateway.gateway.kafka.codec.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from mqgateway.gateway.kafka.codec.messages.unregister_broker_request import UnregisterBrokerRequest
from mqgateway.gateway.kafka.codec.messages.unregister_broker_response import UnregisterBrokerResponse
from mqgateway.gateway.kafka.codec.messages.unregister_controller_request import UnregisterControllerRequest
from mqgateway.gateway.kafka.codec.messages.unregister_controller_response import (
    UnregisterControllerResponse,
)
from mqgateway.gateway.kafka.codec.messages.update_features_request import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from mqgateway.gateway.kafka.codec.messages.update_features_response import (
    UpdatableFeatureResult,
    UpdateFeaturesResponse,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.features import FEATURES, UPGRADE
from mqgateway.gateway.kafka.rights import cluster_refusal

METADATA_TOPIC: Final = "__cluster_metadata"
"""The topic that has Kafka's log of metadata. This broker's metadata has no log, so that it ends at 0."""
LOG_END: Final = 0
NODES_SINCE: Final = 2
"""Version of DescribeQuorum from which the addresses of the voters are reported."""
UPGRADE_TYPE_SINCE: Final = 1
"""Version of UpdateFeatures from which there is a type in place of `allow_downgrade`."""
SAFE_DOWNGRADE: Final = 2

Refusal = tuple[ErrorCode, str]


class ClusterRequests:
    """Requests about the cluster of one group of replicas."""

    def __init__(self, operations: Operations, cluster: ClusterView) -> None:
        self._operations = operations
        self._cluster = cluster

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {
            DescribeQuorumRequest.KEY: self.describe_quorum,
            UpdateFeaturesRequest.KEY: self.update_features,
            UnregisterBrokerRequest.KEY: self.unregister_broker,
            UnregisterControllerRequest.KEY: self.unregister_controller,
            AddRaftVoterRequest.KEY: self.add_voter,
            RemoveRaftVoterRequest.KEY: self.remove_voter,
        }

    def describe_quorum(
        self, call: KafkaCall, request: DescribeQuorumRequest
    ) -> quorum.DescribeQuorumResponse:
        """Answer DescribeQuorum: the leader is the only voter."""
        refusal = cluster_refusal(call, self._operations, AclOperation.DESCRIBE)
        if refusal is not None:
            return quorum.DescribeQuorumResponse(*refusal)
        if [(topic.topic_name, _numbers(topic)) for topic in request.topics] != [(METADATA_TOPIC, [0])]:
            return _unknown_partitions(request)
        leader = self._cluster.controller(call)
        if leader is None:
            return quorum.DescribeQuorumResponse(ErrorCode.NOT_CONTROLLER)
        voter = quorum.ReplicaState(
            leader.id,
            log_end_offset=LOG_END,
            last_fetch_timestamp=call.now,
            last_caught_up_timestamp=call.now,
        )
        partition = quorum.PartitionData(
            0,
            ErrorCode.NONE,
            "",
            leader.id,
            self._cluster.controller_epoch,
            LOG_END,
            current_voters=[voter],
        )
        answer = quorum.DescribeQuorumResponse(topics=[quorum.TopicData(METADATA_TOPIC, [partition])])
        if call.version >= NODES_SINCE:
            listener = quorum.Listener(self._cluster.node.protocol, leader.host, leader.port)
            answer.nodes = [quorum.Node(leader.id, [listener])]
        return answer

    def update_features(self, call: KafkaCall, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """Answer UpdateFeatures: the levels are fixed, so that only those in force are accepted."""
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        if refusal is not None:
            return UpdateFeaturesResponse(0, *refusal)
        for update in request.feature_updates:
            problem = self._problem(update, call.version)
            if problem is not None:
                text = (
                    "The update failed for all features since the following feature had an error: Invalid "
                    f"update version {update.max_version_level} for feature {update.feature}. {problem}"
                )
                return UpdateFeaturesResponse(0, ErrorCode.INVALID_UPDATE_VERSION, text)
        results = [UpdatableFeatureResult(each.feature, 0, None) for each in request.feature_updates]
        return UpdateFeaturesResponse(error_message=None, results=results)

    def _problem(self, update: FeatureUpdateKey, version: int) -> str | None:
        feature = FEATURES.get(update.feature)
        controller = f"Local controller {self._cluster.node.id}"
        if feature is None:
            return f"{controller} does not support this feature."
        upgrade_type = update.upgrade_type
        if version < UPGRADE_TYPE_SINCE:
            upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
        return feature.problem(update.max_version_level, upgrade_type, controller)

    def unregister_broker(
        self, call: KafkaCall, request: UnregisterBrokerRequest
    ) -> UnregisterBrokerResponse:
        """Answer UnregisterBroker: brokers that run stay, and no others are registered."""
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        running = {self._cluster.node.id, *(node.id for node in self._cluster.nodes(call))}
        if refusal is None and request.broker_id in running:
            refusal = ErrorCode.INVALID_REQUEST, f"Broker ID {request.broker_id} is running."
        if refusal is None:
            text = f"Broker ID {request.broker_id} is not currently registered"
            refusal = ErrorCode.BROKER_ID_NOT_REGISTERED, text
        return UnregisterBrokerResponse(0, *refusal)

    def unregister_controller(
        self, call: KafkaCall, request: UnregisterControllerRequest
    ) -> UnregisterControllerResponse:
        """Answer UnregisterController: the controller stays, and there is no other one."""
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        if refusal is None and request.controller_id == self._cluster.controller_id:
            text = "Controller cannot unregister itself while it is active."
            refusal = ErrorCode.INVALID_REQUEST, text
        if refusal is None:
            text = f"Controller ID {request.controller_id} is not currently registered."
            refusal = ErrorCode.CONTROLLER_ID_NOT_REGISTERED, text
        return UnregisterControllerResponse(0, *refusal)

    def add_voter(self, call: KafkaCall, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
        """Answer AddRaftVoter: the quorum is fixed."""
        refusal = self._voter_refusal(call, request, "Add")
        if refusal is None and not request.listeners:
            text = "Add voter request didn't include the endpoint for the default listener"
            refusal = ErrorCode.INVALID_REQUEST, text
        return AddRaftVoterResponse(0, *(refusal or _fixed_quorum("adding")))

    def remove_voter(self, call: KafkaCall, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
        """Answer RemoveRaftVoter: the quorum is fixed."""
        refusal = self._voter_refusal(call, request, "Remove")
        return RemoveRaftVoterResponse(0, *(refusal or _fixed_quorum("removing")))

    def _voter_refusal(
        self, call: KafkaCall, request: AddRaftVoterRequest | RemoveRaftVoterRequest, verb: str
    ) -> Refusal | None:
        """Return why a request about a voter is refused; None if it is well-formed and allowed."""
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        if refusal is not None:
            return refusal
        own = self._cluster.node.cluster_id
        if request.cluster_id not in (None, own):
            text = f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{own}"'
            return ErrorCode.INCONSISTENT_CLUSTER_ID, text
        if request.voter_id < 0 or request.voter_directory_id == NO_UUID:
            return ErrorCode.INVALID_REQUEST, f"{verb} voter request didn't include a valid voter"
        return None


def _fixed_quorum(change: str) -> Refusal:
    text = f"Cluster doesn't support {change} voter because the kraft.version feature is 0"
    return ErrorCode.UNSUPPORTED_VERSION, text


def _numbers(topic: TopicData) -> list[int]:
    return [partition.partition_index for partition in topic.partitions]


def _unknown_partitions(request: DescribeQuorumRequest) -> quorum.DescribeQuorumResponse:
    """Return the answer to a request for anything but the partition of the metadata."""
    code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
    topics = [
        quorum.TopicData(
            topic.topic_name, [quorum.PartitionData(number, code, text) for number in _numbers(topic)]
        )
        for topic in request.topics
    ]
    return quorum.DescribeQuorumResponse(topics=topics)
