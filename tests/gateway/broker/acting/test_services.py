"""The broker that delivers delayed messages, and the services of a slave when it changes."""

from __future__ import annotations

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.epochs import parse_epochs
from mqgateway.engine.ha.role import RoleError, RoleKind
from mqgateway.engine.options import BrokerRole
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.acting import services as ha_services
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.acting import Scene
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header
from tests.support.gateway.broker.service_watch import Watched

pytestmark = pytest.mark.usefixtures("short_wheel")


def test_a_master_is_active_from_its_start_and_a_slave_is_not() -> None:
    group = Group()
    master, slave = group.master(), group.slave()
    assert master.service.group.services.is_on
    assert not slave.service.group.services.is_on
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


def test_slave_acts_repeatedly() -> None:
    scene = Scene()
    for turn in range(3):
        scene.send(b"%d" % turn, DELAY="3")
        scene.group.wait(1)
        scene.lose_master()
        scene.group.wait(15)
        scene.return_master()
    assert scene.other.bodies() == [b"0", b"1", b"2"]
    assert scene.master.bodies() == []


def test_last_deliveries_of_the_master_are_not_repeated() -> None:
    """The slave was not notified of it; it is in the log."""
    scene = Scene()
    for number in range(5):
        scene.send(b"%d" % number, DELAY="1")
    scene.group.wait(1.5)
    assert len(scene.master.bodies()) == 5
    scene.lose_master()
    scene.group.wait(10)
    assert scene.other.bodies() == []


def test_slave_does_not_repeat_deliveries_when_it_acts_again() -> None:
    """Its log does not show it, and no master has reported it since."""
    scene = Scene()
    now = scene.group.clock.millis()
    for seconds in (30, 50):
        scene.send(b"%d" % seconds, TIMER_DELIVER_MS=str(now + seconds * 1000))
    scene.group.wait(1)
    scene.lose_master()
    scene.group.wait(10)
    assert scene.other.bodies() == [b"30"]
    membership = scene.slave.service.group.membership
    membership.noticed(0, "10.0.0.1:10911", "10.0.0.1:10912")
    assert not scene.acts
    scene.group.wait(30)
    assert scene.acts
    assert scene.other.bodies() == [b"30", b"50"]


def test_takeover_yields_to_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to read: the master never reported, and the log has everything."""
    scene = Scene()
    for number in range(10):
        scene.send(b"%d" % number, DELAY="4")
        scene.send(b"timed %d" % number, TIMER_DELIVER_MS=str(scene.group.clock.millis() + 40_000))
    scene.group.wait(1)
    scene.lose_master()
    service = scene.slave.service
    tables, services, role = service.group.replication.tables, service.group.services, service.broker.role
    assert tables is not None
    role.become(RoleKind.SLAVE)
    tables.timers, tables.reported_at = None, 0
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    role.become(RoleKind.ACTING)
    services.tick(scene.group.clock.millis(), 0)
    ticks = 0
    while services.is_behind:
        assert not services.is_on
        services.tick(scene.group.clock.millis(), 0)
        ticks += 1
    assert ticks > 20
    assert scene.acts
    scene.group.wait(30)
    assert len(scene.other.bodies()) == 20


def test_returned_master_ends_the_takeover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    scene = Scene()
    scene.send(b"a", DELAY="4")
    services, role = scene.slave.service.group.services, scene.slave.service.broker.role
    role.become(RoleKind.ACTING)
    services.tick(scene.group.clock.millis(), 0)
    assert services.is_behind
    role.become(RoleKind.SLAVE)
    services.tick(scene.group.clock.millis(), 0)
    assert (services.is_behind, services.is_on) == (False, False)


def test_role_change_during_a_takeover_stops_all_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However far it had come."""
    monkeypatch.setattr(ha_services, "TAKE_OVER_SECONDS", 0)
    scene = Scene()
    scene.send(b"a", DELAY="4")
    scene.send(b"b", TIMER_DELIVER_MS=str(scene.group.clock.millis() + 40_000))
    scene.group.wait(1)
    broker, services = scene.slave.service.broker, scene.slave.service.group.services
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


def test_failed_takeover_of_a_new_master_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
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


def epochs_of(member: Member) -> list[tuple[int, int]]:
    """The epochs in the member's file."""
    path = "/store/epochFileCheckpoint"
    return list(parse_epochs(member.disk.read_bytes(path))) if member.disk.exists(path) else []


