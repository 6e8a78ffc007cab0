"""Who delivers what is delayed, and what a slave does with its own when that changes."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.broker.acting import services as ha_services
from tests.support.gateway.broker.acting import Scene
from tests.support.gateway.broker.group import Group

pytestmark = pytest.mark.usefixtures("short_wheel")


def test_a_master_is_active_from_its_start_and_a_slave_is_not() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    assert master.service.services.is_on
    assert not slave.service.services.is_on
    assert slave.service.broker.is_active is False


def test_nothing_is_written_to_a_slave_that_acts_or_has_acted() -> None:
    scene = Scene()
    scene.send(b"a", DELAY="3")
    scene.group.wait(1)
    scene.lose_master()
    before = scene.slave.log()
    store = scene.slave.store
    assert store.gate.elsewhere is not None
    scene.group.wait(20)
    assert scene.slave.log() == before
    scene.return_master()
    assert store.gate.elsewhere is None


def test_a_slave_acts_again_and_again() -> None:
    scene = Scene()
    for turn in range(3):
        scene.send(b"%d" % turn, DELAY="3")
        scene.group.wait(1)
        scene.lose_master()
        scene.group.wait(15)
        scene.return_master()
    assert scene.other.bodies() == [b"0", b"1", b"2"]
    assert scene.master.bodies() == []


def test_what_the_master_delivered_last_is_not_delivered_again() -> None:
    """The slave was not told of it; it is in the log."""
    scene = Scene()
    for number in range(5):
        scene.send(b"%d" % number, DELAY="1")
    scene.group.wait(1.5)
    assert len(scene.master.bodies()) == 5
    scene.lose_master()
    scene.group.wait(10)
    assert scene.other.bodies() == []


def test_what_a_slave_delivered_it_does_not_deliver_again_when_it_acts_once_more() -> None:
    """Its log does not show it, and no master has told it since."""
    scene = Scene()
    now = scene.group.clock.millis()
    for seconds in (30, 50):
        scene.send(b"%d" % seconds, TIMER_DELIVER_MS=str(now + seconds * 1000))
    scene.group.wait(1)
    scene.lose_master()
    scene.group.wait(10)
    assert scene.other.bodies() == [b"30"]
    membership = scene.slave.service.membership
    membership.noticed(0, "10.0.0.1:10911", "10.0.0.1:10912")
    assert not scene.acts
    scene.group.wait(30)
    assert scene.acts
    assert scene.other.bodies() == [b"30", b"50"]


def test_who_takes_over_gives_way_to_others_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to read: the master never told, and the log has everything."""
    scene = Scene()
    for number in range(10):
        scene.send(b"%d" % number, DELAY="4")
        scene.send(b"timed %d" % number, TIMER_DELIVER_MS=str(scene.group.clock.millis() + 40_000))
    scene.group.wait(1)
    scene.lose_master()
    service = scene.slave.service
    tables, services, role = service.replication.tables, service.services, service.broker.role
    assert tables is not None
    role.become(RoleKind.SLAVE)
    tables.timers, tables.reported_at = None, 0
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    role.become(RoleKind.ACTING)
    services.tick(scene.group.clock.millis(), 0)
    beats = 0
    while services.is_behind:
        assert not services.is_on
        services.tick(scene.group.clock.millis(), 0)
        beats += 1
    assert beats > 20
    assert scene.acts
    scene.group.wait(30)
    assert len(scene.other.bodies()) == 20


def test_a_master_that_is_back_meanwhile_ends_the_taking_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    scene = Scene()
    scene.send(b"a", DELAY="4")
    services, role = scene.slave.service.services, scene.slave.service.broker.role
    role.become(RoleKind.ACTING)
    services.tick(scene.group.clock.millis(), 0)
    assert services.is_behind
    role.become(RoleKind.SLAVE)
    services.tick(scene.group.clock.millis(), 0)
    assert (services.is_behind, services.is_on) == (False, False)


def test_a_role_that_changes_while_taking_over_leaves_nothing_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However far it had come."""
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    scene = Scene()
    scene.send(b"a", DELAY="4")
    scene.send(b"b", TIMER_DELIVER_MS=str(scene.group.clock.millis() + 40_000))
    scene.group.wait(1)
    broker, services = scene.slave.service.broker, scene.slave.service.services
    steps = 0
    while not services.is_on:
        broker.role.become(RoleKind.MASTER)
        for _ in range(steps):
            services.tick(scene.group.clock.millis(), 0)
        if services.is_on:
            break
        broker.role.become(RoleKind.FENCED)
        assert not services.is_on
        assert broker.timers.wait_millis(broker.store.steady.now()) is None
        assert broker.timers.runtime_info()["timerCongestNum"] == "0"
        steps += 1
    assert steps > 3
    assert broker.store.gate is None


def test_a_new_master_that_cannot_go_on_yet_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.lose_master()
    broker = scene.slave.service.broker
    inner = broker.store.raw.drop_partial

    def fails() -> None:
        raise OSError("sick")

    monkeypatch.setattr(broker.store.raw, "drop_partial", fails)
    broker.role.become(RoleKind.MASTER, epoch=1)
    scene.group.wait(3)
    assert (scene.acts, broker.store.is_writable) == (False, False)
    monkeypatch.setattr(broker.store.raw, "drop_partial", inner)
    scene.group.wait(2)
    assert (scene.acts, broker.store.is_writable) == (True, True)
