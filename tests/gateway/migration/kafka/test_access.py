"""Access control lists of a cluster."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.migration.kafka.access import create_acls, read_acls, scram_users
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_cluster_without_access_control_has_no_lists() -> None:
    with kafka_clusters() as two:
        assert read_acls(two.source.cluster) == [] and scram_users(two.source.cluster) == []
        row: dict[str, Any] = {"type": 2, "name": "a", "pattern": 3, "principal": "User:x"}
        row |= {"host": "*", "operation": 3, "permission": 3}
        [refusal] = create_acls(two.target.cluster, [row])
        assert refusal.startswith("rule for User:x on a: ")
        assert create_acls(two.target.cluster, []) == []
