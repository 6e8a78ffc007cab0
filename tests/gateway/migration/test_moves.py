"""Groups move and move back, from any moment at which a run ended; a refused run changes nothing."""

from contextlib import suppress
from typing import Any

import pytest

from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.migration import moves
from mqgateway.gateway.migration.handover import ProcessAction
from mqgateway.gateway.migration.plan import GroupPlan, MigrationError, MigrationPlan, Way
from tests.support.gateway.migration.clusters import NEW, OLD, FakeCluster, FakeWorld, group_plan


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld(FakeCluster())


def run(world: FakeWorld, group: GroupPlan | None = None, accepted: tuple[str, ...] = ()) -> None:
    group = group or group_plan()
    world.begin_again()
    moves.run(world, MigrationPlan(["n"], [group], 35.0), [group], world.progress, accepted)


def back(world: FakeWorld, group: GroupPlan | None = None) -> None:
    group = group or group_plan()
    world.begin_again()
    moves.roll_back(world, MigrationPlan(["n"], [group], 35.0), [group], world.progress)


def verified(world: FakeWorld) -> dict[str, Any]:
    return next(moves.verify(world.servers, [group_plan()], world.progress))


def test_a_group_moves_and_comes_back(world: FakeWorld) -> None:
    run(world)
    assert world.acts == [
        (ProcessAction.BEGIN_SLAVE, NEW),
        (ProcessAction.END, OLD),
        (ProcessAction.END, NEW),
        (ProcessAction.BEGIN_MASTER, NEW),
    ]
    assert world.cluster.members == {0: NEW}
    assert world.cluster.asked == [
        ("names", "WIPE_WRITE_PERM_OF_BROKER"),
        (OLD, "{'brokerRole': 'SYNC_MASTER', 'inSyncReplicas': '2'}"),
    ]
    found = verified(world)
    assert (found["moved"], found["wrong"], found["master"]) == (True, "", NEW)
    world.cluster.new.log[1] = 5000
    world.acts.clear()
    back(world)
    assert world.acts == [
        (ProcessAction.BEGIN_SLAVE, OLD),
        (ProcessAction.END, NEW),
        (ProcessAction.END, OLD),
        (ProcessAction.BEGIN_MASTER, OLD),
    ]
    assert world.cluster.members == {0: OLD}
    assert world.cluster.old.log[1] == 5000
    assert world.cluster.old.settings["brokerRole"] == "ASYNC_MASTER"
    found = verified(world)
    assert (found["moved"], found["wrong"], found["master"]) == (False, "", OLD)


def test_finished_run_is_not_repeated(world: FakeWorld) -> None:
    run(world)
    world.acts.clear()
    run(world)
    assert world.acts == []


@pytest.mark.parametrize("end_at", range(1, 60))
def test_interrupted_run_is_resumed(world: FakeWorld, end_at: int) -> None:
    """The interruption may come at any moment; the steps done by then can be rolled back as well."""

    def once(ended: FakeWorld) -> None:
        left, usual = end_at, (ended.wait, ended.act, ended.keep)

        def counted(call: Any) -> Any:
            def wrapper(*arguments: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
                call(*arguments)

            return wrapper

        ended.wait, ended.act, ended.keep = map(counted, usual)  # type: ignore[method-assign,assignment]
        with suppress(KeyboardInterrupt):
            run(ended)
        ended.wait, ended.act, ended.keep = usual  # type: ignore[method-assign]

    once(world)
    run(world)
    assert verified(world)["wrong"] == ""
    assert world.cluster.members == {0: NEW}
    undone = FakeWorld(FakeCluster())
    once(undone)
    back(undone)
    if undone.acts:
        assert undone.cluster.members[0] == OLD
        assert undone.cluster.old.settings["brokerRole"] == "ASYNC_MASTER"
        assert undone.cluster.perms == {"T": 6, "R": 4}


def test_the_master_is_not_stopped_before_the_slave_has_everything(world: FakeWorld) -> None:
    cluster = world.cluster

    def on_act(act: ProcessAction, address: str) -> None:
        if (act, address) == (ProcessAction.END, OLD):
            assert cluster.new.log[1] == cluster.old.log[1]
            assert cluster.new.offsets == cluster.old.offsets
            assert cluster.old.settings["inSyncReplicas"] == "2"

    world.on_act = on_act
    run(world)


def test_run_waits_while_the_slave_lags(world: FakeWorld) -> None:
    world.replicates = False
    world.cluster.old.log[1] = 100 << 20
    with pytest.raises(AssertionError, match="waits for ever: catch-up: waits: 104857600 bytes"):
        run(world)
    assert (ProcessAction.END, OLD) not in world.acts


def test_a_slave_that_has_not_the_whole_log_is_refused(world: FakeWorld) -> None:
    world.cluster.new.log = [500, 600]
    with pytest.raises(MigrationError, match="haCopyWholeLog"):
        run(world)


def test_run_without_drain_keeps_the_write_permission(world: FakeWorld) -> None:
    run(world, group_plan(drain=False))
    assert ("names", "WIPE_WRITE_PERM_OF_BROKER") not in world.cluster.asked
    assert world.now < 5


@pytest.mark.parametrize(
    ("setting", "code"),
    [("enableDLegerCommitLog", ""), ("authenticationEnabled", "accounts")],
)
def test_lossy_move_is_refused_before_any_change(world: FakeWorld, setting: str, code: str) -> None:
    world.cluster.old.settings[setting] = "true"
    with pytest.raises(MigrationError, match=f"accept {code}" if code else setting):
        run(world)
    assert world.acts == []
    assert world.cluster.asked == []


def test_a_slave_that_fell_behind_is_refused(world: FakeWorld) -> None:
    world.cluster.members[3] = "10.0.0.7:10911"
    world.cluster.in_sync = False
    with pytest.raises(MigrationError, match="do not keep up"):
        run(world)


def test_compaction_topics_move_in_place_only(world: FakeWorld) -> None:
    world.cluster.old.topics["T"] = TopicConfig("T", attributes={"cleanup.policy": "COMPACTION"})
    with pytest.raises(MigrationError, match="would be lost"):
        run(world)
    run(world, group_plan(Way.IN_PLACE))
    assert world.acts == [(ProcessAction.END, OLD), (ProcessAction.BEGIN_MASTER, OLD)]
    world.acts.clear()
    back(world, group_plan(Way.IN_PLACE))
    assert world.acts == [(ProcessAction.END, OLD), (ProcessAction.BEGIN_MASTER, OLD)]


def test_verify_reports_missing_data_and_a_missing_master(world: FakeWorld) -> None:
    run(world)
    world.cluster.new.log[1] = 10
    assert "log up to 10" in verified(world)["wrong"]
    world.cluster.new.log[1] = 1000
    world.cluster.new.topics.pop("T")
    assert verified(world)["wrong"] == "topics T are not the same (1)"
    world.cluster.members.clear()
    assert "has no master" in verified(world)["wrong"]


def test_group_missing_in_the_plan_is_refused() -> None:
    with pytest.raises(MigrationError, match="no group z"):
        moves.chosen(MigrationPlan(["n"], [group_plan()]), ["z"])
