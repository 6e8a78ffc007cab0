"""The leader in answers that refuse what only a leader does, so that clients need no metadata (KIP-951).

Standard: `KafkaApis.getCurrentLeader`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final, Protocol, TypeVar

from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.cluster_view import ClusterNode, ClusterView
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import fetch_response, produce_response
from mqgateway.gateway.kafka.topics import Topics

PRODUCE_SINCE: Final = 10
FETCH_SINCE: Final = 16
HINTED: Final = frozenset((ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH))

Leader = TypeVar("Leader")


class _Partition(Protocol[Leader]):
    """A partition of an answer."""

    error_code: int
    current_leader: Leader


def hint_in_produce(
    cluster: ClusterView, topics: Topics, call: KafkaCall, answer: produce_response.ProduceResponse
) -> produce_response.ProduceResponse:
    """Add leaders to the partitions of an answer that were refused for them; return the answer."""
    if call.version >= PRODUCE_SINCE:
        found = ((one.name, one.topic_id, one.partition_responses) for one in answer.responses)
        number_of = attrgetter("index")
        leaders = _add_leaders(cluster, topics, call, found, number_of, produce_response.LeaderIdAndEpoch)
        answer.node_endpoints = [produce_response.NodeEndpoint(*leader) for leader in leaders]
    return answer


def hint_in_fetch(
    cluster: ClusterView, topics: Topics, call: KafkaCall, answer: fetch_response.FetchResponse
) -> fetch_response.FetchResponse:
    """Add leaders to the partitions of an answer that were refused for them; return the answer."""
    if call.version >= FETCH_SINCE:
        found = ((one.topic, one.topic_id, one.partitions) for one in answer.responses)
        number_of = attrgetter("partition_index")
        leaders = _add_leaders(cluster, topics, call, found, number_of, fetch_response.LeaderIdAndEpoch)
        answer.node_endpoints = [fetch_response.NodeEndpoint(*leader) for leader in leaders]
    return answer


def _add_leaders(
    cluster: ClusterView,
    topics: Topics,
    call: KafkaCall,
    found: Iterable[tuple[str, bytes, Iterable[_Partition[Leader]]]],
    number_of: Callable[[_Partition[Leader]], int],
    leader_of: Callable[[int, int], Leader],
) -> list[ClusterNode]:
    """Add leaders to partitions that were refused for them; return each leader once, in order.

    `found` has name and id of each topic, with its partitions. `leader_of` makes a leader of its node id and
    its epoch.
    """
    by_group: dict[str, tuple[ClusterNode | None, int]] = {}
    leaders: set[ClusterNode] = set()
    for name, topic_id, partitions in found:
        refused = [each for each in partitions if each.error_code in HINTED]
        topic = topics.named(name, topic_id) if refused else None
        for partition in refused:
            number = number_of(partition)
            group = "" if topic is None else topic.place(number).group
            base = 0 if topic is None else topic.epoch_base(number)
            if group not in by_group:
                by_group[group] = cluster.leader(call, group), cluster.replicas(group).epoch
            leader, epoch = by_group[group]
            if leader is not None:
                leaders.add(leader)
                partition.current_leader = leader_of(leader.id, epoch + base)
    return sorted(leaders)
