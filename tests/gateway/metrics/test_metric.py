from mqgateway.engine.meters import Counter, Histogram
from mqgateway.gateway.metrics.metric import Metric, MetricKind, common_labels, counted, distributed


def named(name: str, unit: str = "") -> str:
    return Metric(name=name, kind=MetricKind.GAUGE, meaning="", unit=unit, read=lambda _: ()).suffixed_name


def test_names_end_in_their_units_once() -> None:
    assert named("rocketmq_storage_size", "bytes") == "rocketmq_storage_size_bytes"
    assert named("rocketmq_storage_flush_behind_bytes", "bytes") == "rocketmq_storage_flush_behind_bytes"
    assert named("rocketmq_topic_number") == "rocketmq_topic_number"


def test_series_beyond_the_limit_come_last() -> None:
    counter = Counter(1)
    counter.add(("a",), 1)
    assert list(counted(counter)) == [(("a",), 1)]
    counter.add(("b",), 2)
    assert list(counted(counter)) == [(("a",), 1), (None, 2)]
    histogram = Histogram((1,), 0)
    assert list(distributed(histogram)) == []
    histogram.record(("a",), 5)
    assert list(distributed(histogram)) == [(None, histogram.overflow)]


def test_labels_of_the_settings() -> None:
    assert common_labels("env:test, zone: z1,bad,a:b:c,:x") == {"env": "test", "zone": "z1"}
    assert common_labels("") == {}
