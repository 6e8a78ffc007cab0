"""Metrics about the quotas of Kafka clients."""

from __future__ import annotations

from mqgateway.engine.meters import FrontEndMeter, QuotaFigures
from tests.support.gateway.metrics import ExportingBroker

KEY = "producer_byte_rate"


def test_figures_of_quotas_are_exported() -> None:
    host = ExportingBroker()
    meter = host.meters.front_ends["kafka"] = FrontEndMeter(has_latency=False)
    assert host.value("mqgateway_kafka_quota_entities") is None
    meter.read_from(lambda: 0, quotas=lambda: None)
    assert host.value("mqgateway_kafka_quota_entities") is None
    meter.read_from(lambda: 0, quotas=lambda: QuotaFigures(2, {KEY: 3}, {KEY: 4500}))
    assert host.value("mqgateway_kafka_quota_entities") == 2
    assert host.value("mqgateway_kafka_throttled_total", quota=KEY) == 3
    assert host.value("mqgateway_kafka_throttle_seconds_total", quota=KEY) == 4.5
