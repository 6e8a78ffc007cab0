"""Queries of the tables: routes with acting masters, filter servers and zones; cached answers."""

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv import lookup
from mqgateway.gateway.namesrv.registration import Leaving
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import MASTER, NOW, OTHER, SLAVE, key, says, topic


@pytest.fixture
def options() -> NamesrvOptions:
    return NamesrvOptions(support_acting_master=True)


@pytest.fixture
def tables(options: NamesrvOptions) -> RouteTables:
    return RouteTables(options)


def addresses(tables: RouteTables, name: str = "T1") -> dict[int, str]:
    route = lookup.find_route(tables, name)
    assert route is not None
    return route.broker_datas[0].broker_addrs


def acting_group(tables: RouteTables, *topics: str) -> None:
    """Register two slaves without a master."""
    for number, address in ((0, MASTER), (1, SLAVE), (2, OTHER)):
        tables.register(says(*topics, broker_id=number, address=address, enable_acting_master=True), NOW)
    tables.leave([Leaving(key(), "b1", 0)])


def test_unknown_topic_has_no_route(tables: RouteTables) -> None:
    assert lookup.find_route(tables, "T1") is None


def test_route_shows_all_brokers_of_topic(tables: RouteTables) -> None:
    tables.register(says("T1", "T2"), NOW)
    tables.register(says("T1", "T3", name="b2", address=OTHER), NOW)
    route = lookup.find_route(tables, "T1")
    assert route is not None
    assert sorted(one.broker_name for one in route.broker_datas) == ["b1", "b2"]
    assert sorted(one.broker_name for one in route.queue_datas) == ["b1", "b2"]


def test_filter_servers_are_shown_by_address(tables: RouteTables) -> None:
    tables.register(says(filter_servers=["f1", "f2"]), NOW)
    tables.register(says(name="b2", address=OTHER), NOW)
    route = lookup.find_route(tables, "T1")
    assert route is not None
    assert route.filter_server_table == {MASTER: ["f1", "f2"]}


def test_smallest_id_acts_as_master_without_one(tables: RouteTables) -> None:
    acting_group(tables)
    assert addresses(tables) == {0: SLAVE, 2: OTHER}
    assert tables.brokers["b1"].broker_addrs == {1: SLAVE, 2: OTHER}


def test_no_acting_master_with_live_master(tables: RouteTables) -> None:
    for number, address in ((0, MASTER), (1, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert addresses(tables) == {0: MASTER, 1: SLAVE}


def test_no_acting_master_unless_configured(tables: RouteTables, options: NamesrvOptions) -> None:
    options.support_acting_master = False
    acting_group(tables)
    assert addresses(tables) == {1: SLAVE, 2: OTHER}


def test_no_acting_master_in_group_without_support(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=False), NOW)
    tables.change_perms("b1", lambda _: 4)
    assert addresses(tables) == {1: SLAVE}


def test_no_acting_master_while_queues_can_be_written(tables: RouteTables) -> None:
    acting_group(tables)
    tables.change_perms("b1", lambda _: 6)
    assert addresses(tables) == {1: SLAVE, 2: OTHER}


def test_member_topic_shows_group_as_it_is(tables: RouteTables) -> None:
    name = "rmq_sys_SYNC_BROKER_MEMBER_b1"
    acting_group(tables, name, "T2")
    assert addresses(tables, name) == {1: SLAVE, 2: OTHER}
    assert addresses(tables, "T2") == {0: SLAVE, 2: OTHER}


def test_encoded_route_is_cached_until_change(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    first = lookup.encoded_route(tables, "T1", quoted=True)
    assert first is lookup.encoded_route(tables, "T1", quoted=True)
    assert lookup.encoded_route(tables, "T1", quoted=False) != first
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    second = lookup.encoded_route(tables, "T1", quoted=True)
    assert second is not None
    assert SLAVE.encode() in second


def test_route_of_unknown_topic_is_not_cached(tables: RouteTables) -> None:
    assert lookup.encoded_route(tables, "T1", quoted=True) is None
    assert tables.encoded == {}


def test_zone_keeps_its_own_brokers_and_groups_without_master(tables: RouteTables) -> None:
    tables.register(says(zone_name="East", filter_servers=["f1"]), NOW)
    tables.register(says(name="b2", address=OTHER, zone_name="west", filter_servers=["f2"]), NOW)
    tables.register(
        says(name="b3", address=SLAVE, broker_id=1, zone_name="west", enable_acting_master=False), NOW
    )
    route = lookup.find_route(tables, "T1")
    assert route is not None
    near = lookup.keep_zone(route, "east")
    assert sorted(one.broker_name for one in near.broker_datas) == ["b1", "b3"]
    assert sorted(one.broker_name for one in near.queue_datas) == ["b1", "b3"]
    assert near.filter_server_table == {MASTER: ["f1"]}
    assert len(route.broker_datas) == 3


def test_broker_without_zone_matches_no_zone(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    route = lookup.find_route(tables, "T1")
    assert route is not None
    assert lookup.keep_zone(route, "east").broker_datas == []


def test_member_addresses_returns_copy(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    lookup.member_addresses(tables, "b1").clear()
    assert lookup.member_addresses(tables, "b1") == {0: MASTER}
    assert lookup.member_addresses(tables, "b9") == {}


def test_unit_flags() -> None:
    flags = range(4)
    assert [flag for flag in flags if lookup.is_unit(flag)] == [1, 3]
    assert [flag for flag in flags if lookup.has_unit_sub(flag)] == [2, 3]
    assert [flag for flag in flags if lookup.has_unit_sub_but_no_unit(flag)] == [2]


def test_topics_are_listed_by_cluster_and_by_flag(tables: RouteTables) -> None:
    tables.register(says(topic("U1", flag=1), "T1"), NOW)
    tables.register(says("T2", "T3", name="b2", cluster="c2", address=OTHER), NOW)
    assert sorted(lookup.all_topics(tables).topic_list) == ["T1", "T2", "T3", "U1"]
    assert sorted(lookup.topics_of_cluster(tables, "c2").topic_list) == ["T2", "T3"]
    assert sorted(lookup.topics_by_flag(tables, lookup.is_unit).topic_list) == ["U1"]
    assert sorted(lookup.system_topics(tables).topic_list) == ["b1", "b2", "c1", "c2"]
    assert lookup.system_topics(RouteTables(NamesrvOptions())).broker_addr is None
