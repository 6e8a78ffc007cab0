"""The leader in answers that refuse what only a leader does, so that clients need no metadata (KIP-951).

Standard: `KafkaApis.getCurrentLeader`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterNode, ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import fetch_response, produce_response

PRODUCE_SINCE: Final = 10
FETCH_SINCE: Final = 16
HINTED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


def hint_in_produce(
    cluster: ClusterView, call: KafkaCall, answer: produce_response.ProduceResponse
) -> produce_response.ProduceResponse:
    """Add the leader to the partitions of an answer that were refused for it; return the answer."""
    if call.version < PRODUCE_SINCE:
        return answer
    refused = [
        partition
        for topic in answer.responses
        for partition in topic.partition_responses
        if partition.error_code in HINTED
    ]
    leader = cluster.leader(call) if refused else None
    if leader is not None:
        epoch = cluster.replicas().epoch
        for partition in refused:
            partition.current_leader = produce_response.LeaderIdAndEpoch(leader.id, epoch)
        answer.node_endpoints = [produce_response.NodeEndpoint(*leader)]
    return answer


def hint_in_fetch(
    cluster: ClusterView, call: KafkaCall, answer: fetch_response.FetchResponse
) -> fetch_response.FetchResponse:
    """Add the leader to the partitions of an answer that were refused for it; return the answer."""
    if call.version < FETCH_SINCE:
        return answer
    refused = [
        partition
        for topic in answer.responses
        for partition in topic.partitions
        if partition.error_code in HINTED
    ]
    leader: ClusterNode | None = cluster.leader(call) if refused else None
    if leader is not None:
        epoch = cluster.replicas().epoch
        for partition in refused:
            partition.current_leader = fetch_response.LeaderIdAndEpoch(leader.id, epoch)
        answer.node_endpoints = [fetch_response.NodeEndpoint(*leader)]
    return answer
