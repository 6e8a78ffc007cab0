"""Committed offsets of groups."""

from __future__ import annotations

from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.groups import (
    CommittedOffset,
    KafkaGroup,
    commit_offsets,
    committed_offsets,
    read_groups,
)
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_offsets_of_groups_are_committed_and_read() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        wanted = {Partition("a", 0): CommittedOffset(1, "m")}
        commit_offsets(two.source.cluster, "g", wanted)
        assert committed_offsets(two.source.cluster, "g") == wanted
        assert committed_offsets(two.source.cluster, "unknown") == {}
        assert read_groups(two.source.cluster) == [KafkaGroup("g", "classic", "Empty")]
