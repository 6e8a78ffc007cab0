"""The rules by which brokers change the tables, one test a rule."""

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.steps import run
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.codec.bodies import QueueData
from mqgateway.gateway.namesrv.registration import Leaving, Notice, Refused
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import (
    HA,
    MASTER,
    NOW,
    OTHER,
    SLAVE,
    key,
    mapping,
    queues,
    says,
    topic,
    version,
)


@pytest.fixture
def options() -> NamesrvOptions:
    return NamesrvOptions(notify_min_broker_id_changed=True)


@pytest.fixture
def tables(options: NamesrvOptions) -> RouteTables:
    return RouteTables(options)


def leaving(tables: RouteTables, *addresses: str) -> list[Leaving]:
    found = []
    for address in addresses:
        live = tables.live[key(address)]
        group = tables.brokers[live.name].broker_addrs
        ids = {a: n for n, a in group.items()}
        found.append(Leaving(key(address), live.name, ids.get(address)))
    return found


def perm(tables: RouteTables, name: str = "T1", broker: str = "b1") -> int:
    return tables.topic_queues[name][broker].perm


# Registering


def test_first_registration_fills_all_tables(tables: RouteTables) -> None:
    tables.register(says("T1", "T2", filter_servers=["10.0.0.1:30000"], peer="p"), NOW)
    assert tables.clusters == {"c1": {"b1"}}
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert tables.brokers["b1"].cluster == "c1"
    assert set(tables.topic_queues) == {"T1", "T2"}
    assert tables.topic_queues["T1"]["b1"] == QueueData(
        broker_name="b1", read_queue_nums=8, write_queue_nums=8, perm=6, topic_sys_flag=0
    )
    assert tables.filter_servers == {key(): ["10.0.0.1:30000"]}
    live = tables.live[key()]
    assert (live.name, live.last_update, live.heartbeat_timeout) == ("b1", NOW, 120_000)
    assert (live.ha_address, live.peer, live.data_version) == (HA, "p", version())


def test_heartbeat_timeout_is_the_brokers_own_when_it_names_one(tables: RouteTables) -> None:
    tables.register(says(heartbeat_timeout=10_000), NOW)
    assert tables.live[key()].heartbeat_timeout == 10_000


def test_filter_servers_are_kept_when_none_are_told_and_dropped_when_the_list_is_empty(
    tables: RouteTables,
) -> None:
    tables.register(says(filter_servers=["f"]), NOW)
    tables.register(says(filter_servers=None), NOW)
    assert tables.filter_servers == {key(): ["f"]}
    tables.register(says(filter_servers=[]), NOW)
    assert tables.filter_servers == {}


