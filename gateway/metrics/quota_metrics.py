"""Metrics about the quotas of Kafka clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqgateway.engine.meters import QuotaFigures
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import counter, gauge

KAFKA = "kafka"
Rows = list[tuple[tuple[str, ...], float]]


def _read(
    values: Callable[[QuotaFigures], Mapping[tuple[str, ...], float]],
) -> Callable[[BrokerReading], Rows]:
    """Return a function that reads values by labels from the figures of a broker, if it has any."""

    def read(reading: BrokerReading) -> Rows:
        meter = reading.meters.front_ends.get(KAFKA)
        figures = None if meter is None or meter.quotas is None else meter.quotas()
        return [] if figures is None else list(values(figures).items())

    return read


QUOTA_METRICS = (
    gauge(
        "mqgateway_kafka_quota_entities",
        "Users, client ids and addresses of Kafka clients that have quotas.",
        _read(lambda figures: {(): figures.entities}),
    ),
    counter(
        "mqgateway_kafka_throttled_total",
        "Requests and connections of Kafka clients beyond a quota, by its key.",
        _read(lambda figures: {(key,): count for key, count in figures.throttled.items()}),
        labels=("quota",),
    ),
    counter(
        "mqgateway_kafka_throttle_seconds_total",
        "Time for which Kafka clients were throttled, by the key of the quota.",
        _read(lambda figures: {(key,): millis / 1000 for key, millis in figures.throttle_millis.items()}),
        labels=("quota",),
    ),
)
