"""Requests one after another, and elections when a master is lost."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.controller.controller import WAITING_MAX, MasterChangeNotice, TooManyWaiting
from mqgateway.engine.controller.decisions import ControllerDecision, next_broker_id, replica_info
from mqgateway.engine.controller.events import ElectMaster
from mqgateway.engine.controller.liveness import ReplicaHeartbeat, ReplicaKey
from mqgateway.engine.controller.state import NotLeading
from tests.support.engine.controller.sets import Bench, a_set, address, key

BOTH = frozenset([1, 2])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def ask(bench: Bench, outcomes: list[Any], decide: Any = None) -> None:
    bench.controller.decide(decide or (lambda world: replica_info(world, "brk")), outcomes.append)


def masters(bench: Bench) -> list[int | None]:
    """Return the elected masters in order."""
    return [event.new_master_broker_id for event in bench.state.events if isinstance(event, ElectMaster)]


def test_a_decision_waits_for_what_those_before_change(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.holds = True
    bench.hear(2)
    outcomes: list[Any] = []
    bench.controller.elect("brk", None, False, outcomes.append)
    ask(bench, outcomes)
    assert outcomes == []
    bench.state.held.pop()()
    elected, asked = outcomes
    assert elected.answer.master == asked.answer.master == 2
    assert bench.notices == [MasterChangeNotice([address(2)], bench.state.sets["brk"])]


def test_controller_that_does_not_lead_decides_nothing(clock: ManualClock) -> None:
    bench = Bench(clock, a_set())
    bench.state.is_leader = False
    outcomes: list[Any] = []
    ask(bench, outcomes)
    assert isinstance(outcomes[0], NotLeading)
    assert str(outcomes[0]) == "The controller is not in leader state"


def test_waiting_decisions_fail_after_loss_of_leadership(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.holds = True
    bench.hear(2)
    outcomes: list[Any] = []
    bench.controller.elect("brk", None, False, outcomes.append)
    ask(bench, outcomes)
    bench.state.is_leader = False
    bench.state.held.pop()()
    assert isinstance(outcomes[0], ControllerDecision) and isinstance(outcomes[1], NotLeading)


def test_only_so_many_wait(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.holds = True
    bench.hear(2)
    outcomes: list[Any] = []
    bench.controller.elect("brk", None, False, outcomes.append)
    for _ in range(WAITING_MAX + 1):
        ask(bench, outcomes)
    (refused,) = outcomes
    assert isinstance(refused, TooManyWaiting)
    bench.state.held.pop()()
    assert len(outcomes) == WAITING_MAX + 2
    assert all(isinstance(one, ControllerDecision) for one in outcomes[1:])


def test_decision_that_fails_stops_no_other(clock: ManualClock) -> None:
    bench = Bench(clock, a_set())
    outcomes: list[Any] = []

    def broken(world: object) -> ControllerDecision[None]:
        raise ValueError("broken")

    ask(bench, outcomes, broken)
    ask(bench, outcomes, lambda world: next_broker_id(world, "brk"))
    assert isinstance(outcomes[0], ValueError) and outcomes[1].answer == 3


def test_failed_proposal_is_reported_without_notice(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.hear(2)
    bench.state.failures = [OSError("full")]
    outcomes: list[Any] = []
    bench.controller.elect("brk", 2, True, outcomes.append)
    assert isinstance(outcomes[0], OSError)
    assert not bench.notices
    bench.controller.elect("brk", 2, True, outcomes.append)
    assert outcomes[1].answer.master == 2


def test_a_master_whose_connection_ends_is_followed_at_once(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    first = bench.hear(1)
    bench.hear(2)
    bench.controller.connection_lost(first)
    assert masters(bench) == [2]
    assert bench.notices == [MasterChangeNotice([address(2)], bench.state.sets["brk"])]


def test_a_slave_whose_connection_ends_is_nobodys_loss(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.hear(1)
    bench.controller.connection_lost(bench.hear(2))
    assert not bench.state.events
    assert not bench.controller.is_alive(key(2))


def test_late_end_of_an_old_connection_elects_no_master(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    old = bench.hear(1, "old")
    bench.hear(1, "new")
    bench.hear(2)
    bench.controller.connection_lost(old)
    assert not bench.state.events


def test_another_clusters_broker_of_the_same_name_is_another(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.hear(2)

    bench.controller.hear(ReplicaKey("other", "brk", 1), ReplicaHeartbeat(), "its")
    bench.controller.connection_lost("its")
    assert not bench.state.events


def test_a_silent_master_is_followed_and_its_connection_given_up(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    first = bench.hear(1, timeout=2000)
    bench.hear(2)
    assert bench.controller.silence_ends_in() == 2000
    clock.advance(2000)
    assert bench.controller.drop_silent() == [] and bench.controller.silence_ends_in() == 0
    clock.advance(1)
    assert bench.controller.drop_silent() == [first]
    assert masters(bench) == [2]


def test_wall_clock_that_is_set_deposes_no_master(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.hear(1)
    bench.hear(2)
    clock.set_wall(clock.millis() + 86_400_000)
    assert bench.controller.drop_silent() == []
    bench.controller.elect_where_needed()
    assert not bench.state.events


def test_master_without_a_follower_is_gone_until_a_replica_in_sync_is_back(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    first = bench.hear(1)
    bench.controller.connection_lost(first)
    assert masters(bench) == [None]
    bench.controller.elect_where_needed()
    assert masters(bench) == [None]
    bench.hear(2)
    bench.controller.elect_where_needed()
    assert masters(bench) == [None, 2]


def test_a_new_leader_elects_where_the_old_one_could_not(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.is_leader = False
    first = bench.hear(1)
    bench.hear(2)
    bench.controller.connection_lost(first)
    bench.controller.elect_where_needed()
    assert not bench.state.events
    bench.state.is_leader = True
    bench.controller.elect_where_needed()
    assert masters(bench) == [2]


def test_new_leader_waits_for_silent_masters_timeout(clock: ManualClock) -> None:
    """In RocketMQ a slave that is heard from first becomes master."""
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.controller.start()
    bench.hear(2)
    bench.controller.elect_where_needed()
    clock.advance(9_000)
    bench.hear(2)
    bench.controller.elect_where_needed()
    assert bench.controller.drop_silent() == [] and not bench.state.events
    clock.advance(1_001)
    assert bench.controller.drop_silent() == []
    assert masters(bench) == [2]


def test_a_new_leader_waits_for_masters_that_the_old_one_may_have_heard_of(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.is_leader = False
    bench.controller.start()
    clock.advance(60_000)
    bench.hear(2)
    bench.state.is_leader = True
    bench.state.leads()
    bench.controller.elect_where_needed()
    assert not bench.state.events
    clock.advance(10_000)
    bench.hear(2)
    clock.advance(1)
    bench.controller.drop_silent()
    assert masters(bench) == [2]


def test_a_new_leader_elects_at_once_where_a_masters_connection_has_ended(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.state.is_leader = False
    bench.controller.start()
    bench.hear(2)
    bench.controller.connection_lost(bench.hear(1))
    bench.state.is_leader = True
    bench.state.leads()
    assert masters(bench) == [2]


def test_pause_of_controller_deposes_no_master(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.hear(1)
    bench.hear(2)
    clock.advance(60_000)
    bench.controller.was_stopped(59_000)
    assert bench.controller.drop_silent() == [] and not bench.state.events
    assert "paused for 59000 ms" in caplog.text
    clock.advance(9_001)
    assert len(bench.controller.drop_silent()) == 2


def test_a_master_that_is_heard_after_a_start_stays(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    bench.controller.start()
    clock.advance(5_000)
    bench.hear(1)
    bench.hear(2)
    clock.advance(6_000)
    assert bench.controller.drop_silent() == [] and not bench.state.events


def test_an_election_that_is_not_agreed_is_tried_again(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bench = Bench(clock, a_set(sync_state_set=BOTH), elect_master_max_retry_count=3)
    bench.state.failures = [OSError("full")] * 2
    first = bench.hear(1)
    bench.hear(2)
    bench.controller.connection_lost(first)
    assert masters(bench) == [2]
    assert 'term 7: {"brokerName":"brk","eventType":"ELECT_MASTER_EVENT"' in caplog.text
    bench.state.failures = [OSError("full")] * 3
    bench.controller.connection_lost("connection of 2")
    assert masters(bench) == [2]


def test_stopping_controller_deposes_no_master(clock: ManualClock) -> None:
    """It closes the connections itself."""
    bench = Bench(clock, a_set(sync_state_set=BOTH))
    first = bench.hear(1)
    bench.hear(2)
    bench.controller.stop()
    bench.controller.connection_lost(first)
    assert not bench.state.events


def test_notices_can_be_disabled(clock: ManualClock) -> None:
    bench = Bench(clock, a_set(sync_state_set=BOTH), notify_broker_role_changed=False)
    first = bench.hear(1)
    bench.hear(2)
    bench.controller.connection_lost(first)
    assert masters(bench) == [2] and not bench.notices
