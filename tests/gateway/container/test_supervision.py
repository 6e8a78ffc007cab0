"""Supervision of brokers with a manual clock and without processes."""

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected
from mqgateway.gateway.container.supervision import Charge, ChildAction, ChildState, End, Supervision


def plan(name: str = "a", broker_id: int = 0) -> BrokerPlan:
    return BrokerPlan(BrokerIdentity("c", name, broker_id), f"/{name}.conf", 10911)


class World:
    """Supervision with the default waits: 1 s doubling to 60 s, 60 s to stop."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.options = ContainerOptions()
        self.all = Supervision(self.options, self.clock)

    def up(self, name: str = "a") -> Charge:
        charge = self.all.add(plan(name))
        self.all.launched(charge, 7)
        self.all.up(charge, "here:1")
        return charge

    def crash(self, charge: Charge) -> float:
        """Crash the broker, restart it when due, and return the seconds of the restart delay."""
        assert self.all.ended(charge, "killed by SIGKILL") is End.CRASHED
        wait = self.all.wait()
        assert wait is not None and charge.delay == pytest.approx(wait)
        self.clock.advance(round(wait * 1000) - 1)
        assert self.all.due() == []
        self.clock.advance(1)
        assert self.all.due() == [(charge, ChildAction.START)]
        assert self.all.due() == []
        self.all.launched(charge, 8)
        return wait


@pytest.fixture
def world() -> World:
    return World()


def test_a_broker_that_ends_by_itself_is_started_again_and_later_each_time(world: World) -> None:
    charge, waits = world.up(), []
    for _ in range(8):
        waits.append(world.crash(charge))
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert charge.starts == 9


def test_long_uptime_resets_the_restart_delay(world: World) -> None:
    charge = world.up()
    assert world.crash(charge) == 1
    world.all.up(charge, "here:1")
    world.clock.advance(59_000)
    assert world.crash(charge) == 2
    world.all.up(charge, "here:1")
    world.clock.advance(60_001)
    assert world.crash(charge) == 1


def test_time_of_a_start_does_not_count_as_uptime(world: World) -> None:
    charge = world.up()
    world.crash(charge)
    world.clock.advance(120_000)
    assert world.crash(charge) == 2


def test_a_broker_that_was_never_up_is_forgotten(world: World) -> None:
    charge = world.all.add(plan())
    world.all.launched(charge, 7)
    assert world.all.ended(charge, "exit code 2") is End.FAILED
    assert len(world.all) == 0
    world.all.add(plan())


def test_duplicate_broker_is_rejected_with_rocketmqs_text(world: World) -> None:
    charge = world.up()
    with pytest.raises(BrokerRejected, match=r"^c_a_0 has already been added to current broker container$"):
        world.all.add(plan())
    world.all.ended(charge, "exit code 1")
    with pytest.raises(BrokerRejected, match="already"):
        world.all.add(plan())
    world.all.add(plan("a", 1))


def test_broker_beyond_the_limit_is_rejected(world: World) -> None:
    world.options.max_brokers = 1
    world.up()
    with pytest.raises(BrokerRejected, match="maxBrokers"):
        world.all.add(plan("b"))


def test_removed_broker_is_given_time_to_stop(world: World) -> None:
    charge = world.up()
    assert world.all.remove(charge)
    assert charge.state is ChildState.STOPPING
    world.clock.advance(1000)
    assert world.all.remove(charge), "asked twice"
    assert world.all.wait() == pytest.approx(59)
    assert world.all.ended(charge, "exit code 0") is End.WANTED
    assert len(world.all) == 0 and world.all.wait() is None


def test_a_broker_that_does_not_stop_is_killed_once(world: World) -> None:
    charge = world.up()
    world.all.remove(charge)
    world.clock.advance(60_000)
    assert world.all.due() == [(charge, ChildAction.KILL)]
    world.clock.advance(60_000)
    assert world.all.due() == []
    assert world.all.ended(charge, "killed by SIGKILL") is End.WANTED


def test_broker_waiting_for_its_restart_is_removed_at_once(world: World) -> None:
    charge = world.up()
    world.all.ended(charge, "exit code 1")
    assert not world.all.remove(charge)
    assert len(world.all) == 0 and world.all.wait() is None


def test_stopping_broker_that_reports_up_stays_stopping(world: World) -> None:
    charge = world.all.add(plan())
    world.all.launched(charge, 7)
    world.all.remove(charge)
    world.all.up(charge, "here:1")
    assert charge.state is ChildState.STOPPING
    assert world.all.ended(charge, "exit code 0") is End.WANTED


def test_stopped_container_rejects_new_brokers(world: World) -> None:
    world.all.stop()
    with pytest.raises(BrokerRejected, match="stops"):
        world.all.add(plan())


def test_description_names_state_process_and_restarts(world: World) -> None:
    charge = world.up()
    assert charge.describe() == "up, process 7, here:1, restarts 0"
    world.all.ended(charge, "killed by SIGSEGV")
    assert charge.describe() == "waiting to be started again, restarts 0, last end: killed by SIGSEGV"
    world.all.launched(charge, 9)
    assert charge.describe() == "starting, process 9, restarts 1, last end: killed by SIGSEGV"


def test_several_brokers_are_due_in_their_own_time(world: World) -> None:
    first, second = world.up("a"), world.up("b")
    world.all.ended(first, "x")
    world.clock.advance(500)
    world.all.ended(second, "x")
    assert world.all.wait() == pytest.approx(0.5)
    world.clock.advance(500)
    assert world.all.due() == [(first, ChildAction.START)]
    world.clock.advance(500)
    assert world.all.due() == [(second, ChildAction.START)]


def test_restarted_broker_is_stopped_and_started_again_without_delay(world: World) -> None:
    charge = world.up()
    assert world.all.restart(charge)
    assert not world.all.restart(charge), "it stops already"
    assert charge.state is ChildState.RESTARTING
    assert world.all.ended(charge, "exit code 0") is End.RESTARTED
    assert world.all.due() == [(charge, ChildAction.START)]
    world.all.launched(charge, 8)
    world.all.up(charge, "here:1")
    assert (charge.failures, charge.state) == (0, ChildState.UP)


def test_broker_that_does_not_stop_for_its_restart_is_killed(world: World) -> None:
    charge = world.up()
    assert world.all.restart(charge)
    world.clock.advance(60_000)
    assert world.all.due() == [(charge, ChildAction.KILL)]
    assert world.all.ended(charge, "killed by SIGKILL") is End.RESTARTED


def test_broker_removed_during_its_restart_is_not_started_again(world: World) -> None:
    charge = world.up()
    assert world.all.restart(charge)
    assert world.all.remove(charge)
    assert world.all.ended(charge, "exit code 0") is End.WANTED
    assert len(world.all) == 0


def test_start_without_progress_is_killed(world: World) -> None:
    charge = world.all.add(plan())
    world.all.launched(charge, 7)
    world.clock.advance(299_999)
    world.all.progressed(charge, "recovering, 1% of the log read")
    world.clock.advance(299_999)
    assert world.all.due() == []
    assert charge.describe().startswith("starting, recovering, 1% of the log read, process 7")
    world.clock.advance(1)
    assert world.all.due() == [(charge, ChildAction.KILL)]
    assert world.all.ended(charge, "killed by SIGKILL") is End.FAILED


def test_started_broker_needs_no_progress(world: World) -> None:
    charge = world.up()
    world.all.progressed(charge, "too late")
    assert (world.all.wait(), charge.progress) == (None, "")


def test_hurry_shortens_the_time_to_stop(world: World) -> None:
    first, second = world.up("a"), world.up("b")
    world.all.remove(first)
    world.all.hurry(5)
    world.all.hurry(30)
    assert world.all.wait() == pytest.approx(5)
    assert second.due is None
