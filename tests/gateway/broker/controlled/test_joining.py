"""Joining of a broker, also with failures."""

from __future__ import annotations

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import CleanControllerBrokerDataRequestHeader
from tests.support.gateway.broker.controlled import BrokerSet


def test_broker_gets_an_id_and_keeps_it() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    third = brokers.join(3)
    assert [one.controlled.number for one in brokers.replicas] == [1, 2, 3]
    for one in (master, slave, third):
        one.kill().again()
        brokers.wait(12)
    assert [one.controlled.number for one in brokers.replicas] == [1, 2, 3]
    assert not third.disk.exists("/store/brokerIdentity-temp")


def test_application_for_an_id_is_repeated_after_a_crash() -> None:
    brokers = BrokerSet()
    first = brokers.join(1)
    first.kill()
    path = "/store/brokerIdentity"
    text = b"DefaultCluster#b1#1#10.0.0.1:11911;"
    controller = brokers.controller.controller.state.sets["b1"].replicas[1]
    assert controller.check_code.startswith("10.0.0.1:11911;")
    first.disk.lose(path)
    temp = first.disk.open(f"{path}-temp", create=True)
    temp.write(0, text + controller.check_code.partition(";")[2].encode())
    first.again()
    brokers.wait(8)
    assert first.controlled.number == 1
    assert first.leads


def test_id_of_another_broker_is_given_up() -> None:
    brokers = BrokerSet()
    brokers.join(1)
    second = brokers.join(2)
    second.kill()
    second.disk.lose("/store/brokerIdentity")
    temp = second.disk.open("/store/brokerIdentity-temp", create=True)
    temp.write(0, b"DefaultCluster#b1#1#somebody:1;5")
    second.again()
    brokers.wait(8)
    assert second.controlled.number == 3


def test_the_identity_of_another_broker_is_not_used() -> None:
    brokers = BrokerSet()
    first = brokers.join(1)
    first.kill()
    first.settings["broker_name"] = "b2"
    first.again()
    brokers.wait(8)
    assert first.kind is RoleKind.FENCED


def test_removed_broker_does_not_rejoin() -> None:
    brokers = BrokerSet()
    _, slave = brokers.pair()
    slave.kill()
    brokers.wait(1)
    header = CleanControllerBrokerDataRequestHeader(
        cluster_name="DefaultCluster", broker_name="b1", broker_controller_ids_to_clean="2"
    )
    assert brokers.ask_controller(RequestCode.CLEAN_BROKER_DATA, header) == 0
    slave.again()
    brokers.wait(8)
    assert slave.kind is RoleKind.FENCED
