"""Settings of groups of a cluster."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.messages.list_config_resources_request import ListConfigResourcesRequest
from mqgateway.gateway.migration.kafka.connection import BrokerConnection
from mqgateway.gateway.migration.kafka.group_settings import (
    different_settings,
    read_group_settings,
    set_group_settings,
    settings_of,
)
from tests.support.gateway.migration.kafka_clusters import kafka_clusters

SHARED = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "20000"}
CONSUMING = {"consumer.session.timeout.ms": "50000"}
GROUPS = {"c": CONSUMING, "s": SHARED}


def test_settings_are_set_as_they_were_read() -> None:
    with kafka_clusters() as two:
        source, target = two.source.cluster, two.target.cluster
        assert read_group_settings(source) == settings_of(source, ["c"]) == {}
        assert set_group_settings(source, {}) == set_group_settings(source, GROUPS) == {}
        found = read_group_settings(source)
        assert found == GROUPS
        assert set_group_settings(target, found) == set_group_settings(target, found) == {}
        assert read_group_settings(target) == GROUPS
        assert different_settings(target, GROUPS) == {}


def test_refused_settings_are_named_and_others_are_set() -> None:
    with kafka_clusters() as two:
        wanted = {"t": {"streams.num.standby.replicas": "1"}, "c": CONSUMING}
        refusals = set_group_settings(two.target.cluster, wanted)
        assert refusals == {"t": "Unknown group config name: streams.num.standby.replicas"}
        assert read_group_settings(two.target.cluster) == {"c": CONSUMING}


def test_trial_changes_nothing() -> None:
    with kafka_clusters() as two:
        assert set_group_settings(two.target.cluster, GROUPS, is_trial=True) == {}
        assert read_group_settings(two.target.cluster) == {}


def test_differences_are_named() -> None:
    with kafka_clusters() as two:
        assert set_group_settings(two.target.cluster, {"s": SHARED}) == {}
        wanted = {"c": CONSUMING, "s": SHARED | {"share.auto.offset.reset": "latest"}}
        assert different_settings(two.target.cluster, wanted) == {
            "c": "consumer.session.timeout.ms is not set, not 50000",
            "s": "share.auto.offset.reset is earliest, not latest",
        }


def test_cluster_that_does_not_list_groups_has_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with kafka_clusters() as two:
        assert set_group_settings(two.source.cluster, GROUPS) == {}
        monkeypatch.setattr(BrokerConnection, "knows", lambda _, key: key != ListConfigResourcesRequest.KEY)
        assert read_group_settings(two.source.cluster) == {}
        monkeypatch.undo()
        version, listing = BrokerConnection.version, ListConfigResourcesRequest.KEY
        monkeypatch.setattr(
            BrokerConnection, "version", lambda self, key: 0 if key == listing else version(self, key)
        )
        assert read_group_settings(two.source.cluster) == {}
