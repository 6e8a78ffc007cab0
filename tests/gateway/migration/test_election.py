"""Migration by a controller's election: no master is stopped, and the rollback is another election."""

import pytest

from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.migration import moves
from mqgateway.gateway.migration.handover import ProcessAction
from mqgateway.gateway.migration.plan import GroupPlan, MigrationError, MigrationPlan, Way
from tests.support.gateway.migration.clusters import (
    IDLE,
    LEADER,
    NEW,
    OLD,
    FakeCluster,
    FakeWorld,
    group_plan,
)


@pytest.fixture
def world() -> FakeWorld:
    world = FakeWorld(FakeCluster())
    world.cluster.with_controllers()
    return world


GROUP = group_plan(Way.ELECT, drain=False)


def run(world: FakeWorld, group: GroupPlan = GROUP) -> None:
    world.begin_again()
    moves.run(world, MigrationPlan(["n"], [group], 35.0), [group], world.progress, ())


def back(world: FakeWorld) -> None:
    world.begin_again()
    moves.roll_back(world, MigrationPlan(["n"], [GROUP], 35.0), [GROUP], world.progress)


def test_group_moves_and_moves_back_by_election(world: FakeWorld) -> None:
    run(world)
    assert world.acts == [(ProcessAction.BEGIN_SLAVE, NEW)]
    assert world.cluster.asked == [
        (OLD, "{'allAckInSyncStateSet': 'true', 'minInSyncReplicas': '2'}"),
        (NEW, "elected"),
        (OLD, "{'allAckInSyncStateSet': 'false', 'minInSyncReplicas': '1'}"),
    ]
    assert world.cluster.members == {0: NEW, 1: OLD}
    back(world)
    assert world.acts == [(ProcessAction.BEGIN_SLAVE, NEW)]
    assert world.cluster.members == {0: OLD, 1: NEW}
    rows = list(moves.verify(world.servers, [GROUP], world.progress))
    assert [(row["moved"], row["wrong"]) for row in rows] == [(False, "")]


def test_slave_out_of_sync_is_not_elected(world: FakeWorld) -> None:
    world.replicates = False
    with pytest.raises(AssertionError, match=r"catch-up: waits: 10\.0\.0\.2:10911 is not in sync"):
        run(world)
    assert world.cluster.asked == []


def test_failed_election_can_be_rolled_back(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise BrokerError(2012, "no master elected", LEADER)

    monkeypatch.setattr(world.cluster, "_elect", refuse)
    with pytest.raises(BrokerError, match="no master elected"):
        run(world)
    assert world.cluster.old.settings["allAckInSyncStateSet"] == "true"
    back(world)
    assert world.cluster.old.settings["allAckInSyncStateSet"] == "false"
    assert world.cluster.members == {0: OLD}
    assert world.acts == [(ProcessAction.BEGIN_SLAVE, NEW), (ProcessAction.END, NEW)]


def test_run_without_a_controller_leader_fails(world: FakeWorld) -> None:
    world.cluster.brokers[LEADER].is_up = False
    with pytest.raises(MigrationError, match=f"no controller of {IDLE};{LEADER} leads"):
        run(world)
