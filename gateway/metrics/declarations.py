"""Declarations of a broker's metrics: their kinds, and readers of values from a `BrokerReading`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqgateway.engine.meters import Distribution, Labels, MessageSizes
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.lag import GroupLag
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample, Samples

DISK = ("storage_type", "storage_medium")
LOCAL = ("local", "disk")

Read = Callable[[BrokerReading], Samples]


def gauge(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """Return a metric of a state."""
    return Metric(name=name, kind=MetricKind.GAUGE, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def counter(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """Return a metric that only grows."""
    return Metric(name=name, kind=MetricKind.COUNTER, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def histogram(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """Return a metric that counts values by size."""
    return Metric(name=name, kind=MetricKind.HISTOGRAM, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def one(read: Callable[[BrokerReading], float]) -> Read:
    """Return a reader of a single value without own labels."""
    return lambda reading: [((), read(reading))]


def on_disk(read: Callable[[BrokerReading], float | None]) -> Read:
    """Return a reader of a single value of the store; without a value there is no series."""

    def values(reading: BrokerReading) -> Iterator[Sample]:
        value = read(reading)
        if value is not None:
            yield LOCAL, value

    return values


def of_timers(read: Callable[[BrokerReading], float]) -> Read:
    """Return a reader of a single value of timers, if timers are enabled."""
    return on_disk(lambda reading: read(reading) if reading.has_timers else None)


def by_topic(read: Callable[[BrokerReading], dict[str, int]]) -> Read:
    """Return a reader of one value for each topic."""
    return lambda reading: [((topic,), value) for topic, value in read(reading).items()]


def with_system(reading: BrokerReading, labels: Labels) -> Labels:
    """Append a label that marks system topics."""
    return (*labels, reading.is_system(labels[0]))


def of_group(reading: BrokerReading, labels: Labels) -> Labels:
    """Append a label that marks system groups and system topics."""
    return (*labels, reading.is_system(labels[1], labels[0]))


def on_local_disk(_: BrokerReading, labels: Labels) -> Labels:
    """Prepend the labels of the store's disk."""
    return (*LOCAL, *labels)


def of_incoming(value: Callable[[MessageSizes], float | Distribution]) -> Read:
    """Return a reader of a value of stored messages, for each topic and type."""

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for labels, incoming in reading.incoming():
            yield list(zip(labels, map(value, incoming), strict=True))

    return values


def of_lag(value: Callable[[GroupLag], int]) -> Read:
    """Return a reader of a value of the lag of each group and topic."""

    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for lags in reading.lags():
            yield [(lag.labels, value(lag)) for lag in lags]

    return values
