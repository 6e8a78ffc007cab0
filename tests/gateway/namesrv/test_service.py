"""Running name server: timers, lost connections, notices to brokers, start and stop."""

import json
import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.signature import is_signed
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.namesrv.service import REQUESTS, UNSUPPORTED
from tests.gateway.namesrv.test_requests import register_body
from tests.support.gateway.namesrv.brokers import MASTER, OTHER, SLAVE
from tests.support.gateway.namesrv.world import PORT, World, json_of
from tests.support.gateway.remoting.pair import Net, Talker


class BrokerPort:
    """Listener at a broker's address that keeps its requests."""

    noisy = False

    def __init__(self, world: World, address: str) -> None:
        self.talkers: list[Talker] = []
        world.net.listenTCP(int(address.rpartition(":")[2]), self)

    def buildProtocol(self, address: object) -> Talker:
        self.talkers.append(Talker())
        return self.talkers[-1]

    def doStart(self) -> None: ...

    def heard(self) -> list[RemotingCommand]:
        return [command for talker in self.talkers for command in talker.take()]


def test_every_code_is_served_or_refused_with_reason() -> None:
    assert set(REQUESTS) | set(UNSUPPORTED) == set(RequestCode)
    assert not set(REQUESTS) & set(UNSUPPORTED)


def test_lost_connection_removes_broker_at_once() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body())
    assert client.route("T1").code == 0
    broker.lose()
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert json_of(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO))["clusterAddrTable"] == {}


def test_lost_client_connection_changes_nothing() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body())
    client.lose()
    assert broker.route("T1").code == 0


def test_reconnected_broker_survives_loss_of_old_connection() -> None:
    world = World()
    old, new = world.connect(), world.connect()
    old.register(register_body())
    new.register(register_body())
    old.lose()
    assert new.route("T1").code == 0
    new.lose()
    assert world.connect().route("T1").code == ResponseCode.TOPIC_NOT_EXIST


def test_silent_broker_is_removed_and_disconnected_by_scan() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body(), heartbeat_timeout_millis=10_000)
    world.net.settle(9)
    assert client.route("T1").code == 0
    world.net.settle(7)
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.talker.lost is not None


def test_default_heartbeat_timeout_is_two_minutes() -> None:
    world = World()
    broker = world.connect()
    broker.register(register_body())
    for _ in range(5):
        world.net.settle(22)
        assert broker.route("T1").code == 0  # asking keeps the connection, not the registration
    world.net.settle(16)
    assert not world.namesrv.tables.live


def test_kv_configuration_is_logged_every_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    caplog.set_level(logging.INFO, "mqgateway.gateway.namesrv.kv")
    world.net.settle(599)
    assert caplog.messages == []
    world.net.settle(2)
    assert caplog.messages == ["KV configuration: 0 namespaces"]


def test_failed_timer_continues(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    calls: list[int] = []

    def fail() -> list[object]:
        calls.append(1)
        raise ValueError("broken")

    monkeypatch.setattr(world.namesrv, "drop_expired", fail)
    world.net.settle(16)
    assert len(calls) == 3
    assert "broken" in caplog.text


def acting(**fields: Any) -> dict[str, Any]:
    return {"enable_acting_master": True, **fields}


def test_new_minimum_id_is_notified_to_other_members() -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    (notification,) = slave.heard()
    assert (notification.code, notification.is_oneway) == (RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, True)
    assert notification.ext_fields == {
        "minBrokerId": "0",
        "brokerName": "b1",
        "minBrokerAddr": MASTER,
        "haBrokerAddr": "10.0.0.1:10912",
    }


def test_notices_are_signed_with_inner_credentials() -> None:
    inner = '{"accessKey":"inner","secretKey":"hidden"}'
    options = NamesrvOptions(notify_min_broker_id_changed=True, inner_client_authentication_credentials=inner)
    world = World(options)
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    (notification,) = slave.heard()
    assert is_signed(notification, "hidden")


def test_loss_of_minimum_id_is_notified_to_all_members() -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    slaves = [BrokerPort(world, address) for address in ("10.0.0.2:20911", "10.0.0.3:30911")]
    master, others = world.connect(), world.connect()
    master.register(register_body(), **acting())
    others.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    others.register(register_body(), **acting(broker_id=2, broker_addr="10.0.0.3:30911"))
    master.lose()
    world.net.settle(1)
    for slave in slaves:
        (notification,) = slave.heard()
        assert notification.ext_fields == {
            "minBrokerId": "1",
            "brokerName": "b1",
            "minBrokerAddr": "10.0.0.2:20911",
            "offlineBrokerAddr": MASTER,
        }


def test_no_notices_by_default() -> None:
    world = World()
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    assert slave.talkers == []


@pytest.mark.parametrize("address", ["nonsense", "10.0.0.2:1", ":", "host:notaport", "10.0.0.2:99999999"])
def test_undeliverable_notice_is_ignored(address: str) -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr=address))
    assert broker.register(register_body(), **acting()).code == 0
    world.net.settle(5)
    assert broker.route("T1").code == 0


def test_stop_closes_port_and_timers() -> None:
    world = World()
    client = world.connect()
    client.register(register_body())
    stopped: Deferred[None] = world.service.stop()
    world.net.settle(3)
    assert stopped.called
    assert client.talker.lost is not None
    assert PORT not in world.net.ports
    world.net.settle(1)
    assert world.net.getDelayedCalls() == []


def test_life_of_small_cluster() -> None:
    """Start, traffic and end of a small cluster, in one conversation."""
    world = World(NamesrvOptions(support_acting_master=True))
    master, slave, client = world.connect(), world.connect(), world.connect()
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    slave_fields = acting(broker_id=1, broker_addr=SLAVE)
    master.register(register_body("T1", "b1"), **acting())
    assert slave.register(register_body("T1", "b1"), **slave_fields).ext_fields["masterAddr"] == MASTER
    assert json_of(client.route("T1"))["brokerDatas"][0]["brokerAddrs"] == {"0": MASTER, "1": SLAVE}

    master.register(register_body("T3", counter=2), **acting())  # one new topic, told by itself
    assert client.route("T3").code == 0

    master.lose()
    route = json_of(client.route("T1"))
    assert route["brokerDatas"][0]["brokerAddrs"] == {"0": SLAVE}
    assert route["queueDatas"][0]["perm"] == 4

    master = world.connect()
    master.register(register_body("T1", "b1", "T3", counter=2), **acting(broker_addr=OTHER))
    route = json_of(client.route("T1"))
    assert route["brokerDatas"][0]["brokerAddrs"] == {"0": OTHER, "1": SLAVE}
    assert route["queueDatas"][0]["perm"] == 6
    assert json.loads(client.route("T3").body)["queueDatas"][0]["brokerName"] == "b1"


def test_port_in_use_fails_start_without_leftovers() -> None:
    net = Net()
    net.taken.add(PORT)
    world = World(net=net)
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert not [call for call in net.getDelayedCalls() if call.active()]
    net.taken.clear()
    again = World(disk=world.disk, net=net)
    assert again.started == [None] and again.service.port == PORT


def test_unreadable_users_fail_start() -> None:
    disk = CrashDisk()
    write_table(disk, "/ns/users.json", b'{"userTable":{"alice":{"encryptedPassword":"x"}}}')
    with pytest.raises(ConfigError, match="users"):
        World(NamesrvOptions(authentication_enabled=True), disk)
