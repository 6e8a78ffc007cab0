"""A scrape as text, written incrementally: Prometheus' text format 0.0.4.

One scrape may have a hundred thousand lines. The text of labels is therefore cached between scrapes: several
metrics share labels, and most labels recur. A line then costs about a microsecond. Prometheus' own Python
client takes 20, and writes all lines in one step. Label names are sanitized as RocketMQ's exporter does it.
RocketMQ: the output of OpenTelemetry's `PrometheusHttpServer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, islice, takewhile
from operator import itemgetter
from typing import Any, TypeVar

from mqgateway.engine.meters import Distribution, Labels
from mqgateway.engine.steps import Steps
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample, Samples

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OVERFLOW = 'otel_metric_overflow="true"'
"""Label of the series that sums all series beyond the limit. RocketMQ: `metricsOtelCardinalityLimit`."""
SERIES_A_STEP = 64
KEPT_MAX = 2
"""Maximum size of the label cache, as a multiple of the series of one scrape. Labels of deleted topics count
too."""

Source = TypeVar("Source")

_LABELS = "\0"
"""Placeholder for the labels of a series in the lines of a distribution."""
_Template = tuple[str, Callable[[Labels], Labels]]
_Texts = dict[Labels | None, str]
"""Formatted labels by label values."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_UNFIT = re.compile(r"[^a-zA-Z0-9_]")


class Exposition:
    """Writer of metrics, with common labels, one scrape after the other. Each metric has at most `most`
    series.
    """

    def __init__(self, common: Mapping[str, str], most: int, *, with_units: bool = True) -> None:
        self._common = {
            _UNFIT.sub("_", name): value.translate(_ESCAPES) for name, value in common.items() if value
        }
        self._most = most
        self._with_units = with_units
        self._templates: dict[tuple[str, ...], _Template] = {}
        self._texts: dict[tuple[str, ...], _Texts] = {}
        """Formatted labels by label names, then by label values."""

    def write(
        self, metrics: Iterable[Metric[Source]], source: Source, text: list[bytes], truncated: list[str]
    ) -> Steps[None]:
        """Append the metrics to `text`, one chunk a step, without metrics that have no values.

        The names of metrics that had too many series are added to `truncated`.
        """
        count = 0
        for metric in metrics:
            count += yield from self._write(metric, source, text, truncated)
        if sum(map(len, self._texts.values())) > KEPT_MAX * count:
            self._texts.clear()

    def _write(
        self, metric: Metric[Source], source: Source, text: list[bytes], truncated: list[str]
    ) -> Steps[int]:
        name = metric.suffixed_name if self._with_units else metric.name
        head = f"# HELP {name} {metric.meaning}\n# TYPE {name} {metric.kind}\n".encode()
        texts = self._texts.setdefault(metric.labels, {})
        lines_of = partial(_values, name)
        if metric.kind is MetricKind.HISTOGRAM:
            lines_of = partial(_distributions, _pattern(name, metric.bounds))
        count, most = 0, self._most + 1  # the series beyond the limit is the overflow
        for samples in _parts(metric.read(source)):
            is_too_many = count + len(samples) > most
            if is_too_many:
                truncated.append(name)
                samples = samples[: most - count]
            count += len(samples)
            if samples:
                try:
                    lines = lines_of(texts, samples)
                except KeyError:  # some labels are new
                    self._make_texts(metric, source, [of for of, _ in samples if of not in texts], texts)
                    lines = lines_of(texts, samples)
                text.append(head + lines)
                head = b""
            yield
            if is_too_many:
                break
        yield
        return count

    def _make_texts(
        self, metric: Metric[Source], source: Source, labels: Iterable[Labels | None], texts: _Texts
    ) -> None:
        """Format the labels of series into `texts`."""
        template, sort = self._templates.get(metric.labels) or self._template(metric.labels)
        shown = metric.shown
        for one in labels:
            if one is None:
                texts[None] = self._escaped({}, OVERFLOW)
                continue
            values = shown(source, one)
            text = "".join(values)
            if all(values) and not ('"' in text or "\\" in text or "\n" in text):
                texts[one] = template % sort(values)
            else:
                texts[one] = self._escaped(dict(zip(metric.labels, values, strict=True)))

    def _escaped(self, own: Mapping[str, str], *others: str) -> str:
        """Return any labels, with the common ones, as text with escapes."""
        every = self._common | {name: value.translate(_ESCAPES) for name, value in own.items()}
        pairs = [*(f'{name}="{value}"' for name, value in sorted(every.items()) if value), *others]
        return f"{{{','.join(pairs)}}}" if pairs else ""

    def _template(self, names: tuple[str, ...]) -> _Template:
        """Return the template of labels of these names that need no escapes, and a function that sorts the
        values for it."""
        common = {name: value.replace("%", "%%") for name, value in self._common.items()}
        every = sorted({**common, **dict.fromkeys(names, "%s")}.items())
        pairs = ",".join(f'{name}="{value}"' for name, value in every)
        places = [names.index(name) for name in sorted(names)]
        sort: Callable[[Labels], Labels] = itemgetter(*places) if len(places) > 1 else tuple
        made = f"{{{pairs}}}" if pairs else "", sort
        self._templates[names] = made
        return made


def _parts(samples: Samples) -> Iterator[list[Sample]]:
    """Yield the samples in chunks of one step; an empty chunk is a point to yield to the event loop."""
    rest = iter(samples)
    for first in rest:
        if first is None:
            yield []
        elif isinstance(first, list):
            yield first
        else:
            yield [first, *takewhile(bool, islice(rest, SERIES_A_STEP - 1))]  # type: ignore[list-item]


def _values(name: str, texts: _Texts, samples: Iterable[Any]) -> bytes:
    """Return the lines of numbers. Raises KeyError if labels have no text yet."""
    return "".join([f"{name}{texts[of]} {value}\n" for of, value in samples]).encode()


def _distributions(pattern: bytes, texts: _Texts, samples: Iterable[Any]) -> bytes:
    """Return the lines of distributions. Raises KeyError if labels have no text yet."""
    return b"".join([_distribution(pattern, texts[of], one) for of, one in samples])


def _pattern(name: str, bounds: tuple[int, ...]) -> bytes:
    """Return the lines of a distribution, with placeholders for its counts and labels."""
    buckets = [f'{name}_bucket{{{_LABELS},le="{bound}"}} %d\n' for bound in (*map(float, bounds), "+Inf")]
    return f"{''.join(buckets)}{name}_count{{{_LABELS}}} %d\n{name}_sum{{{_LABELS}}} %d\n".encode()


def _distribution(pattern: bytes, series: str, value: Distribution) -> bytes:
    """Return the lines of one distribution. They are most of a large scrape, and bytes are faster to assemble
    than text."""
    counts = tuple(accumulate(value.counts))
    lines = pattern % (*counts, counts[-1], value.sum)
    if series:
        return lines.replace(b"\0", series[1:-1].encode())
    return lines.replace(b"\0,", b"").replace(b"{\0}", b"")
