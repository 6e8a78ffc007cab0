"""The plan of a migration."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.migration.kafka import survey
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster
from mqgateway.gateway.migration.kafka.connection import KafkaError
from tests.gateway.migration.kafka.test_copying import delete_before
from tests.support.gateway.migration.kafka_clusters import kafka_clusters


def test_plan_names_what_differs() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1")
        delete_before(two.source, 1)
        for name in ("full", "wide"):
            two.source.create(name)
            two.target.create(name, 2)
        two.target.produce("full", b"1")
        two.source.create("b.c")
        two.target.create("b_c")
        assert two.plan(["a", "none"]).problems == [
            "the source has no topic none",
            "a begins after offset 0 at the source: other offsets at the target",
        ]
        problems = two.plan().problems
        assert "wide has 2 partitions at the target already" in problems
        assert any(one.startswith("the target refuses b.c: Topic 'b.c' collides") for one in problems)


def test_records_at_the_target_are_named() -> None:
    with kafka_clusters() as two:
        for side in (two.source, two.target):
            side.create("a")
        two.target.produce("a", b"1")
        assert two.plan().problems == ["a has records at the target already: other offsets than the source's"]


def test_settings_of_groups_that_the_target_refuses_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"g": {"share.auto.offset.reset": "earliest"}, "s": {"streams.num.standby.replicas": "1"}}
    monkeypatch.setattr(survey, "read_group_settings", lambda _: wanted)
    with kafka_clusters() as two:
        plan = two.plan()
        assert plan.group_settings == wanted
        assert plan.problems == [
            "the target refuses settings of group s: Unknown group config name: streams.num.standby.replicas"
        ]


def test_source_that_hides_settings_of_groups_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def hide(_: KafkaCluster) -> dict[str, dict[str, str]]:
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "groups with settings")

    monkeypatch.setattr(survey, "read_group_settings", hide)
    with kafka_clusters() as two:
        assert two.plan().problems == [
            "settings of groups are not moved: groups with settings: CLUSTER_AUTHORIZATION_FAILED"
        ]


def test_target_that_hides_its_users_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:

        def users(cluster: KafkaCluster) -> list[str]:
            if cluster is two.target.cluster:
                raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "SCRAM credentials")
            return ["alice"]

        monkeypatch.setattr(survey, "scram_users", users)
        plan = two.plan()
        assert plan.users == ["alice"]
        assert plan.problems == [
            "the users of the target are not known: SCRAM credentials: CLUSTER_AUTHORIZATION_FAILED"
        ]
