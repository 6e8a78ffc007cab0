"""Readers take values from a reading, with the labels of their metrics."""

from types import SimpleNamespace
from typing import Any, cast

from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import (
    LOCAL,
    by_topic,
    counter,
    gauge,
    histogram,
    of_group,
    of_timers,
    on_disk,
    on_local_disk,
    one,
    with_system,
)
from mqgateway.gateway.metrics.metric import MetricKind


def reading(**values: Any) -> BrokerReading:
    return cast(BrokerReading, SimpleNamespace(**values))


def test_kinds_of_metrics() -> None:
    read = one(lambda reading: 1)
    kinds = [kind("name", "meaning", read).kind for kind in (gauge, counter, histogram)]
    assert kinds == [MetricKind.GAUGE, MetricKind.COUNTER, MetricKind.HISTOGRAM]


def test_single_values() -> None:
    assert list(one(lambda reading: reading.topic_count)(reading(topic_count=3))) == [((), 3)]
    used = on_disk(lambda reading: reading.used_bytes)
    assert list(used(reading(used_bytes=7))) == [(LOCAL, 7)]
    assert list(used(reading(used_bytes=None))) == []


def test_timers_have_values_only_if_enabled() -> None:
    late = of_timers(lambda reading: reading.timers_late)
    assert list(late(reading(timers_late=5, has_timers=True))) == [(LOCAL, 5)]
    assert list(late(reading(has_timers=False))) == []


def test_values_by_topic() -> None:
    read = by_topic(lambda reading: reading.half_messages())
    assert list(read(reading(half_messages=lambda: {"a": 1, "b": 2}))) == [(("a",), 1), (("b",), 2)]


def test_labels_are_completed() -> None:
    marks = reading(is_system=lambda topic, group="g": f"{topic}/{group}")
    assert with_system(marks, ("t", "normal")) == ("t", "normal", "t/g")
    assert of_group(marks, ("c", "t")) == ("c", "t", "t/c")
    assert on_local_disk(marks, ("t",)) == (*LOCAL, "t")
