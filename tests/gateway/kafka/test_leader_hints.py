"""The leader in answers, from the versions on that have it."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.kafka.cluster_view import ClusterNode, PartitionReplicas
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages import fetch_response, produce_response
from mqgateway.gateway.kafka.leader_hints import hint_in_fetch, hint_in_produce

LEADER = ClusterNode(2, "b", 9092, None)


class Cluster:
    """A cluster with or without a leader."""

    def __init__(self, leader: ClusterNode | None) -> None:
        self._leader = leader

    def leader(self, call: object, group: str) -> ClusterNode | None:
        """See `ClusterView`."""
        return self._leader

    def replicas(self, group: str) -> PartitionReplicas:
        """See `ClusterView`."""
        return PartitionReplicas(2, 5, (1, 2), (1, 2), ())


class Topics:
    """Topics that are not known."""

    def named(self, name: str, topic_id: bytes) -> None:
        """See `Topics`."""


class Call:
    """A call of a version."""

    def __init__(self, version: int) -> None:
        self.version = version


def produced(version: int, code: int, leader: ClusterNode | None) -> tuple[int, int, int]:
    """Return leader and epoch of a partition, and the number of endpoints."""
    partition = produce_response.PartitionProduceResponse(0, code)
    answer = produce_response.ProduceResponse([produce_response.TopicProduceResponse("a", b"", [partition])])
    cluster: Any = Cluster(leader)
    topics: Any = Topics()
    call: Any = Call(version)
    hinted = hint_in_produce(cluster, topics, call, answer)
    return (
        partition.current_leader.leader_id,
        partition.current_leader.leader_epoch,
        len(hinted.node_endpoints),
    )


def fetched(version: int, code: int, leader: ClusterNode | None) -> tuple[int, int, int]:
    """Return the same of an answer to Fetch."""
    partition = fetch_response.PartitionData(0, code)
    answer = fetch_response.FetchResponse(
        responses=[fetch_response.FetchableTopicResponse("a", b"", [partition])]
    )
    cluster: Any = Cluster(leader)
    topics: Any = Topics()
    call: Any = Call(version)
    hinted = hint_in_fetch(cluster, topics, call, answer)
    return (
        partition.current_leader.leader_id,
        partition.current_leader.leader_epoch,
        len(hinted.node_endpoints),
    )


@pytest.mark.parametrize(("hinted", "since"), [(produced, 10), (fetched, 16)])
def test_leader_is_named_where_a_leader_is_wanted(hinted: Any, since: int) -> None:
    refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert hinted(since, refused, LEADER) == (2, 5, 1)
    assert hinted(since, ErrorCode.FENCED_LEADER_EPOCH, LEADER) == (2, 5, 1)
    assert hinted(since - 1, refused, LEADER) == (-1, -1, 0)
    assert hinted(since, refused, None) == (-1, -1, 0)
    assert hinted(since, ErrorCode.UNKNOWN_LEADER_EPOCH, LEADER) == (-1, -1, 0)
    assert hinted(since, 0, LEADER) == (-1, -1, 0)
