"""A stop that takes its time: producers go elsewhere, or another of the set becomes master."""

from __future__ import annotations

import zlib
from typing import Any

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.codec.bodies import RegisterBrokerBody, TopicConfigAndMappingSerializeWrapper
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import RegisterBrokerRequestHeader
from tests.gateway.broker.test_service import NAME_SERVER, World
from tests.support.gateway.broker.controlled import BrokerSet
from tests.support.gateway.broker.helpers import send_header

LONG = 40_000


def world_with_another(**options: Any) -> World:
    """A broker that runs, and a name server that knows another one."""
    world = World(**options).start()
    body = RegisterBrokerBody(TopicConfigAndMappingSerializeWrapper()).encode()
    header = RegisterBrokerRequestHeader(
        broker_name="b2",
        broker_addr="10.0.0.2:10911",
        cluster_name="DefaultCluster",
        ha_server_addr="",
        broker_id=0,
        body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
    )
    assert world.connect(NAME_SERVER).ask(RequestCode.REGISTER_BROKER, header, body).code == 0
    return world


def drain(service: Any) -> list[Any]:
    drained: list[Any] = []
    service.drain().addBoth(drained.append)
    return drained


def test_drain_redirects_producers_and_accepts_sends() -> None:
    world = world_with_another(drain_timeout_millis=LONG)
    client = world.connect()
    client.create("T")
    assert not world.service.broker.is_draining
    drained = drain(world.service)
    assert world.service.broker.is_draining
    for _ in range(4):
        world.net.settle(4)
        assert client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"late").code == 0
        assert not drained
    assert world.route("T")["queueDatas"][0]["perm"] == 4
    world.net.settle(7)
    assert drained == [None] and not world.service.drain_shortfall
    world.stop()
    assert world.stopped == [None] and world.route("T") is None


def test_drain_with_a_sending_client_ends_at_the_timeout() -> None:
    world = world_with_another(drain_timeout_millis=10_000)
    client = world.connect()
    client.create("T")
    drained = drain(world.service)
    for _ in range(10):
        assert not drained
        client.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"late")
        world.net.settle(1)
    assert drained == [None]
    assert world.service.drain_shortfall == "producers still sent to it after 10000 ms"


def test_drain_does_not_wait_for_producers_of_record_batches() -> None:
    world = world_with_another(drain_timeout_millis=LONG)
    drained = drain(world.service)
    for _ in range(8):
        world.service.broker.stats.put_batch("T", 1, 100)
        world.net.settle(1)
    assert drained == [None]


def test_drain_can_be_cancelled() -> None:
    world = world_with_another(drain_timeout_millis=LONG)
    cut: list[Any] = []
    waiting = world.service.drain().addErrback(cut.append)
    world.net.settle(1)
    assert not waiting.called
    waiting.cancel()
    assert len(cut) == 1
    assert world.stop().stopped == [None]


def test_useless_drain_ends_at_once() -> None:
    without_setting = world_with_another()
    assert drain(without_setting.service) == [None] and not without_setting.service.broker.is_draining
    alone = World(drain_timeout_millis=LONG).start()
    drained = drain(alone.service)
    alone.net.settle(0.1)
    assert drained == [None]
    assert drain(World(role=BrokerRole.SLAVE, broker_id=1, drain_timeout_millis=LONG).start().service) == [
        None
    ]


def test_drain_ends_at_once_if_all_brokers_stop() -> None:
    world = world_with_another(drain_timeout_millis=LONG)
    drained: list[Any] = []
    world.service.drain(["b2", "broker-a"]).addBoth(drained.append)
    world.net.settle(0.1)
    assert drained == [None] and not world.service.drain_shortfall


def test_controlled_broker_hands_over_before_it_stops() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair(drain_timeout_millis=LONG)
    master.send(5)
    brokers.wait(1)
    drained = drain(master.service)
    brokers.wait(0.5)
    assert drained == [None]
    assert (master.kind, slave.leads) == (RoleKind.SLAVE, True)
    slave.send(1, body=b"after")
    assert slave.bodies() == [b"hello"] * 5 + [b"after"]


def test_failed_handover_does_not_prevent_the_stop() -> None:
    alone = BrokerSet()
    replica = alone.join(1, drain_timeout_millis=LONG)
    alone.wait(8)
    assert replica.leads and drain(replica.service) == [None]
    brokers = BrokerSet()
    master, _ = brokers.pair(drain_timeout_millis=3000)
    brokers.stop_controller()
    drained = drain(master.service)
    brokers.wait(4)
    assert drained == [None] and master.kind is not RoleKind.SLAVE
    assert master.service.drain_shortfall.startswith("no other master was elected: ")
