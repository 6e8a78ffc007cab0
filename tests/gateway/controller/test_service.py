"""The controller as it runs: connections that end, silence, notices, restarts, start and stop."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.controller.broker_set import BrokerSet
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.signature import Credentials, is_signed
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.controller.requests import REQUESTS, UNSUPPORTED
from tests.support.gateway.controller.world import PORT, Broker, ControllerWorld
from tests.support.gateway.remoting.pair import Net


def the_set(world: ControllerWorld) -> BrokerSet:
    return world.service.controller.state.sets["brk"]


def beat_for(seconds: float, *brokers: Broker) -> None:
    """Let time pass while these are heard of."""
    for _ in range(round(seconds * 2)):
        for broker in brokers:
            broker.beat()
        brokers[0].world.net.settle(0.5)


def test_every_code_is_served_or_refused_with_a_reason() -> None:
    assert set(REQUESTS) | set(UNSUPPORTED) == set(RequestCode)


def test_a_master_that_is_killed_is_followed_at_once_and_the_others_are_told() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    first.lose()
    assert (the_set(world).master, the_set(world).master_epoch) == (2, 2)
    assert first.listens.heard() == []
    (notice,) = second.listens.heard()
    assert notice.code == RequestCode.NOTIFY_BROKER_ROLE_CHANGED
    assert notice.ext_fields["masterBrokerId"] == "2"


def test_who_comes_back_follows_and_is_in_sync_again() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    first.lose()
    back = world.broker(1)
    registered = back.register()
    assert registered.ext_fields["masterBrokerId"] == "2"
    back.beat()
    assert second.alter("[1,2]", 3, 2).code == 0
    assert the_set(world).sync_state_set == {1, 2}
    late = back.alter("[1]", 4, 1)
    assert late.code == 2002


def test_a_silent_master_is_followed_when_its_time_is_over() -> None:
    """The standard looks every 5 s, so that it takes up to 5 s more."""
    world = ControllerWorld()
    first, second = world.pair()
    first.beat(heartbeat_timeout_mills=3000)
    beat_for(2.5, second)
    assert the_set(world).master == 1
    beat_for(1, second)
    assert the_set(world).master == 2
    assert first.talker.lost is not None


def test_a_broker_that_names_no_time_has_ten_seconds() -> None:
    world = ControllerWorld()
    _first, second = world.pair()
    beat_for(9.5, second)
    assert the_set(world).master == 1
    beat_for(1.5, second)
    assert the_set(world).master == 2


def test_a_master_that_comes_on_another_connection_stays() -> None:
    world = ControllerWorld()
    first, _second = world.pair()
    again = world.broker(1)
    again.beat()
    first.lose()
    assert the_set(world).master == 1


def test_a_lost_master_that_nobody_can_follow_is_elected_when_it_is_back() -> None:
    world = ControllerWorld()
    only = world.broker(1)
    only.start()
    only.elect()
    only.lose()
    assert (the_set(world).master, the_set(world).master_epoch) == (None, 2)
    back = world.broker(1)
    assert "masterBrokerId" not in back.register().ext_fields
    back.beat()
    elected = back.elect()
    assert (elected.code, elected.ext_fields["masterEpoch"]) == (0, "3")


def test_with_access_control_it_believes_signatures_and_signs_what_it_tells() -> None:
    inner = Credentials("inner", "hidden")
    world = ControllerWorld(
        authentication_enabled=True,
        authorization_enabled=True,
        inner_client_authentication_credentials='{"accessKey":"inner","secretKey":"hidden"}',
    )
    assert world.broker(1).next_id().code == 16
    world.credentials = inner
    first, second = world.pair()
    first.lose()
    (notice,) = second.listens.heard()
    assert notice.code == RequestCode.NOTIFY_BROKER_ROLE_CHANGED and is_signed(notice, "hidden")


def test_somebody_in_sync_who_is_back_is_elected_without_asking() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    second.lose()
    first.lose()
    assert the_set(world).master is None
    back = world.broker(2)
    back.beat()
    beat_for(6, back)
    assert the_set(world).master == 2
    assert [notice.code for notice in back.listens.heard()] == [RequestCode.NOTIFY_BROKER_ROLE_CHANGED]


def test_sets_outlive_a_crash_and_masters_a_restart() -> None:
    world = ControllerWorld()
    world.pair()
    before = the_set(world)
    again = ControllerWorld(world.disk.crash(1))
    assert the_set(again) == before
    slave = again.broker(2)
    registered = slave.register()
    assert registered.ext_fields["masterBrokerId"] == "1"
    beat_for(8, slave)
    master = again.broker(1)
    beat_for(10, master, slave)
    assert the_set(again) == before


def test_a_master_that_does_not_come_back_after_a_restart_is_followed() -> None:
    world = ControllerWorld()
    world.pair()
    again = ControllerWorld(world.disk.crash(1))
    slave = again.broker(2)
    beat_for(11, slave)
    assert the_set(again).master == 2


def test_a_look_for_the_silent_that_fails_is_not_the_last_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = ControllerWorld()
    calls: list[int] = []

    def fail() -> list[object]:
        calls.append(1)
        raise ValueError("broken")

    monkeypatch.setattr(world.service.controller, "drop_silent", fail)
    world.net.settle(5)
    assert len(calls) >= 4
    assert "broken" in caplog.text


def test_a_stop_closes_everything_and_lets_the_folder_go() -> None:
    world = ControllerWorld()
    world.pair()
    with pytest.raises(ConfigError, match="another controller"):
        ControllerWorld(world.disk)
    stopped: list[object] = []
    outcome: Deferred[None] = world.service.stop()
    outcome.addCallback(stopped.append)
    world.net.settle(3)
    assert stopped and PORT not in world.net.ports
    assert the_set(ControllerWorld(world.disk)).master == 1


def test_a_file_that_cannot_be_read_stops_every_start() -> None:
    world = ControllerWorld()
    world.pair()
    disk = world.disk.kill()
    disk.open("/controller/brokerSets.json").truncate(3)
    for _ in range(2):
        with pytest.raises(ConfigError, match="the broker sets cannot be read"):
            ControllerWorld(disk)


def test_a_folder_that_cannot_be_written_stops_the_start() -> None:
    disk = CrashDisk()
    disk.fail_next("any", times=100)
    with pytest.raises(ConfigError, match="controllerStorePath"):
        ControllerWorld(disk)


def test_a_controller_that_was_stopped_deposes_nobody_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """As by SIGSTOP: what brokers sent meanwhile is read after the timers that are due."""
    world = ControllerWorld()
    first, second = world.pair()
    beat_for(2, first, second)
    world.net.advance(30)
    assert "was paused for" in caplog.text
    beat_for(2, first, second)
    assert (the_set(world).master, the_set(world).master_epoch) == (1, 1)
    assert first.talker.lost is None


def test_a_port_in_use_stops_the_start_and_lets_the_folder_go() -> None:
    net = Net()
    net.taken.add(PORT)
    world = ControllerWorld(net=net)
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert not [call for call in net.getDelayedCalls() if call.active()]
    net.taken.clear()
    assert ControllerWorld(world.disk, net=net).started == [None]


def test_users_that_cannot_be_read_stop_the_start_and_let_the_folder_go() -> None:
    disk = CrashDisk()
    write_table(disk, "/controller/users.json", b'{"userTable":{"alice":{"encryptedPassword":"x"}}}')
    for _ in range(2):
        with pytest.raises(ConfigError, match="users"):
            ControllerWorld(disk, authentication_enabled=True)
