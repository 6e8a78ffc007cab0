"""Metrics of long retention."""

from __future__ import annotations

from mqgateway.engine.store.saved_log import DeletedObjects
from tests.support.gateway.metrics import ExportingBroker


def test_lag_is_exported_if_the_log_is_saved() -> None:
    host = ExportingBroker()
    broker = host.broker
    assert host.value("mqgateway_tier_saved_behind_bytes") is None
    broker.store_options.tiered_store_path = "file:///tier"
    assert host.value("mqgateway_tier_saved_behind_bytes") == 0
    saved = broker.store.admin.saved
    saved.saved_to, saved.oldest = 0, broker.clock.millis() - 7000
    assert host.value("mqgateway_tier_saved_behind_bytes") == broker.store.max_physical_offset
    assert host.value("mqgateway_tier_saved_behind_seconds") == 7


def test_deleted_objects_are_counted() -> None:
    host = ExportingBroker()
    broker = host.broker
    assert host.value("mqgateway_tier_deleted_bytes_total") is None
    broker.store_options.tiered_store_path = "file:///tier"
    broker.store.admin.saved.deleted = DeletedObjects(2, 3, 700)
    assert host.value("mqgateway_tier_deleted_bytes_total") == 700
    assert host.value("mqgateway_tier_deleted_objects_total", reason="expired") == 2
    assert host.value("mqgateway_tier_deleted_objects_total", reason="orphan") == 3
