"""Targets of pushed metrics: a collector by OTLP, or the log as OTLP's JSON.

OTLP needs the SDK of OpenTelemetry, an extra (`pip install mqgateway[otel]`). Metrics are sent from a
separate thread. RocketMQ: `metricsExporterType=OTLP_GRPC` and `LOG`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.metrics import ExporterOptions, MetricsOptions
from mqgateway.gateway.metrics.metric import MetricKind, common_labels
from mqgateway.gateway.metrics.points import BucketCounts, Family, Point

log = logging.getLogger(__name__)
lines = logging.getLogger("mqgateway.metrics")
"""Logger of metrics. RocketMQ: the file `broker_metrics.log`."""

SCOPE = "broker-meter"
NEEDED = "metricsExporterType=OTLP_GRPC needs OpenTelemetry's SDK: pip install mqgateway[otel]"
LINE_MAX = 3500
"""Maximum length of the points in one line, in characters: less than a line of the log may have."""
CUMULATIVE, DELTA = 2, 1
"""Numbers of OTLP's `AggregationTemporality`."""


class Target(Protocol):
    """Target of pushed metrics. `waits`: sending blocks, and has to run outside the event loop."""

    waits: bool

    def send(self, families: list[Family], began: int, now: int) -> None:
        """Send the counts from `began` until `now`, both in ms since the epoch. May raise any exception."""
        ...


def target_of(options: ExporterOptions) -> Target:
    """Return the target that the settings name. Raises `ConfigError`."""
    return ToLog(options.metrics_in_delta) if options.logs_metrics else ToCollector(options)


class ToLog:
    """Lines of the log, each with as many points of one metric as fit. RocketMQ:
    `OtlpJsonLoggingMetricExporter`."""

    waits = False

    def __init__(self, is_delta: bool) -> None:
        self._temporality = DELTA if is_delta else CUMULATIVE

    def send(self, families: list[Family], began: int, now: int) -> None:
        """See `Target`."""
        for family in families:
            for part in _parts([_point(family, point, began, now) for point in family.points]):
                metric = {"name": family.name, "description": family.meaning, "unit": family.unit}
                metrics = [metric | self._data(family.kind, part)]
                scope = {"scope": {"name": SCOPE}, "metrics": metrics}
                lines.info("%s", json.dumps({"resource": {}, "scopeMetrics": [scope]}, separators=(",", ":")))

    def _data(self, kind: MetricKind, points: list[dict[str, Any]]) -> dict[str, Any]:
        if kind is MetricKind.GAUGE:
            return {"gauge": {"dataPoints": points}}
        counted = {"dataPoints": points, "aggregationTemporality": self._temporality}
        return (
            {"sum": counted | {"isMonotonic": True}} if kind is MetricKind.COUNTER else {"histogram": counted}
        )


def _point(family: Family, point: Point, began: int, now: int) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(began * 1_000_000), "timeUnixNano": str(now * 1_000_000)}
    shown: dict[str, Any] = {
        "attributes": [
            {"key": name, "value": {"stringValue": value}} for name, value in sorted(point.attributes.items())
        ]
    }
    value = point.value
    if isinstance(value, BucketCounts):
        counts = [str(count) for count in value.buckets]
        bounds = [float(bound) for bound in family.bounds]
        whole = {"count": str(sum(value.buckets)), "sum": value.sum}
        return shown | times | whole | {"bucketCounts": counts, "explicitBounds": bounds}
    return shown | times | ({"asInt": str(value)} if isinstance(value, int) else {"asDouble": value})


def _parts(points: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    size = 0
    for point in points:
        length = len(json.dumps(point, separators=(",", ":")))
        if part and size + length > LINE_MAX:
            yield part
            part, size = [], 0
        part.append(point)
        size += length
    if part:
        yield part


class ToCollector:
    """An OTLP collector over gRPC. Raises `ConfigError` without a target or the SDK."""

    waits = True

    def __init__(self, options: ExporterOptions) -> None:
        target = options.metrics_grpc_exporter_target.strip()
        if not target:
            raise ConfigError(
                "metricsExporterType=OTLP_GRPC needs metricsGrpcExporterTarget=http://HOST:4317"
            )
        try:
            from grpc import Compression
            from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics import export
        except ImportError as error:
            raise ConfigError(f"{NEEDED} ({error})") from None
        # The SDK logs every failure itself; the pusher logs the first one.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._data: Any = export
        self._temporality = export.AggregationTemporality(DELTA if options.metrics_in_delta else CUMULATIVE)
        endpoint = target if target.startswith("http") else f"https://{target}"
        self._exporter = OTLPMetricExporter(
            endpoint=endpoint,
            insecure=endpoint.startswith("http://"),
            headers=tuple(
                (name.lower(), value)
                for name, value in common_labels(options.metrics_grpc_exporter_header).items()
            ),
            timeout=options.metric_grpc_exporter_time_out_in_mills / 1000,
            compression=Compression.Gzip,
            max_export_batch_size=options.metrics_export_batch_max_data_points
            if isinstance(options, MetricsOptions)
            else None,
        )

    def send(self, families: list[Family], began: int, now: int) -> None:
        """See `Target`. Raises `OSError` if the collector did not accept the metrics."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        times = began * 1_000_000, now * 1_000_000
        metrics = [self._metric(family, *times) for family in families]
        scope = self._data.ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
        resource = self._data.ResourceMetrics(Resource({}), [scope], "")
        outcome = self._exporter.export(self._data.MetricsData([resource]))
        if outcome is not self._data.MetricExportResult.SUCCESS:
            raise OSError("the collector did not take them")

    def _metric(self, family: Family, began: int, now: int) -> Any:
        data, kind = self._data, family.kind
        if kind is MetricKind.HISTOGRAM:
            points = [self._counts(family, point, began, now) for point in family.points]
            values = data.Histogram(points, self._temporality)
        else:
            points = [
                data.NumberDataPoint(point.attributes, began, now, point.value) for point in family.points
            ]
            values = (
                data.Gauge(points) if kind is MetricKind.GAUGE else data.Sum(points, self._temporality, True)
            )
        return data.Metric(family.name, family.meaning, family.unit, values)

    def _counts(self, family: Family, point: Point, began: int, now: int) -> Any:
        counts = point.value
        assert isinstance(counts, BucketCounts)
        bounds = [float(bound) for bound in family.bounds]
        return self._data.HistogramDataPoint(
            point.attributes, began, now, sum(counts.buckets), counts.sum, counts.buckets, bounds, None, None
        )
