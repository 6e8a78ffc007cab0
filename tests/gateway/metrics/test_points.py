"""Points of OpenTelemetry's model: which labels they have, how many there are, and what counts grew by."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.meters import Distribution
from mqgateway.engine.steps import run
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample
from mqgateway.gateway.metrics.points import OVERFLOW, BucketCounts, Deltas, Family, Point, collect
from tests.support.gateway.metrics import ExportingBroker


def metric(*samples: Sample | None, kind: MetricKind = MetricKind.COUNTER) -> Metric[None]:
    named: dict[str, Any] = {"name": "m", "meaning": "What.", "labels": ("topic",), "unit": "bytes"}
    return Metric(kind=kind, read=lambda _: samples, **named)


def test_labels_of_all_and_of_each_are_attributes() -> None:
    samples: list[Sample | None] = [(("a",), 1), None, (("",), 2), (None, 7)]
    (family,) = run(collect([metric(*samples), metric()], None, {"cluster": "c"}, 10))
    assert family == Family(
        "m",
        MetricKind.COUNTER,
        "What.",
        "bytes",
        (),
        [
            Point({"cluster": "c", "topic": "a"}, 1),
            Point({"cluster": "c"}, 2),
            Point({"cluster": "c", **OVERFLOW}, 7),
        ],
    )


def test_a_distribution_is_taken_as_it_stands() -> None:
    distribution = Distribution(1)
    (family,) = run(collect([metric((("a",), distribution), kind=MetricKind.HISTOGRAM)], None, {}, 10))
    distribution.counts[0] += 1
    assert family.points[0].value == BucketCounts((0, 0), 0)


def test_series_are_limited_and_read_in_steps() -> None:
    samples: list[Sample] = [((str(number),), number) for number in range(300)]
    steps = collect([metric(*samples)], None, {}, 200)
    assert sum(1 for _ in steps) >= 200 // 64
    (family,) = run(collect([metric(*samples)], None, {}, 200))
    assert len(family.points) == 201


def test_counts_are_reported_as_what_they_grew_by() -> None:
    def families(count: int, buckets: tuple[int, ...], state: int) -> list[Family]:
        return [
            Family("c", MetricKind.COUNTER, "", "", (), [Point({"t": "a"}, count)]),
            Family("h", MetricKind.HISTOGRAM, "", "", (1,), [Point({}, BucketCounts(buckets, sum(buckets)))]),
            Family("g", MetricKind.GAUGE, "", "", (), [Point({}, state)]),
        ]

    deltas = Deltas()
    assert deltas.of(families(5, (1, 0), 9)) == families(5, (1, 0), 9)
    assert deltas.of(families(7, (1, 3), 8)) == families(2, (0, 3), 8)


def test_a_broker_has_points_for_what_it_shows_to_a_scrape() -> None:
    host = ExportingBroker(options={"metrics_exporter_type": "LOG"})
    host.add_topic("T")
    host.send("T")
    found = {family.name: family for family in run(host.observed.points())}
    (point,) = found["rocketmq_messages_in_total"].points
    assert point.value == 1
    assert point.attributes["topic"] == "T" and point.attributes["node_type"] == "broker"
    assert "otel_scope_name" not in point.attributes
    assert found["mqgateway_store_writable"].points[0].value == 1
    host.observed.is_started = False
    assert {family.name for family in run(host.observed.points())} == {
        "mqgateway_store_recovered",
        "mqgateway_store_recovery",
    }
