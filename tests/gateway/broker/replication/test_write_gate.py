"""Only its master writes to a slave's log."""

from __future__ import annotations

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.replication.write_gate import REFUSAL, closed_gate
from tests.support.engine.store.stores import message
from tests.support.gateway.broker.group import Group


def test_a_slave_puts_nothing() -> None:
    group = Group()
    group.master()
    store = group.slave().store
    end = store.raw.position
    refused = [
        store.put(message()),
        store.put_batch(message(), b""),
        store.put_inner_batch(message()),
    ]
    assert [(one.status, one.remark) for one in refused] == [(PutStatus.SERVICE_NOT_AVAILABLE, REFUSAL)] * 3
    assert store.raw.position == end


def test_a_master_writes_its_log() -> None:
    assert Group().master().store.gate is None


def test_each_role_has_its_reason() -> None:
    assert closed_gate(RoleKind.SLAVE).refusal == closed_gate(RoleKind.ACTING).refusal == REFUSAL
    assert len({closed_gate(kind).refusal for kind in RoleKind}) == 3
