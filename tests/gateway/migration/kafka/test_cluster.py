"""A Kafka cluster as its client sees it."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.errors import Unreachable
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.security import ClusterSecurity
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_next_bootstrap_address_is_tried() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        address = two.source.cluster.bootstrap[0]
        two.source.refusals = 1
        cluster = KafkaCluster(["10.9.9.9:1", address], ClusterSecurity(two.source.connect), 1.0)
        assert [topic.name for topic in cluster.metadata(["a"]).topics] == ["a"]
        assert cluster.controller() == cluster.coordinator("g") == address
        assert cluster.by_leader([Partition("a", 0), Partition("none", 0)]) == {address: [Partition("a", 0)]}
        cluster.close()
        two.source.refusals = 2
        with pytest.raises(Unreachable, match="Connection refused"):
            cluster.metadata()


def test_no_address_is_an_error() -> None:
    with pytest.raises(Unreachable, match="no broker is given"):
        KafkaCluster([], ClusterSecurity(), 1.0).metadata()
