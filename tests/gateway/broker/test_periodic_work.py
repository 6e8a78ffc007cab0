"""When a broker looks what is due, and what it does then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.task import Clock

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.steps import run
from mqgateway.engine.store.large_batch import PART_WEIGHT
from mqgateway.gateway.broker.periodic_work import (
    BACKLOG_SECONDS,
    DELIVERY_SECONDS,
    IDLE_TICK_SECONDS,
    TICK_SECONDS,
    PeriodicWork,
)
from mqgateway.gateway.runtime.schedule import Schedule
from tests.support.engine.store.stores import batch, message
from tests.support.gateway.broker.helpers import MemoryBroker


class Scene:
    """A `PeriodicWork` whose ticks are recorded with their times."""

    def __init__(self) -> None:
        self.memory = MemoryBroker()
        self.time = Clock()
        self.heartbeats: list[float] = []
        self.ticks: list[str] = []
        self.is_behind = False
        self.is_on = True
        self.elapsed = 0
        group: Any = SimpleNamespace(
            replication=SimpleNamespace(tick=lambda: self.heartbeats.append(round(self.time.seconds(), 3))),
            membership=SimpleNamespace(tick=lambda: self.ticks.append("membership")),
            services=self,
            escape=None,
            controlled=None,
            ledger=None,
        )
        self.schedule = Schedule(self.time)
        self.periodic_work = PeriodicWork(self.memory.broker, group, self.schedule)

    def tick(self, now: int, elapsed: int) -> None:
        """See `SpecialServices`."""
        self.ticks.append("services")
        self.elapsed = elapsed

    def wait(self, seconds: float) -> list[float]:
        """Advance the clock in steps of 1 ms; return the times of ticks."""
        self.heartbeats.clear()
        for _ in range(round(seconds * 1000)):
            self.time.advance(0.001)
        return self.heartbeats


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_new_role_brings_the_next_tick_forward(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.wait(1)
    while not scene.wait(0.001):
        pass
    assert scene.wait(0.05) == []
    scene.memory.broker.role.become(RoleKind.FENCED)
    assert len(scene.wait(0.01)) == 1


def test_broker_that_is_no_master_any_more_answers_held_pulls_once(scene: Scene) -> None:
    answered: list[int] = []
    state: Any = scene.memory.broker.consume
    state.answer_due = lambda elapsed, store: answered.append(elapsed)
    scene.periodic_work.start()
    scene.wait(0.2)
    scene.memory.broker.role.become(RoleKind.SLAVE, broker_id=1)
    scene.wait(1)
    assert [elapsed for elapsed in answered if elapsed == 1 << 62] == [1 << 62]


def test_ticks_run_only_between_start_and_stop(scene: Scene) -> None:
    assert scene.wait(1) == []
    scene.periodic_work.start()
    assert scene.wait(0.2)
    scene.schedule.stop()
    assert scene.wait(1) == [] and not scene.time.getDelayedCalls()


def test_idle_broker_ticks_less_often(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.wait(1)
    idle = len(scene.wait(4))
    scene.memory.add_topic("T")
    busy = 0
    for _ in range(40):
        scene.memory.send("T")
        busy += len(scene.wait(0.1))
    assert idle == pytest.approx(4 / IDLE_TICK_SECONDS, abs=1)
    assert busy > 3 * idle


def test_due_timer_brings_the_next_tick_forward(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.wait(1)
    begun = scene.time.seconds()
    scene.periodic_work.within(20)
    assert scene.wait(0.03)[0] == pytest.approx(begun + 0.02, abs=0.002)


def test_later_request_does_not_postpone_the_tick(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.periodic_work.within(5000)
    assert scene.wait(TICK_SECONDS + 0.002) == [pytest.approx(TICK_SECONDS, abs=0.002)]


def test_service_with_a_backlog_resumes_at_once(scene: Scene) -> None:
    scene.is_behind = True
    scene.periodic_work.start()
    scene.wait(0.2)
    assert len(scene.wait(0.1)) == pytest.approx(0.1 / BACKLOG_SECONDS, rel=0.2)


def test_failed_tick_does_not_stop_the_ticks(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OSError("no disk")

    tick = scene.memory.broker.store.tick
    scene.memory.broker.store.tick = fail  # type: ignore[method-assign]
    scene.periodic_work.start()
    assert scene.wait(0.2) == []
    assert "a periodic task failed" in caplog.text
    scene.memory.broker.store.tick = tick  # type: ignore[method-assign]
    assert scene.wait(1)


def test_stopping_broker_answers_all_held_requests(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.wait(0.2)
    assert scene.elapsed < 1 << 60
    while not scene.wait(0.001):
        pass
    assert scene.wait(0.05) == []
    scene.periodic_work.begin_stop()
    assert len(scene.wait(0.01)) == 1
    assert scene.elapsed == 1 << 62


def test_services_that_put_are_idle_when_puts_have_ended(scene: Scene) -> None:
    scene.periodic_work.start()
    scene.periodic_work.puts_no_more = True
    scene.wait(1)
    assert set(scene.ticks) == {"membership"}


def delay(scene: Scene, count: int) -> list[tuple[float, int]]:
    """Put so many messages of delay level 1; the list will hold when, of the time since, they are delivered,
    and how many together."""
    memory, begun, delivered = scene.memory, scene.time.seconds(), list[tuple[float, int]]()
    memory.add_topic("T")
    for _ in range(count):
        memory.send("T", properties={"DELAY": "1"})
    tick = memory.broker.delays.tick

    def watched(now: int) -> int:
        if number := tick(now):
            delivered.append((round(scene.time.seconds() - begun, 3), number))
        return number

    memory.broker.delays.tick = watched  # type: ignore[method-assign]
    memory.broker.delays.tick(memory.broker.store.steady.now())
    return delivered


def pass_time(scene: Scene, millis: int) -> None:
    """Let time pass for the broker's clock and for its loop."""
    for _ in range(millis):
        scene.memory.clock.advance(1)
        scene.time.advance(0.001)


