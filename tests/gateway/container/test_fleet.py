"""Restarts of brokers one after the other, with fake children; `test_container` has starts and ends."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options.container import SupervisionOptions
from mqgateway.gateway.container.children import Message
from mqgateway.gateway.container.fleet import Fleet
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan, BrokerRejected
from mqgateway.gateway.container.supervision import ChildState
from tests.support.gateway.container.fakes import FakeChild, FakeLaunch

NAMES = ("a", "b", "c")


class World:
    """Three brokers that are up."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.launch = FakeLaunch()
        self.messages: list[tuple[str, Message]] = []
        self.pauses: list[tuple[float, Deferred[None]]] = []
        self.fleet = Fleet(
            SupervisionOptions(),
            clock=self.clock,
            launch=self.launch,
            first=lambda plan: {"name": plan.identity.name},
            when_due_changes=lambda: None,
            on_message=lambda plan, message: self.messages.append((plan.identity.name, message)),
        )
        for name in NAMES:
            results(self.fleet.add(plan(name)))
            self.newest.say({"up": f"{name}:1"})

    @property
    def newest(self) -> FakeChild:
        """The child that was started last."""
        return self.launch.children[-1]

    def roll(self, seconds: float = 0) -> list[Any]:
        return results(Deferred.fromCoroutine(self.fleet.restart_each(seconds, self._pause)))

    def _pause(self, seconds: float) -> Deferred[None]:
        self.pauses.append((seconds, Deferred()))
        return self.pauses[-1][1]

    def end_pause(self) -> float:
        """End the pause that is in progress; return its length in seconds."""
        seconds, pause = self.pauses.pop()
        self.clock.advance(round(seconds * 1000))
        pause.callback(None)
        return seconds

    def names(self) -> list[str]:
        """Return the names of the brokers in the order in which their processes were started."""
        return [child.sent[0]["name"] for child in self.launch.children]


def plan(name: str) -> BrokerPlan:
    return BrokerPlan(BrokerIdentity("c", name, 0), f"/{name}", 10911)


def results(outcome: Deferred[Any]) -> list[Any]:
    """Return a list that receives the result of a Deferred, or the exception of its failure."""
    found: list[Any] = []
    outcome.addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found


@pytest.fixture
def world() -> World:
    return World()


def test_brokers_are_restarted_one_after_the_other(world: World) -> None:
    rolled = world.roll()
    for number, name in enumerate(NAMES):
        assert [child.stops for child in world.launch.children[:3]] == [1] * (number + 1) + [0] * (2 - number)
        world.launch.children[number].end("exit code 0")
        world.fleet.tick()
        assert world.names()[3:] == list(NAMES[: number + 1])
        assert rolled == []
        world.newest.say({"up": f"{name}:1"})
    assert rolled == [None]
    assert {charge.state for charge in world.fleet.supervision} == {ChildState.UP}


def test_next_broker_is_restarted_when_all_have_been_up_for_a_while(world: World) -> None:
    world.clock.advance(10_000)
    rolled = world.roll(40)
    assert world.end_pause() == 30, "the last start of a broker counts"
    world.launch.children[0].end("exit code 0")
    world.fleet.tick()
    assert not world.pauses
    world.newest.say({"up": "a:1"})
    assert [child.stops for child in world.launch.children] == [1, 0, 0, 0]
    assert world.end_pause() == 40
    assert [child.stops for child in world.launch.children] == [1, 1, 0, 0]
    assert rolled == []


def test_broker_that_ends_during_the_pause_ends_the_rolling_restart(world: World) -> None:
    rolled = world.roll(40)
    world.launch.children[2].end("killed by SIGKILL")
    world.end_pause()
    assert str(rolled[0]) == "c_c_0 is not up"
    assert [child.stops for child in world.launch.children] == [0, 0, 0]


def test_broker_that_does_not_come_up_again_ends_the_rolling_restart(world: World) -> None:
    rolled = world.roll()
    world.launch.children[0].end("exit code 0")
    world.fleet.tick()
    world.newest.say({"failed": "port 10911 is in use"})
    world.newest.end("exit code 1")
    (error,) = rolled
    assert isinstance(error, BrokerRejected)
    assert "c_a_0 is not up after its restart: exit code 1, port 10911 is in use" in str(error)
    assert [child.stops for child in world.launch.children[:3]] == [1, 0, 0]
    world.clock.advance(1000)
    world.fleet.tick()
    world.newest.say({"up": "a:1"})
    assert world.names() == ["a", "b", "c", "a", "a"], "the broker itself is supervised as before"


def test_rolling_restart_needs_brokers_that_are_up(world: World) -> None:
    world.launch.children[0].end("killed by SIGKILL")
    (error,) = world.roll()
    assert str(error) == "c_a_0 is not up"


def test_stop_during_a_rolling_restart_ends_both(world: World) -> None:
    rolled, stopped = world.roll(), results(world.fleet.stop())
    assert [child.stops for child in world.launch.children] == [1, 1, 1]
    for child in world.launch.children:
        child.end("exit code 0")
    assert isinstance(rolled[0], BrokerRejected) and len(stopped) == 1
    world.fleet.tick()
    assert world.names() == list(NAMES)


def test_stop_of_a_broker_that_waits_for_its_restart_ends_the_restart(world: World) -> None:
    rolled = world.roll()
    world.launch.children[0].end("exit code 0")
    results(world.fleet.stop())
    assert "it was removed" in str(rolled[0])


def test_hurry_requests_the_stop_again(world: World) -> None:
    results(world.fleet.stop())
    world.fleet.hurry(5)
    assert [child.stops for child in world.launch.children] == [2, 2, 2]
    assert world.fleet.supervision.wait() == 5


def test_broker_that_hangs_in_its_start_is_killed_and_ends_the_rolling_restart(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    rolled = world.roll()
    world.launch.children[0].end("exit code 0")
    world.fleet.tick()
    world.newest.say({"progress": "recovering, 7% of the log read"})
    world.clock.advance(300_000)
    world.fleet.tick()
    assert world.newest.kills == 1 and rolled == []
    reason = "its start made no progress for 300 s (recovering, 7% of the log read)"
    assert f"c_a_0 is killed: {reason}; see its own lines in the log, and /a" in caplog.text
    world.newest.end("killed by SIGKILL")
    assert str(rolled[0]).endswith(reason)
    assert [child.stops for child in world.launch.children] == [1, 0, 0, 0], "the others serve"
    world.clock.advance(1000)
    world.fleet.tick()
    assert world.names() == ["a", "b", "c", "a", "a"]


def test_brokers_that_do_not_stop_cleanly_are_noted(world: World) -> None:
    results(world.fleet.stop())
    for child, cause in zip(
        world.launch.children, ("exit code 0", "killed by SIGKILL", "exit code 1"), strict=True
    ):
        child.end(cause)
    assert world.fleet.unclean == {"b": "killed by SIGKILL", "c": "exit code 1"}


def test_other_messages_reach_the_owner(world: World) -> None:
    world.launch.children[1].say({"metrics": 4})
    assert world.messages == [("b", {"metrics": 4})]
    world.fleet.send({"namesrvAddr": "x:1"})
    assert all(child.sent[-1] == {"namesrvAddr": "x:1"} for child in world.launch.children)
