"""Metrics as points of OpenTelemetry's data model, to be pushed.

They are read incrementally from the declarations that a scrape reads. Names have no unit suffix, as in
RocketMQ's push exporters. RocketMQ: the input of the exporter of `PeriodicMetricReader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from mqgateway.engine.meters import Distribution
from mqgateway.engine.steps import Steps
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample, Samples

Source = TypeVar("Source")

SAMPLES_A_STEP = 64
OVERFLOW = {"otel.metric.overflow": "true"}


class BucketCounts(NamedTuple):
    """Snapshot of a distribution: the number of values in each bucket, and the sum of the values."""

    buckets: tuple[int, ...]
    sum: int


class Point(NamedTuple):
    """One series."""

    attributes: Mapping[str, str]
    value: float | BucketCounts


class Family(NamedTuple):
    """The series of one metric."""

    name: str
    kind: MetricKind
    meaning: str
    unit: str
    bounds: tuple[int, ...]
    points: list[Point]


def collect(
    metrics: Iterable[Metric[Source]], source: Source, common: Mapping[str, str], most: int
) -> Steps[list[Family]]:
    """Return the series of these metrics, without metrics that have none.

    Each metric has at most `most` series, plus one for the overflow.
    """
    families = []
    for metric in metrics:
        points: list[Point] = []
        for number, sample in enumerate(_singly(metric.read(source))):
            if number % SAMPLES_A_STEP == 0:
                yield
            if sample is None:
                continue
            if len(points) > most:
                break
            labels, value = sample
            if labels is None:
                own: Mapping[str, str] = OVERFLOW
            else:
                shown = zip(metric.labels, metric.shown(source, labels), strict=True)
                own = {name: label for name, label in shown if label}
            if isinstance(value, Distribution):
                value = BucketCounts(tuple(value.counts), value.sum)  # type: ignore[assignment]
            points.append(Point({**common, **own}, value))  # type: ignore[arg-type]
        if points:
            families.append(
                Family(metric.name, metric.kind, metric.meaning, metric.unit, metric.bounds, points)
            )
    return families


def _singly(samples: Samples) -> Iterator[Sample | None]:
    for one in samples:
        if isinstance(one, list):
            yield from one
        else:
            yield one


class Deltas:
    """Increments of counts since the previous push. RocketMQ: `AggregationTemporality.DELTA`."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, frozenset[tuple[str, str]]], Any] = {}

    def of(self, families: Iterable[Family]) -> list[Family]:
        """Return the families with counts as increments; gauges are unchanged."""
        before, self._before = self._before, {}
        return [
            family
            if family.kind is MetricKind.GAUGE
            else family._replace(
                points=[self._difference(before, family.name, point) for point in family.points]
            )
            for family in families
        ]

    def _difference(self, before: Mapping[Any, Any], name: str, point: Point) -> Point:
        key = name, frozenset(point.attributes.items())
        self._before[key] = now = point.value
        then = before.get(key)
        if then is None:
            return point
        if isinstance(now, BucketCounts):
            buckets = tuple(new - old for new, old in zip(now.buckets, then.buckets, strict=True))
            return point._replace(value=BucketCounts(buckets, now.sum - then.sum))
        return point._replace(value=now - then)
