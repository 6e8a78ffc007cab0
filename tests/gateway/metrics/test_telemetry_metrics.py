"""Metrics about the metrics that Kafka clients push."""

from __future__ import annotations

from mqgateway.engine.meters import FrontEndMeter, TelemetryFigures
from tests.support.gateway.metrics import ExportingBroker


def test_figures_of_telemetry_are_exported() -> None:
    host = ExportingBroker()
    meter = host.meters.front_ends["kafka"] = FrontEndMeter(has_latency=False)
    assert host.value("mqgateway_kafka_telemetry_clients") is None
    meter.read_from(lambda: 0, telemetry=lambda: None)
    assert host.value("mqgateway_kafka_telemetry_clients") is None
    figures = TelemetryFigures(2, 3, 400, {"TELEMETRY_TOO_LARGE": 1})
    meter.read_from(lambda: 0, telemetry=lambda: figures)
    assert host.value("mqgateway_kafka_telemetry_clients") == 2
    assert host.value("mqgateway_kafka_telemetry_pushes_total") == 3
    assert host.value("mqgateway_kafka_telemetry_bytes_total") == 400
    assert host.value("mqgateway_kafka_telemetry_refused_total", error="TELEMETRY_TOO_LARGE") == 1
