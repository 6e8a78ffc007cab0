"""Quotas of clients of a cluster."""

from __future__ import annotations

from mqgateway.gateway.migration.kafka.quotas import read_quotas, set_quotas
from tests.support.gateway.migration.kafka_clusters import kafka_clusters

ALICE = {"entity": {"user": "alice", "client-id": None}, "values": {"producer_byte_rate": 1000.0}}
EVERY = {"entity": {"client-id": None}, "values": {"consumer_byte_rate": 2000.0, "request_percentage": 50.0}}


def by_entity(rows: list[dict[str, object]]) -> list[str]:
    return sorted(map(str, rows))


def test_quotas_are_set_as_they_were_read() -> None:
    with kafka_clusters() as two:
        assert read_quotas(two.source.cluster) == []
        assert set_quotas(two.source.cluster, []) == []
        assert set_quotas(two.source.cluster, [ALICE, EVERY]) == []
        rows = read_quotas(two.source.cluster)
        assert [dict(sorted(row["entity"].items())) for row in rows]
        assert set_quotas(two.target.cluster, rows) == []
        assert by_entity(read_quotas(two.target.cluster)) == by_entity(rows)
        assert {value for row in rows for value in row["values"].values()} == {1000.0, 2000.0, 50.0}


def test_refused_quotas_are_named() -> None:
    with kafka_clusters() as two:
        wrong = {"entity": {"user": "bob"}, "values": {"unknown_rate": 1.0}}
        [refusal] = set_quotas(two.target.cluster, [wrong])
        assert refusal.startswith("quotas of user bob: ")
        other = {"entity": {"client-id": None}, "values": {"unknown_rate": 1.0}}
        [refusal] = set_quotas(two.target.cluster, [other])
        assert refusal.startswith("quotas of client-id <default>: ")
