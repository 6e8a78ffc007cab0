"""A broker in memory whose metrics are exported, and scrapes read back."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

from mqgateway.engine.meters import Meters
from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.steps import run
from mqgateway.gateway.broker.body_limits import limits_of_bodies
from mqgateway.gateway.broker.refusals import refusal
from mqgateway.gateway.broker.requests import REQUESTS
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.lag import StoreTimes
from mqgateway.gateway.metrics.observed import STANDARD, ObservedBroker
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import Answer, MemoryBroker

_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
NODE = {"cluster", "node_type", "node_id", "otel_scope_name"}

Series = tuple[str, tuple[tuple[str, str], ...]]


def parsed(text: str) -> dict[Series, float]:
    """Every sample of a scrape: by its name, and its labels without those of the node."""
    found: dict[Series, float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        series, _, value = line.rpartition(" ")
        name, _, labels = series.partition("{")
        pairs = tuple(sorted(pair for pair in _LABEL.findall(labels) if pair[0] not in NODE))
        assert (name, pairs) not in found, f"twice: {series}"
        found[name, pairs] = float(value)
    return found


def types(text: str) -> dict[str, str]:
    """Kinds of the metrics of a scrape, by name."""
    lines = [line.split() for line in text.splitlines() if line.startswith("# TYPE")]
    return {name: kind for _, _, name, kind in lines}


class Exporting(MemoryBroker):
    """A broker in memory whose metrics are exported; mixed into other kinds of one."""

    def __init__(self, **given: Any) -> None:
        given["options"] = {"metrics_exporter_type": "PROM"} | given.get("options", {})
        super().__init__(**given)
        self.meters = Meters(self.options.metrics_otel_cardinality_limit)
        self.dispatcher = Dispatcher(
            self.context,
            REQUESTS,
            {},
            clock=self.clock,
            limits=limits_of_bodies(REQUESTS, RemotingOptions(), self.options),
            refusal=refusal,
        )
        how_far = {"recovered": None, "recovery_seconds": 2.5}
        ports = {"dispatcher": self.dispatcher, "fast_dispatcher": self.dispatcher}
        operations = self.context.operations
        service = SimpleNamespace(broker=self.broker, operations=operations, **how_far, **ports)
        self.observed = ObservedBroker(cast(BrokerService, service), self.options, self.meters, self.disk)
        self.observed.is_started = True

    def ask(self, *given: Any, **more: Any) -> Answer:
        """One request in one read, which takes its time."""
        times = self.dispatcher.times
        assert times is not None
        times.begin()
        answer = super().ask(*given, **more)
        times.end()
        return answer

    def scrape(self, metrics: str = STANDARD) -> str:
        """The text of a set of metrics."""
        text: list[bytes] = []
        run(self.observed.write(metrics, text, []))
        return b"".join(text).decode()

    def values(self, name: str, metrics: str = STANDARD) -> dict[tuple[tuple[str, str], ...], float]:
        """The values of one metric, by labels."""
        return {labels: value for (one, labels), value in parsed(self.scrape(metrics)).items() if one == name}

    def value(self, name: str, metrics: str = STANDARD, **labels: str) -> float | None:
        """The value of the series that has these labels and no others; None where there is none."""
        return self.values(name, metrics).get(tuple(sorted(labels.items())))

    def reading(self) -> BrokerReading:
        """One scrape's look at it."""
        return BrokerReading(self.broker, self.meters, self.disk, StoreTimes())


class ExportingBroker(Exporting):
    """One that has timers and pops too."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.broker.timers.load()
        self.broker.pop.load()
