"""ElectLeaders. The master of a group leads all partitions that the group has.

Standard: `ReplicationControlManager`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.kafka.api import Handlers
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from mqgateway.gateway.kafka.codec.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from mqgateway.gateway.kafka.rights import cluster_refusal
from mqgateway.gateway.kafka.topics import Topics

ELECTION_TYPES: Final = (0, 1)
"""Of the preferred replica, and of one that is not in sync."""
NOT_NEEDED: Final = "Leader election not needed for topic partition."


class ReplicaRequests:
    """Requests about the leaders of partitions."""

    def __init__(self, operations: Operations, topics: Topics) -> None:
        self._operations = operations
        self._topics = topics

    def handlers(self) -> Handlers:
        """Return the functions by API key."""
        return {ElectLeadersRequest.KEY: self.elect}

    def elect(self, call: KafkaCall, request: ElectLeadersRequest) -> Steps[ElectLeadersResponse]:
        """Answer ElectLeaders: each partition has its leader. Without topics there is nothing to report."""
        wanted: Sequence[TopicPartitions] = request.topic_partitions or ()
        refusal = cluster_refusal(call, self._operations, AclOperation.ALTER)
        if refusal is None and request.election_type not in ELECTION_TYPES:
            refusal = ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        if refusal is not None:
            return _refused_election(wanted, *refusal)
        if request.topic_partitions is None:
            wanted = [TopicPartitions(topic.name) for topic in self._topics]
        results: list[ReplicaElectionResult] = []
        for each in wanted:
            yield
            results.append(ReplicaElectionResult(each.topic, self._elected(each)))
        return ElectLeadersResponse(replica_election_results=results)

    def _elected(self, wanted: TopicPartitions) -> list[PartitionResult]:
        topic = self._topics.find(wanted.topic)
        if topic is None:
            code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {wanted.topic}"
            return [PartitionResult(number, code, text) for number in wanted.partitions]
        return [
            PartitionResult(number, ErrorCode.ELECTION_NOT_NEEDED, NOT_NEEDED)
            if 0 <= number < topic.partitions
            else PartitionResult(
                number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic.name}-{number}"
            )
            for number in wanted.partitions
        ]


def _refused_election(wanted: Sequence[TopicPartitions], code: ErrorCode, text: str) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(each.topic, [PartitionResult(number, code, text) for number in each.partitions])
        for each in wanted
    ]
    return ElectLeadersResponse(0, code, results)
