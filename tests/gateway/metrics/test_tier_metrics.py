"""Metrics of long retention."""

from __future__ import annotations

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
