"""Administration: who is asked, and what administrators mostly do."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.client import admin_broker, admin_groups, admin_names, admin_topics
from mqgateway.gateway.client.admin import Admin
from mqgateway.gateway.client.errors import BadArgument, BrokerError, NoBroker, NotRunning, Unreachable
from tests.fuzz.world import BROKER_PORT
from tests.gateway.client.test_push import Inbox, begin
from tests.support.gateway.client.administering import office
from tests.support.gateway.client.cluster import NAMESRV, Cluster, queue_of, requests_seen

OTHER_PORT = 10921


def test_a_broker_is_asked_by_name_or_address() -> None:
    with office() as here:
        by_name = here.ask(admin_topics.stats("T"))
        by_address = here.ask(admin_topics.stats("T"), f"10.0.0.1:{BROKER_PORT}")
        assert by_name == by_address and len(by_name.offset_table) == 4
        with pytest.raises(NoBroker):
            here.ask(admin_topics.stats("T"), "nobody")
        with pytest.raises(Unreachable):
            here.ask(admin_topics.stats("T"), "10.0.0.1:1")
        with pytest.raises(BrokerError) as refused:
            here.ask(admin_topics.stats("Unknown"))
        assert refused.value.code == 17


def test_all_brokers_are_asked_or_those_of_a_cluster() -> None:
    with office() as here:
        here.cluster.add_broker("broker-b", OTHER_PORT, broker_cluster_name="Other")
        here.cluster.settle(1.0)
        cluster, admin = here.cluster, here.admin
        everywhere = cluster.run(admin.ask_brokers(admin_broker.settings()))
        assert {name: broker["brokerName"] for name, broker in everywhere.items()} == {
            "broker-a": "broker-a",
            "broker-b": "broker-b",
        }
        assert set(cluster.run(admin.ask_brokers(admin_broker.figures(), cluster="Other"))) == {"broker-b"}
        assert set(cluster.run(admin.brokers("DefaultCluster"))) == {"broker-a"}
        with pytest.raises(NoBroker):
            cluster.run(admin.brokers("Nowhere"))


def test_all_name_servers_are_asked() -> None:
    with office() as here:
        put = admin_names.put_value("space", "key", "value")
        assert here.cluster.run(here.admin.ask_name_servers(put)) == {NAMESRV: None}
        assert here.ask_names(admin_names.value("space", "key")) == "value"


def test_topics_are_made_and_deleted_everywhere() -> None:
    with office() as here:
        other = here.cluster.add_broker("broker-b", OTHER_PORT)
        here.cluster.settle(1.0)
        cluster, admin = here.cluster, here.admin
        config = TopicConfig("New", 2, 2, attributes={"message.type": "FIFO"})
        cluster.run(admin.create_topic(config))
        cluster.settle(1.0)
        assert cluster.run(admin.queues("New")) == [
            queue_of("New", number, broker) for broker in ("broker-a", "broker-b") for number in (0, 1)
        ]
        assert other.broker.tables.topics.get("New") == config
        cluster.run(admin.delete_topic("New"))
        assert other.broker.tables.topics.get("New") is None
        with pytest.raises(NoBroker):
            cluster.run(admin.queues("New"))
        cluster.run(admin.create_topic(TopicConfig("One", 1, 1), brokers=["broker-b"]))
        assert "One" in other.broker.tables.topics and "One" not in cluster.broker.tables.topics


def test_groups_are_made_and_deleted_everywhere() -> None:
    with office() as here:
        groups = here.cluster.broker.tables.groups
        here.cluster.run(here.admin.create_group(SubscriptionGroupConfig("G", retry_max_times=3)))
        config = groups.get("G")
        assert config is not None and config.retry_max_times == 3
        here.cluster.run(here.admin.delete_group("G", with_offsets=True))
        assert groups.get("G") is None


def test_offsets_are_reset_in_all_queues() -> None:
    with office() as here:
        cluster, inbox = here.cluster, Inbox()
        here.send(8)
        begin(cluster, inbox)
        cluster.wait_for(lambda: len(inbox.got) == 8)
        cluster.settle(15.0)
        found = cluster.run(here.admin.reset_offsets("G", "T", admin_groups.EARLIEST))
        assert set(found.values()) == {0} and len(found) == 4
        cluster.wait_for(lambda: len(inbox.got) == 16)
        with pytest.raises(NoBroker):
            cluster.run(here.admin.reset_offsets("G", "Unknown", admin_groups.LATEST))


def test_names_have_the_namespace() -> None:
    with Cluster() as cluster:
        admin = Admin(cluster.around, **cluster.settings({"namespace": "ns"}))
        cluster.begin(admin)
        config = TopicConfig("T", 1, 1)
        cluster.run(admin.create_topic(config))
        assert config.topic_name == "T" and "ns%T" in cluster.broker.tables.topics


def test_questions_go_to_the_port_without_pulls_if_that_is_wanted() -> None:
    with Cluster() as cluster:
        admin = Admin(cluster.around, **cluster.settings({"vip_channel_enabled": True}))
        cluster.begin(admin)
        seen = requests_seen(cluster)
        assert cluster.run(admin.ask(admin_broker.figures(), "broker-a"))
        assert seen == []


def test_nothing_is_asked_before_the_start_or_after_the_end() -> None:
    with Cluster() as cluster:
        admin = Admin(cluster.around, **cluster.settings({}))
        with pytest.raises(NotRunning):
            cluster.run(admin.brokers())
        cluster.run(admin.start())
        cluster.run(admin.close())
        with pytest.raises(NotRunning):
            cluster.run(admin.ask(admin_broker.figures(), "broker-a"))
        with pytest.raises(BadArgument):
            Admin(cluster.around, nonsense=1)
