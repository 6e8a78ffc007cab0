"""The leader in answers that refuse what only a leader does, so that clients need no metadata (KIP-951).

Standard: `KafkaApis.getCurrentLeader`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterNode, ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import fetch_response, produce_response
from mqgateway.gateway.kafka.topics import Topics

PRODUCE_SINCE: Final = 10
FETCH_SINCE: Final = 16
HINTED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))


def hint_in_produce(
    cluster: ClusterView, topics: Topics, call: KafkaCall, answer: produce_response.ProduceResponse
) -> produce_response.ProduceResponse:
    """Add leaders to the partitions of an answer that were refused for them; return the answer."""
    if call.version < PRODUCE_SINCE:
        return answer
    leaders: set[ClusterNode] = set()
    for topic in answer.responses:
        refused = [each for each in topic.partition_responses if each.error_code in HINTED]
        group = topics.group_of(topic.name, topic.topic_id) if refused else ""
        leader = cluster.leader(call, group) if refused else None
        if leader is not None:
            leaders.add(leader)
            epoch = cluster.replicas(group).epoch
            for partition in refused:
                partition.current_leader = produce_response.LeaderIdAndEpoch(leader.id, epoch)
    if leaders:
        answer.node_endpoints = [produce_response.NodeEndpoint(*leader) for leader in sorted(leaders)]
    return answer


def hint_in_fetch(
    cluster: ClusterView, topics: Topics, call: KafkaCall, answer: fetch_response.FetchResponse
) -> fetch_response.FetchResponse:
    """Add leaders to the partitions of an answer that were refused for them; return the answer."""
    if call.version < FETCH_SINCE:
        return answer
    leaders: set[ClusterNode] = set()
    for topic in answer.responses:
        refused = [each for each in topic.partitions if each.error_code in HINTED]
        group = topics.group_of(topic.topic, topic.topic_id) if refused else ""
        leader = cluster.leader(call, group) if refused else None
        if leader is not None:
            leaders.add(leader)
            epoch = cluster.replicas(group).epoch
            for partition in refused:
                partition.current_leader = fetch_response.LeaderIdAndEpoch(leader.id, epoch)
    if leaders:
        answer.node_endpoints = [fetch_response.NodeEndpoint(*leader) for leader in sorted(leaders)]
    return answer
