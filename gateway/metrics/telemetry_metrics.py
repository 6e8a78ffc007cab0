"""Metrics about the metrics that Kafka clients push (KIP-714); none unless `kafkaClientTelemetry` is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqgateway.engine.meters import TelemetryFigures
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import counter, gauge

KAFKA = "kafka"
Rows = list[tuple[tuple[str, ...], int]]


def _read(
    values: Callable[[TelemetryFigures], Mapping[tuple[str, ...], int]],
) -> Callable[[BrokerReading], Rows]:
    """Return a function that reads values by labels from the figures of a broker, if it has any."""

    def read(reading: BrokerReading) -> Rows:
        meter = reading.meters.front_ends.get(KAFKA)
        figures = None if meter is None or meter.telemetry is None else meter.telemetry()
        return [] if figures is None else list(values(figures).items())

    return read


TELEMETRY_METRICS = (
    gauge(
        "mqgateway_kafka_telemetry_clients",
        "Kafka clients whose metrics are received, if kafkaClientTelemetry is on.",
        _read(lambda figures: {(): figures.clients}),
    ),
    counter(
        "mqgateway_kafka_telemetry_pushes_total",
        "Pushes of metrics by Kafka clients.",
        _read(lambda figures: {(): figures.pushes}),
    ),
    counter(
        "mqgateway_kafka_telemetry_bytes_total",
        "Bytes of the metrics that Kafka clients pushed, compressed.",
        _read(lambda figures: {(): figures.pushed_bytes}),
    ),
    counter(
        "mqgateway_kafka_telemetry_refused_total",
        "Refused requests of Kafka clients about their metrics, by error.",
        _read(lambda figures: {(error,): count for error, count in figures.refused.items()}),
        labels=("error",),
    ),
)
