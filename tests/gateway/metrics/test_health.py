from types import SimpleNamespace
from typing import Any, cast

from mqgateway.engine.ha.role import Role, RoleKind
from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.broker.cluster.registration import Registration
from mqgateway.gateway.container.container import Container
from mqgateway.gateway.container.plan import BrokerIdentity, Plan
from mqgateway.gateway.container.supervision import Charge, State
from mqgateway.gateway.metrics.health import (
    Health,
    broker_health,
    container_health,
    is_ready,
    name_server_health,
)
from tests.support.gateway.broker.helpers import MemoryBroker


def health(host: MemoryBroker, told: dict[str, bool] | None = None) -> Health:
    return broker_health(host.broker, cast(Registration, SimpleNamespace(registered=told or {})))


def test_a_master_that_takes_messages_is_ready() -> None:
    found = health(MemoryBroker(), {"ns:9876": True})
    assert is_ready(found)
    assert {part: check.state for part, check in found.items()} == {
        "store": "open",
        "role": "master, id 0",
        "name servers": "registered",
    }


def test_a_disk_that_takes_no_writes_is_told() -> None:
    host = MemoryBroker()
    host.broker.store.disk_settled("no space left")
    found = health(host)
    assert not is_ready(found)
    assert "no space left" in found["store"].state
    assert found["role"].is_fine


def test_one_name_server_must_know_the_broker() -> None:
    host = MemoryBroker()
    assert is_ready(health(host))
    assert health(host, {"a:1": True, "b:2": False})["name servers"] == (True, "not registered with b:2")
    assert not is_ready(health(host, {"a:1": False, "b:2": False}))


def test_a_slave_is_ready_when_it_follows_or_acts() -> None:
    host = MemoryBroker()
    broker: Any = host.broker
    broker.role = Role(RoleKind.SLAVE, 1)
    assert health(host)["role"] == (False, "slave, id 1, without its master")
    broker.replication = SimpleNamespace(follows=True)
    assert health(host)["role"] == (True, "slave, id 1, follows its master")
    broker.replication = SimpleNamespace(follows=False)
    broker.membership = SimpleNamespace(group=SimpleNamespace(acts=True))
    broker.role.become(RoleKind.ACTING)
    assert health(host)["role"] == (True, "acting master, id 1")


def test_a_fenced_broker_is_not_ready() -> None:
    host = MemoryBroker()
    host.broker.role.become(RoleKind.FENCED)
    assert not is_ready(health(host))


def test_a_name_server_that_holds_routes_back_is_not_ready() -> None:
    server = SimpleNamespace(is_ready=lambda: False, options=NamesrvOptions())
    assert not is_ready(name_server_health(cast(Any, server)))
    server.is_ready = lambda: True
    assert is_ready(name_server_health(cast(Any, server)))


def test_a_container_is_ready_when_all_its_brokers_are_up() -> None:
    charge = Charge(Plan(BrokerIdentity("C", "a", 0), "/a.conf", 10911), state=State.UP, address="h:10911")
    container = cast(Container, SimpleNamespace(supervision=[charge]))
    assert is_ready(container_health(container))
    charge.state = State.WAITING
    found = container_health(container)
    assert not is_ready(found)
    assert found["C_a_0"].state.startswith("waiting to be started again")
