"""What is known of one metric, declared once: the scrape, the page of all metrics and the tests follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from mqgateway.engine.meters import Counter, Distribution, Histogram, Labels

Source = TypeVar("Source")


class MetricKind(StrEnum):
    """What a value is: a count that only grows, a state, or a count of values by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Sample = tuple[Labels | None, float | Distribution]
"""A value with those of its labels, "" for one that it lacks. Without labels it is that of all series beyond
the limit."""
Samples = Iterable[Sample | list[Sample] | None]
"""One by one, or some dozens at a time where there may be very many; None where who reads may give way."""


@dataclass(frozen=True, kw_only=True)
class Metric(Generic[Source]):
    """One metric. `read` gives its values from what a scrape found, by labels that `shown` makes those of
    `labels`; what it makes of them stays the same, and the same for all metrics with these names of labels.

    `name` is without the unit, in which the standard's exporter ends it. `switch` is the property without
    which it is left out, `bounds` those of a histogram.
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
        """The name with its unit, as it is scraped by default."""
        has_unit = not self.unit or self.name.endswith(f"_{self.unit}")
        return self.name if has_unit else f"{self.name}_{self.unit}"


def counted(counter: Counter) -> list[Sample]:
    """The values of a counter."""
    samples: list[Sample] = list(counter.table.items())
    return [*samples, (None, counter.overflow)] if counter.overflow else samples


def distributed(histogram: Histogram) -> list[Sample]:
    """The same of a histogram."""
    samples: list[Sample] = list(histogram.table.items())
    return [*samples, (None, histogram.overflow)] if any(histogram.overflow.counts) else samples


def common_labels(text: str) -> Mapping[str, str]:
    """The pairs of `metricsLabel`; what is no pair is passed over, as the standard does."""
    pairs = (item.split(":") for item in text.split(","))
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2 and pair[0].strip()}
