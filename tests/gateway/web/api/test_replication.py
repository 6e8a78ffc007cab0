"""Replicas of all broker groups."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred, succeed

from mqgateway.gateway.broker.operations.administration import BrokerAdministration
from mqgateway.gateway.broker.operations.other_brokers import OtherBrokerOperations
from mqgateway.gateway.codec.bodies import HARuntimeInfo
from mqgateway.gateway.codec.bodies.replicas import HAConnectionRuntimeInfo
from tests.support.gateway.console import console
from tests.support.gateway.console_cluster import cluster_console


def info(address: str, diff: int, *, in_sync: bool) -> HARuntimeInfo:
    replica = HAConnectionRuntimeInfo(address, 900, diff, in_sync, 5)
    return HARuntimeInfo(True, 900 + diff, int(in_sync), [replica])


def test_replicas_of_every_group_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def theirs(*_: object) -> Deferred[HARuntimeInfo]:
        return succeed(info("h:2", 100, in_sync=False))

    monkeypatch.setattr(BrokerAdministration, "replication", lambda _: info("h:1", 0, in_sync=True))
    monkeypatch.setattr(OtherBrokerOperations, "replication", theirs)
    answer = cluster_console(lost=False).get("/cluster/replication")
    assert [(row["broker"], row["inSync"], row["logEnd"]) for row in answer["rows"]] == [
        ("broker-a", 1, 900),
        ("broker-b", 0, 1000),
    ]
    assert answer["rows"][1]["replicas"] == [
        {"address": "h:2", "offset": 900, "behind": 100, "inSync": False, "bytesPerSecond": 5}
    ]


def test_groups_without_an_answer_are_named() -> None:
    answer = cluster_console().get("/cluster/replication")
    reasons = {one["broker"]: one["reason"] for one in answer["unanswered"]}
    assert answer["rows"] == [] and set(reasons) == {"broker-b", "broker-c"}
    assert "HARuntimeInfo" in reasons["broker-b"]


def test_broker_without_replicas_has_no_row() -> None:
    assert console().get("/cluster/replication") == {"rows": [], "unanswered": []}
