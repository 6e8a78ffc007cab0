"""The name server as it runs: timers, lost connections, notices to brokers, start and stop."""

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
    """What listens at a broker's address; keeps what it is told."""

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


def test_every_code_is_served_or_refused_with_a_reason() -> None:
    assert set(REQUESTS) | set(UNSUPPORTED) == set(RequestCode)
    assert not set(REQUESTS) & set(UNSUPPORTED)


def test_a_broker_whose_connection_ends_is_dropped_at_once() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body())
    assert client.route("T1").code == 0
    broker.lose()
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert json_of(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO))["clusterAddrTable"] == {}


def test_a_client_whose_connection_ends_changes_nothing() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body())
    client.lose()
    assert broker.route("T1").code == 0


def test_a_broker_that_came_back_survives_the_end_of_its_old_connection() -> None:
    world = World()
    old, new = world.connect(), world.connect()
    old.register(register_body())
    new.register(register_body())
    old.lose()
    assert new.route("T1").code == 0
    new.lose()
    assert world.connect().route("T1").code == ResponseCode.TOPIC_NOT_EXIST


def test_a_silent_broker_is_dropped_within_a_scan_and_its_connection_closed() -> None:
    world = World()
    broker, client = world.connect(), world.connect()
    broker.register(register_body(), heartbeat_timeout_millis=10_000)
    world.net.settle(9)
    assert client.route("T1").code == 0
    world.net.settle(7)
    assert client.route("T1").code == ResponseCode.TOPIC_NOT_EXIST
    assert broker.talker.lost is not None


def test_a_broker_that_names_no_time_has_two_minutes() -> None:
    world = World()
    broker = world.connect()
    broker.register(register_body())
    for _ in range(5):
        world.net.settle(22)
        assert broker.route("T1").code == 0  # asking keeps the connection, not the registration
    world.net.settle(16)
    assert not world.namesrv.tables.live


def test_the_kv_configuration_is_logged_every_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    caplog.set_level(logging.INFO, "mqgateway.gateway.namesrv.kv")
    world.net.settle(599)
    assert caplog.messages == []
    world.net.settle(2)
    assert caplog.messages == ["KV configuration: 0 namespaces"]


def test_a_failing_timer_runs_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
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


def test_a_new_smallest_id_is_told_to_the_other_members() -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    (told,) = slave.heard()
    assert (told.code, told.is_oneway) == (RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, True)
    assert told.ext_fields == {
        "minBrokerId": "0",
        "brokerName": "b1",
        "minBrokerAddr": MASTER,
        "haBrokerAddr": "10.0.0.1:10912",
    }


def test_what_others_are_told_is_signed_where_there_is_something_to_sign_with() -> None:
    inner = '{"accessKey":"inner","secretKey":"hidden"}'
    options = NamesrvOptions(notify_min_broker_id_changed=True, inner_client_authentication_credentials=inner)
    world = World(options)
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    (told,) = slave.heard()
    assert is_signed(told, "hidden")


def test_the_loss_of_the_smallest_id_is_told_to_all_that_remain() -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    slaves = [BrokerPort(world, address) for address in ("10.0.0.2:20911", "10.0.0.3:30911")]
    master, others = world.connect(), world.connect()
    master.register(register_body(), **acting())
    others.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    others.register(register_body(), **acting(broker_id=2, broker_addr="10.0.0.3:30911"))
    master.lose()
    world.net.settle(1)
    for slave in slaves:
        (told,) = slave.heard()
        assert told.ext_fields == {
            "minBrokerId": "1",
            "brokerName": "b1",
            "minBrokerAddr": "10.0.0.2:20911",
            "offlineBrokerAddr": MASTER,
        }


def test_nobody_is_told_by_default() -> None:
    world = World()
    slave = BrokerPort(world, "10.0.0.2:20911")
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr="10.0.0.2:20911"))
    broker.register(register_body(), **acting())
    assert slave.talkers == []


@pytest.mark.parametrize("address", ["nonsense", "10.0.0.2:1", ":", "host:notaport", "10.0.0.2:99999999"])
def test_a_notice_to_an_address_that_leads_nowhere_harms_nobody(address: str) -> None:
    world = World(NamesrvOptions(notify_min_broker_id_changed=True))
    broker = world.connect()
    broker.register(register_body(), **acting(broker_id=1, broker_addr=address))
    assert broker.register(register_body(), **acting()).code == 0
    world.net.settle(5)
    assert broker.route("T1").code == 0


def test_after_a_stop_nothing_listens_and_no_timer_is_left() -> None:
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


def test_what_a_broker_and_a_client_say_in_a_day() -> None:
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


def test_a_port_in_use_stops_the_start_and_a_further_start_finds_everything_free() -> None:
    net = Net()
    net.taken.add(PORT)
    world = World(net=net)
    (failure,) = world.started
    failure.trap(CannotListenError)
    assert not [call for call in net.getDelayedCalls() if call.active()]
    net.taken.clear()
    again = World(disk=world.disk, net=net)
    assert again.started == [None] and again.service.port == PORT


def test_users_that_cannot_be_read_stop_the_start() -> None:
    disk = CrashDisk()
    write_table(disk, "/ns/users.json", b'{"userTable":{"alice":{"encryptedPassword":"x"}}}')
    with pytest.raises(ConfigError, match="users"):
        World(NamesrvOptions(authentication_enabled=True), disk)
