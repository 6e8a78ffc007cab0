"""Metrics in the log, and at a real OTLP collector over gRPC in this process."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.metrics.metric import MetricKind
from mqgateway.gateway.metrics.points import BucketCounts, Family, Point
from mqgateway.gateway.metrics.pushing import LINE_MAX, ToCollector, target_of

FAMILIES = [
    Family("c_total", MetricKind.COUNTER, "Counted.", "", (), [Point({"topic": "a", "cluster": "c"}, 3)]),
    Family("g", MetricKind.GAUGE, "A state.", "bytes", (), [Point({}, 2.5)]),
    Family(
        "h", MetricKind.HISTOGRAM, "Sizes.", "milliseconds", (1, 10), [Point({}, BucketCounts((1, 0, 4), 77))]
    ),
]
BEGAN, NOW = 1_000, 61_000


class Collector(metrics_service_pb2_grpc.MetricsServiceServicer):
    """OTLP collector that records its requests and their metadata."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []

    def Export(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        self.headers.append(dict(context.invocation_metadata()))
        return metrics_service_pb2.ExportMetricsServiceResponse()

    @property
    def metrics(self) -> dict[str, Any]:
        return {
            metric.name: metric
            for request in self.requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def collector() -> Iterator[tuple[Collector, str]]:
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(1))
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield collector, f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def options(target: str = "", **given: Any) -> BrokerOptions:
    return BrokerOptions(metrics_exporter_type="OTLP_GRPC", metrics_grpc_exporter_target=target, **given)


@pytest.mark.parametrize("in_delta", [False, True])
def test_collector_receives_every_kind_of_metric(collector: tuple[Collector, str], in_delta: bool) -> None:
    stub, target = collector
    given = {"metrics_grpc_exporter_header": "Api-Key:x,nonsense", "metrics_in_delta": in_delta}
    target_of(options(target, **given)).send(FAMILIES, BEGAN, NOW)
    found, temporality = stub.metrics, 1 if in_delta else 2
    (point,) = found["c_total"].sum.data_points
    assert (point.as_int, point.start_time_unix_nano, point.time_unix_nano) == (3, 10**9, 61 * 10**9)
    assert {pair.key: pair.value.string_value for pair in point.attributes} == {"topic": "a", "cluster": "c"}
    assert found["c_total"].sum.is_monotonic and found["c_total"].sum.aggregation_temporality == temporality
    assert found["g"].gauge.data_points[0].as_double == 2.5 and found["g"].unit == "bytes"
    (sizes,) = found["h"].histogram.data_points
    assert (sizes.count, sizes.sum, list(sizes.bucket_counts)) == (5, 77, [1, 0, 4])
    assert list(sizes.explicit_bounds) == [1, 10] and not sizes.HasField("max")
    assert stub.headers[0]["api-key"] == "x"
    assert stub.requests[0].resource_metrics[0].scope_metrics[0].scope.name == "broker-meter"


def test_many_points_are_sent_in_batches(collector: tuple[Collector, str]) -> None:
    stub, target = collector
    points = [Point({"topic": str(number)}, number) for number in range(25)]
    many = [Family("g", MetricKind.GAUGE, "", "", (), points)]
    target_of(options(target, metrics_export_batch_max_data_points=10)).send(many, BEGAN, NOW)
    assert len(stub.requests) == 3


def test_unreachable_collector_raises() -> None:
    target = target_of(options("http://127.0.0.1:1", metric_grpc_exporter_time_out_in_mills=200))
    with pytest.raises(OSError, match="did not take"):
        target.send(FAMILIES, BEGAN, NOW)


def test_missing_target_or_sdk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="metricsGrpcExporterTarget=http"):
        ToCollector(options())
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    with pytest.raises(ConfigError, match=r"pip install mqgateway\[otel\]"):
        ToCollector(options("http://127.0.0.1:1"))


def test_lines_of_the_log_are_otlps_json(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.metrics")
    target_of(BrokerOptions(metrics_exporter_type="LOG")).send(FAMILIES, BEGAN, NOW)
    metrics = {}
    for message in caplog.messages:
        (scope,) = json.loads(message)["scopeMetrics"]
        assert scope["scope"] == {"name": "broker-meter"}
        metrics |= {metric["name"]: metric for metric in scope["metrics"]}
    assert metrics["c_total"]["sum"] == {
        "dataPoints": [
            {
                "attributes": [
                    {"key": "cluster", "value": {"stringValue": "c"}},
                    {"key": "topic", "value": {"stringValue": "a"}},
                ],
                "startTimeUnixNano": "1000000000",
                "timeUnixNano": "61000000000",
                "asInt": "3",
            }
        ],
        "aggregationTemporality": 2,
        "isMonotonic": True,
    }
    assert metrics["g"]["gauge"]["dataPoints"][0]["asDouble"] == 2.5
    assert metrics["h"]["histogram"]["dataPoints"][0]["bucketCounts"] == ["1", "0", "4"]


def test_many_points_are_split_into_several_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.metrics")
    points = [Point({"topic": "x" * 100, "number": str(number)}, number) for number in range(100)]
    many = [Family("g", MetricKind.GAUGE, "", "", (), points)]
    target_of(BrokerOptions(metrics_exporter_type="3")).send(many, BEGAN, NOW)
    assert len(caplog.messages) > 3 and max(map(len, caplog.messages)) < LINE_MAX + 400
    parts = [json.loads(line)["scopeMetrics"][0]["metrics"][0]["gauge"] for line in caplog.messages]
    assert sum(len(part["dataPoints"]) for part in parts) == 100
