"""Health of a broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqgateway.engine.ha.role import ReplicationRole, RoleKind
from mqgateway.gateway.broker.admin.health import Health, broker_health
from tests.support.gateway.broker.helpers import MemoryBroker


def health(host: MemoryBroker, registered: dict[str, bool] | None = None) -> Health:
    return broker_health(host.broker, registered or {})


def is_healthy(found: Health) -> bool:
    return all(check.is_fine for check in found.values())


def test_master_that_accepts_messages_is_healthy() -> None:
    found = health(MemoryBroker(), {"ns:9876": True})
    assert is_healthy(found)
    assert {part: check.state for part, check in found.items()} == {
        "store": "open",
        "role": "master, id 0",
        "name servers": "registered",
    }


def test_disk_that_takes_no_writes_is_reported() -> None:
    host = MemoryBroker()
    host.broker.store.disk_settled("no space left")
    found = health(host)
    assert not is_healthy(found)
    assert "no space left" in found["store"].state
    assert found["role"].is_fine


def test_broker_that_one_name_server_knows_is_healthy() -> None:
    host = MemoryBroker()
    assert is_healthy(health(host))
    assert health(host, {"a:1": True, "b:2": False})["name servers"] == (True, "not registered with b:2")
    assert not is_healthy(health(host, {"a:1": False, "b:2": False}))


def test_slave_that_follows_or_acts_is_healthy() -> None:
    host = MemoryBroker()
    broker: Any = host.broker
    broker.role = ReplicationRole(RoleKind.SLAVE, 1)
    assert health(host)["role"] == (False, "slave, id 1, without its master")
    broker.replication = SimpleNamespace(follows=True)
    assert health(host)["role"] == (True, "slave, id 1, follows its master")
    broker.replication = SimpleNamespace(follows=False)
    broker.membership = SimpleNamespace(group=SimpleNamespace(acts=True))
    broker.role.become(RoleKind.ACTING)
    assert health(host)["role"] == (True, "acting master, id 1")


def test_broker_that_drains_is_not_ready() -> None:
    host = MemoryBroker()
    assert "stop" not in health(host)
    host.broker.is_draining = True
    found = health(host)
    assert found["stop"] == (False, "draining: clients are moved to other brokers")
    assert [part for part, check in found.items() if not check.is_fine] == ["stop"]


def test_fenced_broker_is_unhealthy() -> None:
    host = MemoryBroker()
    host.broker.role.become(RoleKind.FENCED)
    assert not is_healthy(health(host))


def test_log_that_is_not_saved_in_time_is_unhealthy() -> None:
    host = MemoryBroker()
    assert "long retention" not in health(host)
    options, saved = host.broker.store_options, host.broker.store.admin.saved
    options.tiered_store_path = "file:///tier"
    assert health(host)["long retention"] == (True, "not known yet")
    saved.saved_to, saved.failure = 4096, "the store is away"
    assert health(host)["long retention"] == (True, "saved, the store is away")
    half = options.file_reserved_time * 3_600_000 // 2
    saved.oldest = host.broker.clock.millis() - half
    assert health(host)["long retention"].is_fine
    saved.oldest -= 1000
    state = f"the oldest message that is not saved is {half // 1000 + 1} s old, the store is away"
    assert health(host)["long retention"] == (False, state)