def test_topics_are_taken_over_when_the_data_version_changed(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T1", topic("T2", queues=16), data_version=version(2)), NOW)
    assert tables.topic_queues["T2"]["b1"].write_queue_nums == 16


def test_topics_are_not_looked_at_while_the_data_version_is_the_same(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T1", topic("T2", queues=16)), NOW)
    assert tables.topic_queues["T2"]["b1"].write_queue_nums == 8


def test_a_topic_unknown_for_the_broker_is_taken_with_the_same_data_version(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.delete_topic("T2")
    tables.register(says(), NOW)
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_a_single_changed_topic_is_taken_from_a_known_broker(tables: RouteTables) -> None:
    """An incremental registration carries only what changed; the other topics stay."""
    tables.register(says(), NOW)
    tables.register(says("T3", data_version=version(2)), NOW)
    assert set(tables.topic_queues) == {"T1", "T2", "T3"}


def test_a_single_topic_from_an_unknown_broker_is_refused(tables: RouteTables) -> None:
    with pytest.raises(Refused, match="register broker failed"):
        tables.register(says("T1"), NOW)
    assert not tables.brokers and not tables.clusters and not tables.live and not tables.topic_queues


def test_no_topic_at_all_from_an_unknown_broker_is_taken(tables: RouteTables) -> None:
    said = says()
    said.topics = {}
    tables.register(said, NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}


def test_topics_missing_from_a_registration_are_kept_by_default(tables: RouteTables) -> None:
    tables.register(says("T1", "T2", "T3"), NOW)
    tables.register(says("T1", "T2", data_version=version(2)), NOW)
    assert "T3" in tables.topic_queues


def test_topics_missing_from_a_registration_go_when_configured(
    tables: RouteTables, options: NamesrvOptions
) -> None:
    options.delete_topic_with_broker_registration = True
    tables.register(says("T1", "T2", "T3"), NOW)
    tables.register(says("T3", "T4", name="b2", address=OTHER), NOW)
    tables.register(says("T1", "T2", data_version=version(2)), NOW)
    assert {name: set(by) for name, by in tables.topic_queues.items()} == {
        "T1": {"b1"},
        "T2": {"b1"},
        "T3": {"b2"},
        "T4": {"b2"},
    }


def test_missing_topics_are_kept_for_brokers_with_static_topics(
    tables: RouteTables, options: NamesrvOptions
) -> None:
    options.delete_topic_with_broker_registration = True
    tables.register(says("T1", "T2", "T3"), NOW)
    tables.register(says("T1", "T2", data_version=version(2), mappings={"T1": mapping("b1", "T1")}), NOW)
    assert "T3" in tables.topic_queues


def test_a_slaves_topics_are_not_taken_while_there_is_a_master(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T8", "T9", broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_the_first_slave_speaks_for_a_group_without_master_and_its_topics_are_read_only(
    tables: RouteTables,
) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert perm(tables) == 4
    tables.register(says("T8", "T9", broker_id=2, address=OTHER, enable_acting_master=True), NOW)
    assert "T8" not in tables.topic_queues


def test_a_slave_too_old_to_know_acting_masters_brings_no_topics(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert tables.topic_queues == {}
    assert tables.brokers["b1"].enable_acting_master is False


def test_a_slave_that_may_not_act_brings_its_topics_as_they_are(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=False), NOW)
    assert perm(tables) == 6


def test_a_slave_is_told_where_its_master_is(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    registered = tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert (registered.master_address, registered.ha_address) == (MASTER, HA)


def test_a_master_is_not_told_where_the_master_is(tables: RouteTables) -> None:
    registered = tables.register(says(), NOW)
    assert (registered.master_address, registered.ha_address) == (None, None)


def test_a_slave_without_a_live_master_is_told_nothing(tables: RouteTables) -> None:
    registered = tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert registered.master_address is None


def test_a_slave_that_turned_master_stands_under_its_new_id_only(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.register(says(broker_id=0, address=SLAVE, data_version=version(2)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: SLAVE}
    assert perm(tables) == 6


def test_an_address_with_an_older_state_version_does_not_take_an_id_over(tables: RouteTables) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    registered = tables.register(says("T8", "T9", address=OTHER, data_version=version(9, state=6)), NOW)
    assert (registered.master_address, registered.notices) == (None, [])
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert key(OTHER) not in tables.live
    assert "T8" not in tables.topic_queues


def test_a_fenced_master_loses_its_slave_id_and_its_place_among_the_living(tables: RouteTables) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.register(says(broker_id=0, address=SLAVE, data_version=version(9, state=6)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert set(tables.live) == {key()}


@pytest.mark.parametrize("state", [7, 8])
def test_an_address_with_the_same_or_a_newer_state_version_takes_the_id(
    tables: RouteTables, state: int
) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    tables.register(says(address=OTHER, data_version=version(1, state=state)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}


def test_zone_and_acting_master_are_those_of_the_last_registration(tables: RouteTables) -> None:
    tables.register(says(zone_name="z1", enable_acting_master=True), NOW)
    tables.register(says(zone_name="z2"), NOW)
    assert tables.brokers["b1"].zone_name == "z2"
    assert tables.brokers["b1"].enable_acting_master is False


def test_a_process_with_a_new_broker_name_leaves_its_old_group(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T3", "T4", name="b9"), NOW)
    assert set(tables.brokers) == {"b9"}
    assert tables.clusters == {"c1": {"b9"}}
    assert set(tables.topic_queues) == {"T3", "T4"}


def test_mappings_of_static_topics_live_as_long_as_their_topic(tables: RouteTables) -> None:
    said = says(mappings={"T1": mapping("b1", "T1"), "unknown": mapping("b1", "unknown")})
    tables.register(said, NOW)
    assert tables.mappings == {"T1": {"b1": mapping("b1", "T1")}}
    tables.delete_topic("T1")
    assert tables.mappings == {}


def test_a_mapping_in_another_brokers_name_is_not_taken(tables: RouteTables) -> None:
    tables.register(says(mappings={"T1": mapping("b2", "T1")}), NOW)
    assert tables.mappings == {}


# Smallest broker id


def test_a_smaller_id_is_told_to_the_others_of_the_group(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    tables.register(says(broker_id=2, address=OTHER, enable_acting_master=True), NOW)
    registered = tables.register(says(enable_acting_master=True), NOW)
    assert registered.notices == [Notice((SLAVE, OTHER), "b1", 0, MASTER, None, HA)]


def test_a_first_registration_tells_nobody(tables: RouteTables) -> None:
    assert tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW).notices == []


def test_a_larger_id_tells_nobody(tables: RouteTables) -> None:
    tables.register(says(enable_acting_master=True), NOW)
    assert tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW).notices == []


def test_nobody_is_told_unless_configured(tables: RouteTables, options: NamesrvOptions) -> None:
    options.notify_min_broker_id_changed = False
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert tables.register(says(enable_acting_master=True), NOW).notices == []
    assert tables.leave(leaving(tables, MASTER)) == []


def test_the_loss_of_the_smallest_id_is_told_to_all_that_remain(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE, OTHER)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, MASTER)) == [Notice((SLAVE, OTHER), "b1", 1, SLAVE, MASTER, None)]


def test_the_loss_of_another_id_is_told_to_nobody(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, SLAVE)) == []


def test_a_loss_is_told_only_in_groups_with_acting_masters(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address), NOW)
    assert tables.leave(leaving(tables, MASTER)) == []


# Leaving


def test_the_last_of_a_group_takes_everything_with_it(tables: RouteTables) -> None:
    tables.register(says(filter_servers=["f"]), NOW)
    tables.leave(leaving(tables, MASTER))
    assert not tables.brokers and not tables.clusters and not tables.live
    assert not tables.topic_queues and not tables.filter_servers


def test_topics_of_other_groups_stay(tables: RouteTables) -> None:
    tables.register(says("T1", "T2"), NOW)
    tables.register(says("T2", "T3", name="b2", address=OTHER), NOW)
    tables.leave(leaving(tables, MASTER))
    assert {name: set(by) for name, by in tables.topic_queues.items()} == {"T2": {"b2"}, "T3": {"b2"}}
    assert tables.clusters == {"c1": {"b2"}}


def test_a_slaves_going_leaves_the_groups_topics(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.leave(leaving(tables, SLAVE))
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert perm(tables) == 6


def test_without_master_a_group_with_acting_masters_turns_read_only(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    tables.leave(leaving(tables, MASTER))
    assert perm(tables) == 4


def test_without_master_an_ordinary_group_keeps_its_permissions(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address), NOW)
    tables.leave(leaving(tables, MASTER))
    assert perm(tables) == 6


def test_several_may_go_at_once(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, MASTER, SLAVE)) == []
    assert not tables.brokers and not tables.topic_queues


def test_an_unknown_broker_may_go(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    assert tables.leave([Leaving(key(OTHER), "b9", 0)]) == []
    assert set(tables.brokers) == {"b1"}


def test_a_broker_is_expired_when_its_time_is_over_and_not_before(tables: RouteTables) -> None:
    tables.register(says(heartbeat_timeout=10_000, peer="p"), NOW)
    tables.register(says(name="b2", address=OTHER), NOW)
    assert tables.expired(NOW + 10_000) == []
    assert tables.expired(NOW + 10_001) == [Leaving(key(), "b1", 0, "p")]


def test_a_heartbeat_keeps_a_broker(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.heard_of(key(), NOW + 100_000)
    assert tables.expired(NOW + 200_000) == []


def test_a_heartbeat_of_an_unknown_broker_leaves_no_trace(tables: RouteTables) -> None:
    tables.heard_of(key(), NOW)
    assert tables.live == {}


def test_all_brokers_of_a_lost_connection_go(tables: RouteTables) -> None:
    """The brokers of one container share a connection."""
    tables.register(says(peer="p"), NOW)
    tables.register(says(name="b2", address=OTHER, peer="p"), NOW)
    tables.register(says(name="b3", address=SLAVE, peer="q"), NOW)
    tables.leave(tables.on_connection("p"))
    assert set(tables.brokers) == {"b3"}


def test_a_broker_that_came_back_on_another_connection_does_not_go_with_the_old(tables: RouteTables) -> None:
    tables.register(says(peer="old"), NOW)
    lost = tables.on_connection("old")
    tables.register(says(peer="new"), NOW)
    tables.leave(lost)
    assert set(tables.brokers) == {"b1"}


def test_an_address_that_lost_its_id_to_another_is_forgotten_without_harm(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(address=OTHER, data_version=version(2)), NOW + 1)
    tables.leave(tables.expired(NOW + 120_001))
    assert set(tables.live) == {key(OTHER)}
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_two_brokers_of_one_name_and_id_are_warned_of_once(
    tables: RouteTables, caplog: pytest.LogCaptureFixture
) -> None:
    assert tables.register(says(), NOW).warning == ""
    assert tables.register(says(address=OTHER), NOW).warning == "", "the first one may be gone"
    warning = tables.register(says(), NOW).warning
    assert warning.startswith(f"two brokers are b1, id 0: {MASTER} and {OTHER}.")
    assert tables.register(says(address=OTHER), NOW).warning.startswith("two brokers are b1, id 0")
    tables.register(says(), NOW)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [warning]


def test_broker_at_a_new_address_is_no_rival_of_its_old_one(tables: RouteTables) -> None:
    for address, old in ((OTHER, MASTER), (MASTER, OTHER)):
        tables.register(says(address=old), NOW)
        assert tables.register(says(address=address), NOW).warning == ""
        tables.leave(leaving(tables, old))
    assert tables.register(says(), NOW).warning == ""


def test_slave_that_becomes_master_is_no_rival_of_the_old_master(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert tables.register(says(address=SLAVE), NOW).warning == ""


# Data versions


def test_an_unknown_broker_counts_as_changed(tables: RouteTables) -> None:
    assert tables.is_changed(key(), version())
    assert tables.data_version(key()) is None


def test_a_data_version_is_changed_when_any_part_differs(tables: RouteTables) -> None:
    tables.register(says(data_version=version(3, state=1)), NOW)
    assert not tables.is_changed(key(), version(3, state=1))
    assert tables.is_changed(key(), version(4, state=1))
    assert tables.is_changed(key(), version(3, state=2))
    assert tables.is_changed(key(), None)


# Topics


def test_a_single_topic_is_registered_for_known_brokers(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.put_topic("T9", [queues("b1")])
    tables.put_topic("T9", [queues("b1", 6)])
    assert tables.topic_queues["T9"] == {"b1": queues("b1", 6)}


def test_a_single_topic_with_an_unknown_broker_is_not_taken_at_all(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.put_topic("T9", [queues("b1"), queues("b9")])
    tables.put_topic("T8", [])
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_a_single_topic_has_a_name_of_sane_length(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    with pytest.raises(Refused, match="characters"):
        tables.put_topic("T" * 2000, [queues("b1")])


def test_a_topic_is_deleted_in_all_clusters_or_in_one(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(name="b2", cluster="c2", address=OTHER), NOW)
    tables.delete_topic("T1")
    tables.delete_topic("T2", "c2")
    tables.delete_topic("T2", "no such cluster")
    tables.delete_topic("no such topic")
    assert {name: set(by) for name, by in tables.topic_queues.items()} == {"T2": {"b1"}}


def test_write_permission_is_changed_for_all_topics_of_one_broker(tables: RouteTables) -> None:
    tables.register(says(topic("T1", perm=7), "T2"), NOW)
    tables.register(says("T1", "T3", name="b2", address=OTHER), NOW)
    assert tables.change_perms("b1", lambda p: p & ~PERM_WRITE) == 2
    assert (perm(tables, "T1"), perm(tables, "T2")) == (5, 4)
    assert perm(tables, "T1", "b2") == 6
    assert tables.change_perms("b9", lambda p: 0) == 0


def test_a_wiped_permission_stays_until_the_broker_registers_a_change(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.change_perms("b1", lambda p: p & ~PERM_WRITE)
    tables.register(says(), NOW)
    assert perm(tables) == 4
    tables.register(says(data_version=version(2)), NOW)
    assert perm(tables) == 6


# Very many topics, in steps


def test_a_broker_is_known_once_all_its_topics_are_and_others_come_in_between() -> None:
    tables = RouteTables(NamesrvOptions())
    names = [f"T{number}" for number in range(1000)]
    steps = tables.register_in_steps(says(*names), NOW)
    for _ in range(5):
        next(steps)
    assert 0 < len(tables.topic_queues) < 1000
    assert "b1" not in tables.brokers
    tables.register(says("T1", "T2000", name="b2", address=OTHER), NOW)
    run(steps)
    assert tables.brokers.keys() == {"b1", "b2"}
    assert tables.topic_queues["T1"].keys() == {"b1", "b2"}
    assert len(tables.topic_queues) == 1001


def test_topics_of_a_broker_that_is_back_stay() -> None:
    tables = RouteTables(NamesrvOptions())
    names = [f"T{number}" for number in range(1000)]
    tables.register(says(*names), NOW)
    cleaning = tables.leave_in_steps([Leaving(key(), "b1", 0)])
    next(cleaning)
    next(cleaning)
    assert "b1" not in tables.brokers
    arriving = tables.register_in_steps(says(*names), NOW)
    for _ in range(3):
        next(arriving)
    next(cleaning)
    run(arriving)
    run(cleaning)
    assert len(tables.topic_queues) == 1000
    assert tables.brokers.keys() == {"b1"}
