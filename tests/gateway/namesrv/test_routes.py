"""Rules by which brokers change the tables, one test per rule."""

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.steps import run
from mqgateway.engine.tables.topics import PERM_WRITE
from mqgateway.gateway.codec.bodies import QueueData
from mqgateway.gateway.namesrv.registration import Leaving, MinBrokerIdNotice, RegistrationRefused
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


def test_registration_sets_heartbeat_timeout(tables: RouteTables) -> None:
    tables.register(says(heartbeat_timeout=10_000), NOW)
    assert tables.live[key()].heartbeat_timeout == 10_000


def test_filter_servers_are_kept_if_omitted_and_removed_if_empty(
    tables: RouteTables,
) -> None:
    tables.register(says(filter_servers=["f"]), NOW)
    tables.register(says(filter_servers=None), NOW)
    assert tables.filter_servers == {key(): ["f"]}
    tables.register(says(filter_servers=[]), NOW)
    assert tables.filter_servers == {}


def test_topics_are_updated_when_data_version_changes(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T1", topic("T2", queues=16), data_version=version(2)), NOW)
    assert tables.topic_queues["T2"]["b1"].write_queue_nums == 16


def test_topics_are_not_updated_with_same_data_version(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T1", topic("T2", queues=16)), NOW)
    assert tables.topic_queues["T2"]["b1"].write_queue_nums == 8


def test_unknown_topic_is_added_with_same_data_version(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.delete_topic("T2")
    tables.register(says(), NOW)
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_single_changed_topic_of_known_broker_is_added(tables: RouteTables) -> None:
    """An incremental registration has only the changes; other topics are kept."""
    tables.register(says(), NOW)
    tables.register(says("T3", data_version=version(2)), NOW)
    assert set(tables.topic_queues) == {"T1", "T2", "T3"}


def test_single_topic_of_unknown_broker_is_refused(tables: RouteTables) -> None:
    with pytest.raises(RegistrationRefused, match="register broker failed"):
        tables.register(says("T1"), NOW)
    assert not tables.brokers and not tables.clusters and not tables.live and not tables.topic_queues


def test_unknown_broker_without_topics_is_registered(tables: RouteTables) -> None:
    said = says()
    said.topics = {}
    tables.register(said, NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}


def test_topics_missing_from_registration_are_kept_by_default(tables: RouteTables) -> None:
    tables.register(says("T1", "T2", "T3"), NOW)
    tables.register(says("T1", "T2", data_version=version(2)), NOW)
    assert "T3" in tables.topic_queues


def test_topics_missing_from_registration_are_removed_if_configured(
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


def test_topics_of_slave_are_ignored_with_master(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T8", "T9", broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_first_slave_registers_read_only_topics_without_master(
    tables: RouteTables,
) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert perm(tables) == 4
    tables.register(says("T8", "T9", broker_id=2, address=OTHER, enable_acting_master=True), NOW)
    assert "T8" not in tables.topic_queues


def test_old_slave_registers_no_topics(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert tables.topic_queues == {}
    assert tables.brokers["b1"].enable_acting_master is False


def test_slave_without_acting_master_registers_topics_unchanged(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=False), NOW)
    assert perm(tables) == 6


def test_slave_gets_address_of_master(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    registered = tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert (registered.master_address, registered.ha_address) == (MASTER, HA)


def test_master_gets_no_master_address(tables: RouteTables) -> None:
    registered = tables.register(says(), NOW)
    assert (registered.master_address, registered.ha_address) == (None, None)


def test_slave_without_live_master_gets_no_address(tables: RouteTables) -> None:
    registered = tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert registered.master_address is None


def test_slave_that_became_master_has_new_id_only(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.register(says(broker_id=0, address=SLAVE, data_version=version(2)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: SLAVE}
    assert perm(tables) == 6


def test_older_state_version_does_not_get_id(tables: RouteTables) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    registered = tables.register(says("T8", "T9", address=OTHER, data_version=version(9, state=6)), NOW)
    assert (registered.master_address, registered.notices) == (None, [])
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert key(OTHER) not in tables.live
    assert "T8" not in tables.topic_queues


def test_fenced_master_loses_slave_id_and_liveness(tables: RouteTables) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.register(says(broker_id=0, address=SLAVE, data_version=version(9, state=6)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert set(tables.live) == {key()}


@pytest.mark.parametrize("state", [7, 8])
def test_same_or_newer_state_version_gets_id(tables: RouteTables, state: int) -> None:
    tables.register(says(data_version=version(5, state=7)), NOW)
    tables.register(says(address=OTHER, data_version=version(1, state=state)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}


def test_zone_and_acting_master_are_those_of_last_registration(tables: RouteTables) -> None:
    tables.register(says(zone_name="z1", enable_acting_master=True), NOW)
    tables.register(says(zone_name="z2"), NOW)
    assert tables.brokers["b1"].zone_name == "z2"
    assert tables.brokers["b1"].enable_acting_master is False


def test_process_with_new_broker_name_leaves_its_old_group(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says("T3", "T4", name="b9"), NOW)
    assert set(tables.brokers) == {"b9"}
    assert tables.clusters == {"c1": {"b9"}}
    assert set(tables.topic_queues) == {"T3", "T4"}


def test_mappings_exist_as_long_as_their_topic(tables: RouteTables) -> None:
    said = says(mappings={"T1": mapping("b1", "T1"), "unknown": mapping("b1", "unknown")})
    tables.register(said, NOW)
    assert tables.mappings == {"T1": {"b1": mapping("b1", "T1")}}
    tables.delete_topic("T1")
    assert tables.mappings == {}


def test_mapping_of_other_broker_is_ignored(tables: RouteTables) -> None:
    tables.register(says(mappings={"T1": mapping("b2", "T1")}), NOW)
    assert tables.mappings == {}


# Smallest broker id


def test_new_minimum_id_is_notified_to_other_members(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    tables.register(says(broker_id=2, address=OTHER, enable_acting_master=True), NOW)
    registered = tables.register(says(enable_acting_master=True), NOW)
    assert registered.notices == [MinBrokerIdNotice((SLAVE, OTHER), "b1", 0, MASTER, None, HA)]


def test_first_registration_sends_no_notice(tables: RouteTables) -> None:
    assert tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW).notices == []


def test_larger_id_sends_no_notice(tables: RouteTables) -> None:
    tables.register(says(enable_acting_master=True), NOW)
    assert tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW).notices == []


def test_no_notices_unless_configured(tables: RouteTables, options: NamesrvOptions) -> None:
    options.notify_min_broker_id_changed = False
    tables.register(says(broker_id=1, address=SLAVE, enable_acting_master=True), NOW)
    assert tables.register(says(enable_acting_master=True), NOW).notices == []
    assert tables.leave(leaving(tables, MASTER)) == []


def test_loss_of_minimum_id_is_notified_to_all_members(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE, OTHER)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, MASTER)) == [
        MinBrokerIdNotice((SLAVE, OTHER), "b1", 1, SLAVE, MASTER, None)
    ]


def test_loss_of_other_id_sends_no_notice(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, SLAVE)) == []


def test_loss_is_notified_only_with_acting_masters(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address), NOW)
    assert tables.leave(leaving(tables, MASTER)) == []


# Leaving


def test_last_member_removes_group_and_topics(tables: RouteTables) -> None:
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


def test_leaving_slave_keeps_topics(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    tables.leave(leaving(tables, SLAVE))
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}
    assert perm(tables) == 6


def test_group_with_acting_master_becomes_read_only(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    tables.leave(leaving(tables, MASTER))
    assert perm(tables) == 4


def test_group_without_acting_master_keeps_permissions(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address), NOW)
    tables.leave(leaving(tables, MASTER))
    assert perm(tables) == 6


def test_several_brokers_leave_at_once(tables: RouteTables) -> None:
    for number, address in enumerate((MASTER, SLAVE)):
        tables.register(says(broker_id=number, address=address, enable_acting_master=True), NOW)
    assert tables.leave(leaving(tables, MASTER, SLAVE)) == []
    assert not tables.brokers and not tables.topic_queues


def test_leaving_unknown_broker_is_ignored(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    assert tables.leave([Leaving(key(OTHER), "b9", 0)]) == []
    assert set(tables.brokers) == {"b1"}


def test_broker_expires_at_its_timeout(tables: RouteTables) -> None:
    tables.register(says(heartbeat_timeout=10_000, peer="p"), NOW)
    tables.register(says(name="b2", address=OTHER), NOW)
    assert tables.expired(NOW + 10_000) == []
    assert tables.expired(NOW + 10_001) == [Leaving(key(), "b1", 0, "p")]


def test_heartbeat_keeps_broker(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.heard_of(key(), NOW + 100_000)
    assert tables.expired(NOW + 200_000) == []


def test_heartbeat_of_unknown_broker_is_ignored(tables: RouteTables) -> None:
    tables.heard_of(key(), NOW)
    assert tables.live == {}


def test_lost_connection_removes_all_its_brokers(tables: RouteTables) -> None:
    """The brokers of one container share a connection."""
    tables.register(says(peer="p"), NOW)
    tables.register(says(name="b2", address=OTHER, peer="p"), NOW)
    tables.register(says(name="b3", address=SLAVE, peer="q"), NOW)
    tables.leave(tables.on_connection("p"))
    assert set(tables.brokers) == {"b3"}


def test_reconnected_broker_survives_loss_of_old_connection(tables: RouteTables) -> None:
    tables.register(says(peer="old"), NOW)
    lost = tables.on_connection("old")
    tables.register(says(peer="new"), NOW)
    tables.leave(lost)
    assert set(tables.brokers) == {"b1"}


def test_displaced_address_expires_without_side_effects(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(address=OTHER, data_version=version(2)), NOW + 1)
    tables.leave(tables.expired(NOW + 120_001))
    assert set(tables.live) == {key(OTHER)}
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_duplicate_name_and_id_is_warned_once(tables: RouteTables, caplog: pytest.LogCaptureFixture) -> None:
    assert tables.register(says(), NOW).warning == ""
    assert tables.register(says(address=OTHER), NOW).warning == "", "the first one may be gone"
    warning = tables.register(says(), NOW).warning
    assert warning.startswith(f"two brokers are b1, id 0: {MASTER} and {OTHER}.")
    assert tables.register(says(address=OTHER), NOW).warning.startswith("two brokers are b1, id 0")
    tables.register(says(), NOW)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [warning]


def test_new_address_of_broker_is_not_rival(tables: RouteTables) -> None:
    for address, old in ((OTHER, MASTER), (MASTER, OTHER)):
        tables.register(says(address=old), NOW)
        assert tables.register(says(address=address), NOW).warning == ""
        tables.leave(leaving(tables, old))
    assert tables.register(says(), NOW).warning == ""


def test_promoted_slave_is_not_rival(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.register(says(broker_id=1, address=SLAVE), NOW)
    assert tables.register(says(address=SLAVE), NOW).warning == ""


# Data versions


def test_unknown_broker_counts_as_changed(tables: RouteTables) -> None:
    assert tables.is_changed(key(), version())
    assert tables.data_version(key()) is None


def test_data_version_is_changed_when_any_part_differs(tables: RouteTables) -> None:
    tables.register(says(data_version=version(3, state=1)), NOW)
    assert not tables.is_changed(key(), version(3, state=1))
    assert tables.is_changed(key(), version(4, state=1))
    assert tables.is_changed(key(), version(3, state=2))
    assert tables.is_changed(key(), None)


# Topics


def test_single_topic_is_registered_for_known_brokers(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.put_topic("T9", [queues("b1")])
    tables.put_topic("T9", [queues("b1", 6)])
    assert tables.topic_queues["T9"] == {"b1": queues("b1", 6)}


def test_single_topic_with_unknown_broker_is_ignored(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.put_topic("T9", [queues("b1"), queues("b9")])
    tables.put_topic("T8", [])
    assert set(tables.topic_queues) == {"T1", "T2"}


def test_single_topic_with_oversized_name_is_refused(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    with pytest.raises(RegistrationRefused, match="characters"):
        tables.put_topic("T" * 2000, [queues("b1")])


def test_topic_is_deleted_in_all_clusters_or_in_one(tables: RouteTables) -> None:
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


def test_wiped_permission_lasts_until_changed_registration(tables: RouteTables) -> None:
    tables.register(says(), NOW)
    tables.change_perms("b1", lambda p: p & ~PERM_WRITE)
    tables.register(says(), NOW)
    assert perm(tables) == 4
    tables.register(says(data_version=version(2)), NOW)
    assert perm(tables) == 6


# Very many topics, incrementally


def test_registration_in_steps_allows_others_in_between() -> None:
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


def test_topics_of_returning_broker_are_kept() -> None:
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
