"""Metrics of long retention; none unless `tieredStorePath` is set."""

from __future__ import annotations

from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import counter, gauge

Rows = list[tuple[tuple[str, ...], float]]


def _bytes(reading: BrokerReading) -> Rows:
    behind = reading.saved_behind
    return [] if behind is None else [((), behind[0])]


def _seconds(reading: BrokerReading) -> Rows:
    behind = reading.saved_behind
    return [] if behind is None else [((), behind[1])]


def _deleted_objects(reading: BrokerReading) -> Rows:
    deleted = reading.deleted_objects
    return [] if deleted is None else [(("expired",), deleted.segments), (("orphan",), deleted.orphans)]


def _deleted_bytes(reading: BrokerReading) -> Rows:
    deleted = reading.deleted_objects
    return [] if deleted is None else [((), deleted.bytes)]


TIER_METRICS = (
    gauge(
        "mqgateway_tier_saved_behind_bytes",
        "Bytes of the log that are not saved to the object store of tieredStorePath.",
        _bytes,
        unit="bytes",
    ),
    gauge(
        "mqgateway_tier_saved_behind_seconds",
        "Age of the oldest message that is not saved there, in seconds; 0 if all are.",
        _seconds,
        unit="seconds",
    ),
    counter(
        "mqgateway_tier_deleted_objects_total",
        "Objects that were deleted there: segments that had expired, and orphans.",
        _deleted_objects,
        labels=("reason",),
    ),
    counter(
        "mqgateway_tier_deleted_bytes_total",
        "Bytes of objects that were deleted there, indexes too.",
        _deleted_bytes,
    ),
)