def test_delayed_message_is_delivered_between_ticks(scene: Scene) -> None:
    scene.periodic_work.start()
    pass_time(scene, 1)
    delivered = delay(scene, 3)
    pass_time(scene, 1100)
    [(when, count)] = delivered
    assert 1 <= when <= 1 + 2 * DELIVERY_SECONDS and count == 3


def test_many_delayed_messages_are_delivered_in_slices(scene: Scene) -> None:
    scene.periodic_work.start()
    pass_time(scene, 1)
    delivered = delay(scene, 600)
    pass_time(scene, 1100)
    assert [count for _, count in delivered] == [250, 250, 100]
    assert delivered[-1][0] <= delivered[0][0] + 3 * BACKLOG_SECONDS


def test_idle_or_stopping_broker_delivers_nothing(scene: Scene) -> None:
    scene.periodic_work.start()
    pass_time(scene, 1)
    delivered = delay(scene, 3)
    pass_time(scene, 950)
    scene.is_on = False
    pass_time(scene, 300)
    scene.is_on, scene.periodic_work.puts_no_more = True, True
    pass_time(scene, 300)
    assert delivered == []
    scene.periodic_work.puts_no_more = False


def test_remaining_messages_are_dispatched_in_a_turn_of_their_own(scene: Scene) -> None:
    store = scene.memory.broker.store
    elements = batch(*[b""] * (2 * PART_WEIGHT + 1))
    store.put_batch(message(), run(store.make_ready(message(), elements)))
    store.dispatch()
    assert store.max_offset("orders", 0) == PART_WEIGHT
    scene.wait(0.005)
    assert store.max_offset("orders", 0) == 2 * PART_WEIGHT + 1


def test_dispatch_is_scheduled_once(scene: Scene) -> None:
    store = scene.memory.broker.store
    dispatched: list[float] = []
    store.dispatch = lambda: dispatched.append(scene.time.seconds())  # type: ignore[method-assign]
    scene.periodic_work.dispatch_soon()
    scene.periodic_work.dispatch_soon()
    assert dispatched == []
    scene.wait(0.01)
    assert len(dispatched) == 1
    scene.periodic_work.dispatch_soon()
    scene.wait(0.01)
    assert len(dispatched) == 2


def test_counts_are_sampled(scene: Scene) -> None:
    stats, noted = scene.memory.broker.stats, []
    tick = stats.tick

    def watched(now: int, elapsed: int) -> Any:
        noted.append(elapsed)
        return tick(now, elapsed)

    scene.memory.broker.stats = SimpleNamespace(tick=watched)  # type: ignore[assignment]
    scene.periodic_work.note_counts()
    scene.periodic_work.note_counts()
    assert len(noted) == 2, "one after the other"