def test_broker_without_an_epoch_writes_none() -> None:
    scene = Scene()
    scene.send(b"a")
    scene.lose_master()
    scene.return_master()
    scene.master.service.broker.role.become(RoleKind.FENCED)
    scene.master.service.broker.role.become(RoleKind.MASTER)
    scene.group.wait(1)
    assert not any(
        "epoch" in path for one in (scene.master, scene.slave) for path in one.disk.files("/store")
    )


def test_epoch_starts_at_the_end_of_the_log() -> None:
    group = Group()
    master = group.master()
    master.send(2)
    end = master.store.max_physical_offset
    role = master.service.broker.role
    role.become(RoleKind.FENCED)
    role.become(RoleKind.MASTER, epoch=3)
    group.wait(1)
    assert epochs_of(master) == [(3, end)]
    master.send()
    later = master.store.max_physical_offset
    role.become(RoleKind.MASTER, epoch=4)
    assert master.service.group.services.is_on, "what runs goes on"
    assert epochs_of(master) == [(3, end), (4, later)]
    role.become(RoleKind.MASTER, epoch=5)
    master.send()
    assert epochs_of(master) == [(3, end), (5, later)], "of 4 there is nothing"


@pytest.mark.parametrize("kind", [RoleKind.FENCED, RoleKind.MASTER])
def test_sends_wait_until_the_start_of_the_epoch_is_on_disk(kind: RoleKind) -> None:
    """Neither by a new master nor by one that continues in another epoch."""
    group = Group()
    master = group.master()
    master.send()
    end = master.store.max_physical_offset
    master.disk.fail_next("any", "epochFileCheckpoint", times=10**6)
    role = master.service.broker.role
    role.become(kind)
    role.become(RoleKind.MASTER, epoch=2)
    group.wait(3)
    assert master.code(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x") == 14
    master.disk.heal()
    group.wait(3)
    master.send()
    assert epochs_of(master) == [(2, end)]
    assert len(master.bodies()) == 2


def test_epoch_survives_a_restart_and_older_ones_are_refused() -> None:
    group = Group()
    master = group.master()
    master.service.broker.role.become(RoleKind.MASTER, epoch=7)
    master.send()
    master.stop().begin(BrokerRole.ASYNC_MASTER, 0)
    role = master.service.broker.role
    assert role.state == (RoleKind.MASTER, 0, 7)
    with pytest.raises(RoleError, match="epoch 6 is over"):
        role.become(RoleKind.FENCED, epoch=6)


def test_epoch_whose_start_was_lost_is_dropped_on_restart() -> None:
    group = Group()
    master = group.master()
    master.send()
    role = master.service.broker.role
    role.become(RoleKind.MASTER, epoch=1)
    end = master.store.max_physical_offset
    master.send(3)
    role.become(RoleKind.MASTER, epoch=2)
    master.kill()
    log = next(path for path in master.disk.files("/store/commitlog"))
    file = master.disk.open(log)
    file.write(end, bytes(file.size() - end))
    master.begin(BrokerRole.ASYNC_MASTER, 0)
    assert master.store.max_physical_offset == end
    assert master.service.broker.role.state.epoch == 1
    assert epochs_of(master) == [(1, end)]


def test_malformed_epochs_fail_the_start() -> None:
    group = Group()
    master = group.master()
    master.service.broker.role.become(RoleKind.MASTER, epoch=7)
    master.stop()
    master.disk.flip("/store/epochFileCheckpoint", 3)
    with pytest.raises(ConfigError, match="the starts of epochs are unknown"):
        master.service.group.services.load()


def test_failed_takeover_restarts_from_stopped_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they fail with: a master that has not found out everything takes nothing."""
    group = Group()
    master = group.master()
    broker = master.service.broker
    watched = Watched(broker)
    loading = broker.pop.loading

    def fails() -> Steps[None]:
        monkeypatch.setattr(broker.pop, "loading", loading)
        yield
        raise KeyError("nobody thought of that")

    monkeypatch.setattr(broker.pop, "loading", fails)
    broker.role.become(RoleKind.FENCED)
    broker.role.become(RoleKind.MASTER)
    group.wait(0.5)
    assert not any(watched.running.values())
    assert not master.service.group.services.is_on
    assert master.code(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x") == 14
    group.wait(3)
    assert master.service.group.services.is_on
    assert all(watched.running.values())
    master.send()
