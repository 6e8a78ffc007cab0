"""Questions to name servers."""

from __future__ import annotations

from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.codec.bodies import QueueData
from tests.support.gateway.client.administering import office


def test_routes_and_brokers() -> None:
    with office() as here:
        route = here.ask_names(names.route("T"))
        assert route.queue_datas[0].write_queue_nums == 4 and route.broker_datas[0].broker_name == "broker-a"
        assert here.ask_names(names.route("Unknown")) is None
        info = here.ask_names(names.cluster_info())
        assert info.cluster_addr_table == {"DefaultCluster": {"broker-a"}}
        group = here.ask_names(names.member_group("DefaultCluster", "broker-a"))
        assert group.broker_addrs == {0: "10.0.0.1:10911"}


def test_writing_is_forbidden_and_allowed() -> None:
    with office() as here:
        count = here.ask_names(names.forbid_writing("broker-a"))
        assert count > 1 and here.ask_names(names.route("T")).queue_datas[0].perm == 4
        assert here.ask_names(names.allow_writing("broker-a")) == count
        assert here.ask_names(names.route("T")).queue_datas[0].perm == 6


def test_lists_of_topics() -> None:
    with office() as here:
        assert "T" in here.ask_names(names.all_topics())
        assert "T" in here.ask_names(names.topics_of_cluster("DefaultCluster"))
        assert "broker-a" in here.ask_names(names.system_topics())
        for question in (
            names.unit_topics(),
            names.topics_with_unit_readers(),
            names.plain_topics_with_unit_readers(),
        ):
            assert here.ask_names(question) == set()


def test_topics_are_registered_and_forgotten() -> None:
    with office() as here:
        here.ask_names(names.register_topic("Told", [QueueData("broker-a", 2, 2, 6)]))
        assert here.ask_names(names.route("Told")).queue_datas[0].read_queue_nums == 2
        here.ask_names(names.forget_topic("Told"))
        assert here.ask_names(names.route("Told")) is None


def test_key_value_pairs() -> None:
    with office() as here:
        assert here.ask_names(names.value("space", "key")) is None
        assert here.ask_names(names.values("space")) == {}
        here.ask_names(names.put_value("space", "key", "grün"))
        assert here.ask_names(names.values("space")) == {"key": "grün"}
        here.ask_names(names.delete_value("space", "key"))
        assert here.ask_names(names.value("space", "key")) is None


def test_settings_are_read_and_changed() -> None:
    with office() as here:
        before = here.ask_names(names.settings())
        assert before["deleteTopicWithBrokerRegistration"] == "false"
        here.ask_names(names.update_settings({"deleteTopicWithBrokerRegistration": "true"}))
        assert here.ask_names(names.settings())["deleteTopicWithBrokerRegistration"] == "true"
