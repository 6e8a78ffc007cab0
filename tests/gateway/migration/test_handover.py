"""Single steps of a handover: their conditions, their changes, and their undoing."""

import pytest

from mqgateway.gateway.migration.handover import HandOver, missing_at
from mqgateway.gateway.migration.plan import GroupPlan, MigrationError
from tests.support.gateway.migration.clusters import NEW, OLD, FakeCluster, FakeWorld, group_plan


def hand_over(world: FakeWorld, group: GroupPlan | None = None) -> HandOver:
    group = group or group_plan()
    return HandOver(world, group, group.old, group.new, world.progress.of("a", "forward"), 35.0)


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld(FakeCluster())


def test_producers_get_the_time_to_leave(world: FakeWorld) -> None:
    hand_over(world).run()
    waited = [line for line in world.said if line.startswith("drain: waits")]
    assert waited[0] == "drain: waits: producers look for routes, 35 s"
    assert world.now >= 35


def test_the_master_waits_for_all_of_its_slaves(world: FakeWorld) -> None:
    world.cluster.members[5] = "10.0.0.7:10911"
    world.cluster.brokers["10.0.0.7:10911"] = world.cluster.new
    hand_over(world).run()
    assert (OLD, "{'brokerRole': 'SYNC_MASTER', 'inSyncReplicas': '3'}") in world.cluster.asked


def test_a_master_that_waits_already_is_left_as_it_is(world: FakeWorld) -> None:
    world.cluster.old.settings |= {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
    hand_over(world).run()
    assert [where for where, _ in world.cluster.asked] == ["names"]


def test_resumed_run_checks_again_before_it_stops_the_master(world: FakeWorld) -> None:
    """The master may have been restarted meanwhile, with its original settings."""
    group = group_plan(drain=False)
    world.on_act = lambda act, address: (_ for _ in ()).throw(KeyboardInterrupt) if act == "end" else None
    with pytest.raises(KeyboardInterrupt):
        hand_over(world, group).run()
    world.cluster.old.settings |= {"brokerRole": "ASYNC_MASTER", "inSyncReplicas": "1"}
    world.cluster.old.log[1] = 7000
    world.on_act = lambda act, address: None
    world.begin_again()
    hand_over(world, group).run()
    assert world.cluster.old.settings["brokerRole"] == "SYNC_MASTER"
    assert world.progress.of("a", "forward").kept["end"] == 7000


def test_another_master_than_the_plans_is_refused(world: FakeWorld) -> None:
    world.cluster.members = {0: "10.0.0.77:10911"}
    with pytest.raises(MigrationError, match="make a new plan"):
        hand_over(world).run()
    world.cluster.members = {0: NEW}
    with pytest.raises(MigrationError, match="is the master of a already"):
        hand_over(world).run()


def test_slave_that_lost_messages_is_not_made_master(world: FakeWorld) -> None:
    world.on_act = lambda act, address: world.cluster.new.log.__setitem__(1, 5) if act == "end" else None
    world.replicates = True
    with pytest.raises(MigrationError, match=r"start 10\.0\.0\.1:10911 again"):
        hand_over(world).run()
    assert world.cluster.members == {1: NEW}


def test_undoing_gives_routes_and_settings_back(world: FakeWorld) -> None:
    move = hand_over(world)
    world.on_act = lambda act, address: (_ for _ in ()).throw(MigrationError("no")) if act == "end" else None
    with pytest.raises(MigrationError, match="no"):
        move.run()
    assert world.cluster.perms == {"T": 4, "R": 4}
    world.on_act = lambda act, address: None
    move.undo()
    assert world.cluster.perms == {"T": 6, "R": 4}
    assert world.cluster.old.settings["brokerRole"] == "ASYNC_MASTER"
    assert world.cluster.old.settings["inSyncReplicas"] == "1"
    assert world.cluster.members == {0: OLD}


def test_routes_without_write_permission_are_registered_again(world: FakeWorld) -> None:
    move = hand_over(world)
    usual = world.cluster._announce
    world.cluster._announce = lambda broker: None  # type: ignore[method-assign]

    def on_act(act: object, address: str) -> None:
        if address == NEW and act == "begin-master":
            world.cluster._announce = lambda broker: usual(broker) if world.now > 60 else None  # type: ignore[method-assign]

    world.on_act = on_act
    move.run()
    assert (NEW, "{'brokerPermission': '6'}") in world.cluster.asked
    assert world.cluster.perms == {"T": 6, "R": 4}


def test_missing_offsets_are_named(world: FakeWorld) -> None:
    hand_over(world).run()
    kept = world.progress.of("a", "forward").kept
    assert missing_at(world.servers, NEW, kept) == ""
    world.cluster.new.offsets = {}
    assert missing_at(world.servers, NEW, kept) == "offsets of T@G queue 0 are behind (1)"
