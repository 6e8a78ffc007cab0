"""905, 906 and 908 on brokers that have no part in any of that."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    ExchangeHAInfoRequestHeader,
    NotifyMinBrokerIdChangeRequestHeader,
    ResetMasterFlushOffsetHeader,
)
from tests.support.gateway.broker.group import Group


def test_slave_without_the_setting_never_acts() -> None:
    group = Group()
    group.master()
    slave = group.slave()
    header = NotifyMinBrokerIdChangeRequestHeader(min_broker_id=1, min_broker_addr="10.0.0.1:11911")
    assert slave.code(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, header) == 0
    assert slave.code(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE) == 0
    assert not slave.service.group.membership.group.acts


def test_master_returns_its_replication_address_to_any_slave() -> None:
    group = Group()
    slave = group.slave()
    header = ExchangeHAInfoRequestHeader(
        master_ha_address="10.0.0.1:10912", master_address="10.0.0.1:10911", master_flush_offset=0
    )
    assert slave.code(RequestCode.EXCHANGE_BROKER_HA_INFO, header) == 0
    client = slave.service.group.replication.client
    assert client is not None
    assert (client.ha_address, client.main_address) == ("10.0.0.1:10912", "10.0.0.1:10911")


def test_reset_of_the_flush_offset_is_a_no_op() -> None:
    slave = Group().slave()
    header = ResetMasterFlushOffsetHeader(master_flush_offset=5)
    assert slave.code(RequestCode.RESET_MASTER_FLUSH_OFFSET, header) == 0
