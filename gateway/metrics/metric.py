"""Declarations of metrics, from which the scrape, the page of all metrics and the tests derive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from mqgateway.engine.meters import Counter, Distribution, Histogram, Labels

Source = TypeVar("Source")


class MetricKind(StrEnum):
    """Kind of a value: a count that only grows, a state, or a count of values by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Sample = tuple[Labels | None, float | Distribution]
"""A value with its label values, "" for a missing label. None instead of label values stands for all series
beyond the limit."""
Samples = Iterable[Sample | list[Sample] | None]
"""Single samples, or chunks of some dozens if there may be very many. None is a point to yield to the event
loop."""


@dataclass(frozen=True, kw_only=True)
class Metric(Generic[Source]):
    """One metric. `read` returns its values from the source of a scrape, by keys that `shown` converts to the
    values of `labels`. That conversion is constant, and equal for all metrics with these label names.

    `name` is without the unit, which RocketMQ's exporter appends. The metric is omitted if the property
    `switch` is off. `bounds` are those of a histogram.
    """

    name: str
    kind: MetricKind
    meaning: str
    read: Callable[[Source], Samples]
    labels: tuple[str, ...] = ()
    unit: str = ""
    switch: str = ""
    bounds: tuple[int, ...] = ()
    shown: Callable[[Source, Labels], Labels] = lambda _, labels: labels

    @property
    def suffixed_name(self) -> str:
        """Name with the unit, the default in a scrape."""
        has_unit = not self.unit or self.name.endswith(f"_{self.unit}")
        return self.name if has_unit else f"{self.name}_{self.unit}"


def counted(counter: Counter) -> list[Sample]:
    """Return the values of a counter."""
    samples: list[Sample] = list(counter.table.items())
    return [*samples, (None, counter.overflow)] if counter.overflow else samples


def distributed(histogram: Histogram) -> list[Sample]:
    """Return the values of a histogram."""
    samples: list[Sample] = list(histogram.table.items())
    return [*samples, (None, histogram.overflow)] if any(histogram.overflow.counts) else samples


def common_labels(text: str) -> Mapping[str, str]:
    """Return the pairs of `metricsLabel`, without items that are not pairs, as RocketMQ does."""
    pairs = (item.split(":") for item in text.split(","))
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2 and pair[0].strip()}
