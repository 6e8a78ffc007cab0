"""A live broker keeps its name and address against other hosts."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv.claims import SILENT_MILLIS
from mqgateway.gateway.namesrv.registration import BrokerKey, RegistrationRefused
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import MASTER, NOW, OTHER, SLAVE, says, version

HOME, AWAY = "10.0.0.1", "192.168.6.6"


@pytest.fixture
def tables() -> RouteTables:
    """Tables with one broker, master of b1."""
    tables = RouteTables(NamesrvOptions())
    tables.register(says(host=HOME, data_version=version(5)), NOW)
    return tables


@pytest.mark.parametrize(
    "said",
    [
        {"address": OTHER},
        {"address": OTHER, "cluster": "another"},
        {"address": OTHER, "data_version": version(9, state=9)},
        {"address": MASTER},
        {"address": MASTER, "name": "b9"},
        {"address": MASTER, "broker_id": 3},
    ],
)
def test_other_host_cannot_claim_id_or_address(tables: RouteTables, said: dict[str, object]) -> None:
    before = (dict(tables.brokers), set(tables.live), dict(tables.topic_queues))
    with pytest.raises(RegistrationRefused, match=HOME):
        tables.register(says("new", host=AWAY, **said), NOW + SILENT_MILLIS)  # type: ignore[arg-type]
    assert (dict(tables.brokers), set(tables.live), dict(tables.topic_queues)) == before


def test_silent_or_removed_broker_keeps_no_claim(tables: RouteTables) -> None:
    tables.register(says(address=OTHER, host=AWAY, data_version=version(6)), NOW + SILENT_MILLIS + 1)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    tables.leave([tables._leaving(key, live) for key, live in tables.live.items()])
    tables.register(says(host=HOME), NOW + SILENT_MILLIS + 1)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}


def test_shorter_heartbeat_timeout_ends_claim_sooner(tables: RouteTables) -> None:
    tables.register(says(host=HOME, heartbeat_timeout=10_000, data_version=version(6)), NOW)
    tables.register(says(address=OTHER, host=AWAY), NOW + 10_001)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}


def test_same_or_unknown_host_may_claim_as_in_rocketmq(tables: RouteTables) -> None:
    for host, address in ((HOME, "10.0.0.1:10999"), ("", OTHER)):
        tables.register(says(address=address, host=host, data_version=version(7)), NOW)
        assert tables.brokers["b1"].broker_addrs == {0: address}


def test_slave_has_own_id(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, host=AWAY), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER, 1: SLAVE}
    with pytest.raises(RegistrationRefused):
        tables.register(says(broker_id=1, address=OTHER, host="10.0.0.3"), NOW)


def test_controller_decision_transfers_master_id(tables: RouteTables) -> None:
    tables.register(says(host=HOME, data_version=version(6, state=1)), NOW)
    tables.register(says(broker_id=2, address=SLAVE, host="10.0.0.2", data_version=version(1, state=1)), NOW)
    after = version(2, state=2)
    with pytest.raises(RegistrationRefused):
        tables.register(says(address=OTHER, host=AWAY, data_version=after), NOW)
    tables.register(says(address=SLAVE, host="10.0.0.2", data_version=after), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: SLAVE}


def test_other_host_cannot_unregister_broker(tables: RouteTables) -> None:
    key = BrokerKey("c1", MASTER)
    assert not tables.may_leave(key, AWAY, NOW)
    assert tables.may_leave(key, HOME, NOW)
    assert tables.may_leave(key, AWAY, NOW + SILENT_MILLIS + 1)
    assert tables.may_leave(BrokerKey("c1", OTHER), AWAY, NOW)


def test_same_registration_from_other_host_is_processed(tables: RouteTables) -> None:
    tables.register(says(host=HOME, fingerprint=1), NOW)
    key = BrokerKey("c1", MASTER)
    assert tables.register_again(key, 0, 1, object(), HOME, NOW) is not None
    assert tables.register_again(key, 0, 1, object(), AWAY, NOW) is None


def test_authentication_disables_host_claims(tables: RouteTables) -> None:
    tables.options.authentication_enabled = True
    tables.register(says(address=OTHER, host=AWAY, data_version=version(6)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    assert tables.may_leave(BrokerKey("c1", OTHER), HOME, NOW)


def test_outdated_master_is_ignored_without_error(tables: RouteTables) -> None:
    tables.register(says(host=HOME, data_version=version(6, state=3)), NOW)
    registered = tables.register(says(address=OTHER, host=AWAY, data_version=version(9, state=2)), NOW)
    assert (registered.master_address, tables.brokers["b1"].broker_addrs) == (None, {0: MASTER})
    with pytest.raises(RegistrationRefused):
        said = says(address=OTHER, host=AWAY, cluster="another", data_version=version(9, state=2))
        tables.register(said, NOW)
