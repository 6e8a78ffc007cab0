"""Whom a command asks, and what becomes of failures."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import BrokerError, ClientError, NoBroker, Unreachable
from mqgateway.gateway.codec.bodies import BrokerData
from mqgateway.gateway.mqadmin.connection import Connections
from mqgateway.gateway.mqadmin.servers import Servers, reachable
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def _servers(cluster: Cluster, *name_servers: str, is_dry: bool = False) -> Servers:
    connections = Connections(MemoryTool(cluster).connect, ManualClock())
    return Servers(name_servers or (NAMESRV,), connections, 5.0, is_dry=is_dry)


def test_the_first_name_server_that_answers_is_believed() -> None:
    with Cluster() as cluster:
        servers = _servers(cluster, "10.0.0.1:1", NAMESRV)
        assert servers.masters("DefaultCluster") == servers.all_brokers("DefaultCluster") == [BROKER]
        assert servers.named("broker-a").broker_addrs == {0: BROKER}
        with pytest.raises(NoBroker, match="no cluster Other"):
            servers.masters("Other")
        with pytest.raises(NoBroker, match="broker-z"):
            servers.named("broker-z")
        with pytest.raises(NoBroker, match="No topic route info in name server for the topic: Nothing"):
            servers.route("Nothing")
        with pytest.raises(Unreachable):
            _servers(cluster, "10.0.0.1:1").clusters()


def test_missing_name_servers_are_reported() -> None:
    servers = Servers((), Connections(lambda *where: None, ManualClock()), 5.0)  # type: ignore[arg-type]
    for ask in (servers.clusters, lambda: servers.change_names(topics.delete("T"))):
        with pytest.raises(ClientError, match="NAMESRV_ADDR"):
            ask()


def test_a_dry_run_changes_nothing() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        servers = _servers(cluster, is_dry=True)
        assert servers.change(topics.delete("T"), BROKER) is None
        assert servers.withheld == [
            {"server": BROKER, "request": "DELETE_TOPIC_IN_BROKER", "fields": {"topic": "T"}}
        ]
        assert servers.ask(topics.config("T"), BROKER).topic_name == "T"


def test_a_failure_of_one_server_is_noted() -> None:
    with Cluster() as cluster:
        servers = _servers(cluster)
        with servers.part(BROKER):
            servers.ask(topics.config("Nothing"), BROKER)
        (error,) = servers.errors
        assert error["server"] == BROKER and error["code"] == 17
        assert isinstance(servers.failures[0], BrokerError)


def test_a_group_without_a_master_is_asked_at_a_slave() -> None:
    groups = [
        BrokerData("c", "b", {1: "slave", 2: "other"}),
        BrokerData("c", "a", {1: "x", 0: "master"}),
        BrokerData("c", "empty"),
    ]
    assert list(reachable(groups)) == [("a", "master"), ("b", "slave")]
