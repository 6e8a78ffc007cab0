"""What a broker has it keeps while it is there, whoever wants it."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import NamesrvOptions
from mqgateway.gateway.namesrv.claims import SILENT_MILLIS
from mqgateway.gateway.namesrv.registration import BrokerKey, Refused
from mqgateway.gateway.namesrv.routes import RouteTables
from tests.support.gateway.namesrv.brokers import MASTER, NOW, OTHER, SLAVE, says, version

HOME, AWAY = "10.0.0.1", "192.168.6.6"


@pytest.fixture
def tables() -> RouteTables:
    """With one broker, master of b1."""
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
def test_nobody_elsewhere_gets_the_id_or_the_address(tables: RouteTables, said: dict[str, object]) -> None:
    before = (dict(tables.brokers), set(tables.live), dict(tables.topic_queues))
    with pytest.raises(Refused, match=HOME):
        tables.register(says("new", host=AWAY, **said), NOW + SILENT_MILLIS)  # type: ignore[arg-type]
    assert (dict(tables.brokers), set(tables.live), dict(tables.topic_queues)) == before


def test_who_is_silent_or_gone_has_nothing(tables: RouteTables) -> None:
    tables.register(says(address=OTHER, host=AWAY, data_version=version(6)), NOW + SILENT_MILLIS + 1)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    tables.leave([tables._leaving(key, live) for key, live in tables.live.items()])
    tables.register(says(host=HOME), NOW + SILENT_MILLIS + 1)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER}


def test_a_broker_that_promised_to_be_heard_of_sooner_is_silent_sooner(tables: RouteTables) -> None:
    tables.register(says(host=HOME, heartbeat_timeout=10_000, data_version=version(6)), NOW)
    tables.register(says(address=OTHER, host=AWAY), NOW + 10_001)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}


def test_on_the_same_host_and_behind_what_hides_hosts_it_is_as_with_the_standard(tables: RouteTables) -> None:
    for host, address in ((HOME, "10.0.0.1:10999"), ("", OTHER)):
        tables.register(says(address=address, host=host, data_version=version(7)), NOW)
        assert tables.brokers["b1"].broker_addrs == {0: address}


def test_slaves_have_ids_of_their_own(tables: RouteTables) -> None:
    tables.register(says(broker_id=1, address=SLAVE, host=AWAY), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: MASTER, 1: SLAVE}
    with pytest.raises(Refused):
        tables.register(says(broker_id=1, address=OTHER, host="10.0.0.3"), NOW)


def test_a_controller_makes_another_member_master(tables: RouteTables) -> None:
    tables.register(says(host=HOME, data_version=version(6, state=1)), NOW)
    tables.register(says(broker_id=2, address=SLAVE, host="10.0.0.2", data_version=version(1, state=1)), NOW)
    after = version(2, state=2)
    with pytest.raises(Refused):
        tables.register(says(address=OTHER, host=AWAY, data_version=after), NOW)
    tables.register(says(address=SLAVE, host="10.0.0.2", data_version=after), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: SLAVE}


def test_nobody_elsewhere_takes_leave_for_a_broker(tables: RouteTables) -> None:
    key = BrokerKey("c1", MASTER)
    assert not tables.may_leave(key, AWAY, NOW)
    assert tables.may_leave(key, HOME, NOW)
    assert tables.may_leave(key, AWAY, NOW + SILENT_MILLIS + 1)
    assert tables.may_leave(BrokerKey("c1", OTHER), AWAY, NOW)


def test_the_same_words_from_elsewhere_are_not_the_same(tables: RouteTables) -> None:
    tables.register(says(host=HOME, fingerprint=1), NOW)
    key = BrokerKey("c1", MASTER)
    assert tables.register_again(key, 0, 1, object(), HOME, NOW) is not None
    assert tables.register_again(key, 0, 1, object(), AWAY, NOW) is None


def test_where_somebody_is_asked_who_they_are_users_decide(tables: RouteTables) -> None:
    tables.options.authentication_enabled = True
    tables.register(says(address=OTHER, host=AWAY, data_version=version(6)), NOW)
    assert tables.brokers["b1"].broker_addrs == {0: OTHER}
    assert tables.may_leave(BrokerKey("c1", OTHER), HOME, NOW)


def test_a_master_of_an_earlier_decision_is_passed_over_and_no_error(tables: RouteTables) -> None:
    tables.register(says(host=HOME, data_version=version(6, state=3)), NOW)
    registered = tables.register(says(address=OTHER, host=AWAY, data_version=version(9, state=2)), NOW)
    assert (registered.master_address, tables.brokers["b1"].broker_addrs) == (None, {0: MASTER})
    with pytest.raises(Refused):
        said = says(address=OTHER, host=AWAY, cluster="another", data_version=version(9, state=2))
        tables.register(said, NOW)
