"""Running controller: lost connections, silence, notices, restarts, start and stop."""

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


def heartbeats_for(seconds: float, *brokers: Broker) -> None:
    """Advance the time while these brokers send heartbeats."""
    for _ in range(round(seconds * 2)):
        for broker in brokers:
            broker.heartbeat()
        brokers[0].world.net.settle(0.5)


def test_every_code_is_served_or_refused_with_reason() -> None:
    assert set(REQUESTS) | set(UNSUPPORTED) == set(RequestCode)


def test_killed_master_is_replaced_at_once_and_others_are_notified() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    first.lose()
    assert (the_set(world).master, the_set(world).master_epoch) == (2, 2)
    assert first.listens.heard() == []
    (notice,) = second.listens.heard()
    assert notice.code == RequestCode.NOTIFY_BROKER_ROLE_CHANGED
    assert notice.ext_fields["masterBrokerId"] == "2"


def test_returning_broker_follows_and_is_in_sync_again() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    first.lose()
    back = world.broker(1)
    registered = back.register()
    assert registered.ext_fields["masterBrokerId"] == "2"
    back.heartbeat()
    assert second.alter("[1,2]", 3, 2).code == 0
    assert the_set(world).sync_state_set == {1, 2}
    late = back.alter("[1]", 4, 1)
    assert late.code == 2002


def test_silent_master_is_replaced_at_its_timeout() -> None:
    """RocketMQ checks every 5 s, so that it takes up to 5 s longer."""
    world = ControllerWorld()
    first, second = world.pair()
    first.heartbeat(heartbeat_timeout_mills=3000)
    heartbeats_for(2.5, second)
    assert the_set(world).master == 1
    heartbeats_for(1, second)
    assert the_set(world).master == 2
    assert first.talker.lost is not None


def test_default_heartbeat_timeout_is_ten_seconds() -> None:
    world = ControllerWorld()
    _first, second = world.pair()
    heartbeats_for(9.5, second)
    assert the_set(world).master == 1
    heartbeats_for(1.5, second)
    assert the_set(world).master == 2


def test_reconnected_master_stays_master() -> None:
    world = ControllerWorld()
    first, _second = world.pair()
    again = world.broker(1)
    again.heartbeat()
    first.lose()
    assert the_set(world).master == 1


def test_only_replica_is_elected_when_it_returns() -> None:
    world = ControllerWorld()
    only = world.broker(1)
    only.start()
    only.elect()
    only.lose()
    assert (the_set(world).master, the_set(world).master_epoch) == (None, 2)
    back = world.broker(1)
    assert "masterBrokerId" not in back.register().ext_fields
    back.heartbeat()
    elected = back.elect()
    assert (elected.code, elected.ext_fields["masterEpoch"]) == (0, "3")


def test_access_control_verifies_requests_and_signs_notices() -> None:
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


def test_returning_in_sync_replica_is_elected_automatically() -> None:
    world = ControllerWorld()
    first, second = world.pair()
    second.lose()
    first.lose()
    assert the_set(world).master is None
    back = world.broker(2)
    back.heartbeat()
    heartbeats_for(6, back)
    assert the_set(world).master == 2
    assert [notice.code for notice in back.listens.heard()] == [RequestCode.NOTIFY_BROKER_ROLE_CHANGED]


def test_sets_survive_crash_and_masters_survive_restart() -> None:
    world = ControllerWorld()
    world.pair()
    before = the_set(world)
    again = ControllerWorld(world.disk.crash(1))
    assert the_set(again) == before
    slave = again.broker(2)
    registered = slave.register()
    assert registered.ext_fields["masterBrokerId"] == "1"
    heartbeats_for(8, slave)
    master = again.broker(1)
    heartbeats_for(10, master, slave)
    assert the_set(again) == before


def test_master_absent_after_restart_is_replaced() -> None:
    world = ControllerWorld()
    world.pair()
    again = ControllerWorld(world.disk.crash(1))
    slave = again.broker(2)
    heartbeats_for(11, slave)
    assert the_set(again).master == 2


def test_silence_check_continues_after_failure(
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


def test_stop_closes_everything_and_unlocks_folder() -> None:
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


def test_corrupt_file_fails_every_start() -> None:
    world = ControllerWorld()
    world.pair()
    disk = world.disk.kill()
    disk.open("/controller/brokerSets.json").truncate(3)
    for _ in range(2):
        with pytest.raises(ConfigError, match="the broker sets cannot be read"):
            ControllerWorld(disk)


def test_unwritable_folder_fails_start() -> None:
    disk = CrashDisk()
    disk.fail_next("any", times=100)
    with pytest.raises(ConfigError, match="controllerStorePath"):
        ControllerWorld(disk)


def test_suspended_controller_replaces_no_master(caplog: pytest.LogCaptureFixture) -> None:
    """As by SIGSTOP: heartbeats sent meanwhile are read only after the due timers."""
    world = ControllerWorld()
    first, second = world.pair()
    heartbeats_for(2, first, second)
    world.net.advance(30)
    assert "was paused for" in caplog.text
    heartbeats_for(2, first, second)
    assert (the_set(world).master, the_set(world).master_epoch) == (1, 1)
    assert first.talker.lost is None


def test_port_in_use_fails_start_and_unlocks_folder() -> None:
    net = Net()
    net.taken.add(PORT)
    world = ControllerWorld(net=net)
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert not [call for call in net.getDelayedCalls() if call.active()]
    net.taken.clear()
    assert ControllerWorld(world.disk, net=net).started == [None]


def test_unreadable_users_fail_start_and_unlock_folder() -> None:
    disk = CrashDisk()
    write_table(disk, "/controller/users.json", b'{"userTable":{"alice":{"encryptedPassword":"x"}}}')
    for _ in range(2):
        with pytest.raises(ConfigError, match="users"):
            ControllerWorld(disk, authentication_enabled=True)
