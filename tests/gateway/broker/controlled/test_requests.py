"""1007 and 1008 at a broker."""

from __future__ import annotations

from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.codec.bodies import EpochEntryCache, SyncStateSet
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import NotifyBrokerRoleChangedRequestHeader
from tests.support.gateway.broker.controlled import BrokerSet
from tests.support.gateway.broker.helpers import MemoryBroker


def test_without_a_controller_there_are_no_epochs() -> None:
    """And a notice changes nothing."""
    broker = MemoryBroker()
    answer = broker.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert (answer.code, answer.remark) == (1, "this request only for controllerMode ")
    assert broker.ask(RequestCode.NOTIFY_BROKER_ROLE_CHANGED).code == 0


def test_epochs_are_returned() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(2)
    answer = master.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert answer is not None
    reported = EpochEntryCache.decode(answer.body)
    assert (reported.cluster_name, reported.broker_name, reported.broker_id) == ("DefaultCluster", "b1", 0)
    (entry,) = reported.epoch_list
    assert (entry.epoch, entry.start_offset, entry.end_offset) == (1, 0, 2**63 - 1)
    assert reported.max_offset == master.store.max_physical_offset
    answer = slave.ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert answer is not None
    assert EpochEntryCache.decode(answer.body).broker_id == 2


def test_notification_of_an_old_epoch_is_ignored() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    for epoch in (0, 1):
        header = NotifyBrokerRoleChangedRequestHeader(
            master_address="10.0.0.9:1", master_epoch=epoch, sync_state_set_epoch=9, master_broker_id=2
        )
        assert master.code(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, header, SyncStateSet({2}, 9).encode()) == 0
    assert master.leads
    assert slave.kind is RoleKind.SLAVE


def test_notification_of_a_new_epoch_applies_at_once() -> None:
    brokers = BrokerSet()
    master, _ = brokers.pair()
    header = NotifyBrokerRoleChangedRequestHeader(
        master_address="10.0.0.1:12911", master_epoch=2, sync_state_set_epoch=9, master_broker_id=2
    )
    body = SyncStateSet({2}, 9).encode()
    assert master.code(RequestCode.NOTIFY_BROKER_ROLE_CHANGED, header, body) == 0
    assert master.kind is RoleKind.SLAVE
