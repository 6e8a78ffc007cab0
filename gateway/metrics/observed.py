"""Metrics, in sets, and health of each server of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mqgateway.engine.disk import Disk
from mqgateway.engine.meters import Meters
from mqgateway.engine.options import BrokerOptions, snake_case
from mqgateway.engine.options.metrics import ExporterOptions
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.admin.health import Health
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.container.supervision import Supervision
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS, PROXY_METRICS
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.controller_metrics import (
    CONTROLLER_METRICS,
    OWN_CONTROLLER_METRICS,
    ControllerReading,
    ControllerTimes,
)
from mqgateway.gateway.metrics.exporter_metrics import EXPORTER_METRICS
from mqgateway.gateway.metrics.exposition import Exposition
from mqgateway.gateway.metrics.health import (
    STARTING,
    controller_health,
    fleet_health,
    name_server_health,
    starting,
)
from mqgateway.gateway.metrics.kafka_metrics import KAFKA_METRICS, KafkaReading
from mqgateway.gateway.metrics.lag import StoreTimes
from mqgateway.gateway.metrics.metric import common_labels
from mqgateway.gateway.metrics.name_server_metrics import NAME_SERVER_METRICS, NameServerReading
from mqgateway.gateway.metrics.own_metrics import (
    OPENING_METRICS,
    OWN_BROKER_METRICS,
    StoreOpening,
    connection_metrics,
)
from mqgateway.gateway.metrics.points import Family, collect
from mqgateway.gateway.metrics.quota_metrics import QUOTA_METRICS
from mqgateway.gateway.metrics.rpc import RequestTimes
from mqgateway.gateway.metrics.telemetry_metrics import TELEMETRY_METRICS
from mqgateway.gateway.metrics.tier_metrics import TIER_METRICS
from mqgateway.gateway.namesrv.service import NameServerService

STANDARD, EXPORTER, KAFKA = "standard", "exporter", "kafka"
SETS = (STANDARD, EXPORTER, KAFKA)

_SCOPE = {"otel_scope_name": "broker-meter"}


class Observed(Protocol):
    """A server whose metrics and health are served. `is_started` is set once it can be used."""

    name: str
    is_started: bool

    def health(self) -> Health:
        """Return the checks of the server."""
        ...

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        """Append a set of its metrics to `text`, and the names of those with too many series to
        `truncated`."""
        ...

    def points(self) -> Steps[list[Family]]:
        """Return its metrics, RocketMQ's and ours, to be pushed."""
        ...


def labels_for_all(options: ExporterOptions) -> Mapping[str, str]:
    """Return the labels that the settings add to every series."""
    delta = {"aggregation": "delta"} if options.metrics_in_delta else {}
    return {**common_labels(options.metrics_label), **delta}


class ObservedBroker:
    """A broker and its front ends. Values that only metrics show are counted from now on."""

    name = "broker"

    def __init__(
        self,
        service: BrokerService,
        options: BrokerOptions,
        meters: Meters,
        disk: Disk,
        front_ends: Sequence[FrontEnd] = FRONT_ENDS,
    ) -> None:
        self._service = service
        self._options = options
        self._meters = meters
        self._disk = disk
        self._times = StoreTimes()
        self._switched_on = [
            metric
            for metric in (*BROKER_METRICS, *PROXY_METRICS)
            if not metric.switch or getattr(options, snake_case(metric.switch))
        ]
        others = (*TELEMETRY_METRICS, *QUOTA_METRICS, *TIER_METRICS)
        self._own_metrics = (*OWN_BROKER_METRICS, *connection_metrics(front_ends), *others)
        node = {
            "cluster": options.broker_cluster_name,
            "node_type": "broker",
            "node_id": options.broker_name,
        }
        self._labels = {**node, **labels_for_all(options)}
        self._standard = self._exposition({**node, **_SCOPE})
        self._own = self._exposition(node)
        self._opening = self._exposition(node)
        self._exporter = self._exposition({})
        self._kafka = self._exposition({})
        self.is_started = False
        if options.exports_metrics:
            times = RequestTimes(meters, service.broker.clock)
            for dispatcher in (service.dispatcher, service.fast_dispatcher):
                dispatcher.time_with(times)
            service.broker.store.admin.watch_syncs(meters.synced)
            service.broker.stats.count_with(meters)
            service.broker.timers.metrics.count_with(meters)

    def _exposition(self, labels: Mapping[str, str]) -> Exposition:
        options = self._options
        return Exposition(
            {**labels, **labels_for_all(options)},
            options.metrics_otel_cardinality_limit,
            with_units=options.metrics_unit_suffixes,
        )

    def health(self) -> Health:
        """Return the checks of the broker; before its start that of the store alone."""
        if not self.is_started:
            return {"store": starting(self._service.recovered)}
        return self._service.operations.administration.health()

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        """Write RocketMQ's metrics and ours, or those of an exporter. Before the start, only the progress of
        opening the store."""
        if metrics == STANDARD:
            yield from self._opening.write(OPENING_METRICS, self._how_far, text, truncated)
        if not self.is_started:
            return
        if metrics == KAFKA:
            yield from self._kafka.write(KAFKA_METRICS, self._kafka_reading(), text, truncated)
            return
        reading = BrokerReading(self._service.broker, self._meters, self._disk, self._times)
        if metrics == EXPORTER:
            yield from self._exporter.write(EXPORTER_METRICS, reading, text, truncated)
        else:
            yield from self._standard.write(self._switched_on, reading, text, truncated)
            yield from self._own.write(self._own_metrics, reading, text, truncated)

    def points(self) -> Steps[list[Family]]:
        """See `Observed`."""
        most = self._options.metrics_otel_cardinality_limit
        families = yield from collect(OPENING_METRICS, self._how_far, self._labels, most)
        if not self.is_started:
            return families
        reading = BrokerReading(self._service.broker, self._meters, self._disk, self._times)
        metrics = (*self._switched_on, *self._own_metrics)
        families += yield from collect(metrics, reading, self._labels, most)
        return families

    def _kafka_reading(self) -> KafkaReading:
        from mqgateway.gateway.kafka.group_names import kafka_group
        from mqgateway.gateway.kafka.topics import kafka_name

        return KafkaReading(self._service.broker, self._service.operations, (kafka_name, kafka_group))

    @property
    def _how_far(self) -> StoreOpening:
        seconds = self._service.recovery_seconds
        return StoreOpening((self._service.recovered or 0.0) if seconds is None else 1.0, seconds)


class ObservedNameServer:
    """A name server. At most `most` series of each of its metrics."""

    name = "name server"

    def __init__(
        self, service: NameServerService, options: ExporterOptions, meters: Meters, most: int
    ) -> None:
        self._service = service
        self._meters = meters
        self._most = most
        self._labels = {"node_type": "nameserver", **labels_for_all(options)}
        self._exposition = Exposition(self._labels, most, with_units=options.metrics_unit_suffixes)
        self.is_started = False

    def health(self) -> Health:
        """See `health.name_server_health`."""
        return name_server_health(self._service.namesrv) if self.is_started else {"routes": STARTING}

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        """Write our metrics; RocketMQ and the exporter have none."""
        if metrics == STANDARD and self.is_started:
            reading = NameServerReading(self._service.namesrv, self._meters)
            yield from self._exposition.write(NAME_SERVER_METRICS, reading, text, truncated)

    def points(self) -> Steps[list[Family]]:
        """See `Observed`."""
        if not self.is_started:
            return []
        reading = NameServerReading(self._service.namesrv, self._meters)
        return (yield from collect(NAME_SERVER_METRICS, reading, self._labels, self._most))


class ObservedController:
    """A controller. At most `most` series of each of its metrics, whose labels identify the controller."""

    name = "controller"

    def __init__(
        self,
        service: ControllerService,
        options: ExporterOptions,
        group: str,
        times: ControllerTimes,
        disk: Disk,
        most: int,
    ) -> None:
        self._service = service
        self._times = times
        self._disk = disk
        labels = {"address": service.peer.address, "group": group, "peer_id": service.peer.peer_id}
        labels |= {"otel_scope_name": "controller", **labels_for_all(options)}
        self._exposition = Exposition(labels, most, with_units=options.metrics_unit_suffixes)
        self._labels = {name: value for name, value in labels.items() if name != "otel_scope_name"}
        self._most = most
        self.is_started = False

    def health(self) -> Health:
        """See `health.controller_health`."""
        return controller_health(self._service.controller) if self.is_started else {"role": STARTING}

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        """Write RocketMQ's metrics and ours; the exporter has none."""
        if metrics == STANDARD and self.is_started:
            reading = ControllerReading(self._service, self._times, self._disk)
            yield from self._exposition.write(CONTROLLER_METRICS, reading, text, truncated)
            yield from self._exposition.write(OWN_CONTROLLER_METRICS, reading, text, truncated)

    def points(self) -> Steps[list[Family]]:
        """See `Observed`."""
        if not self.is_started:
            return []
        reading = ControllerReading(self._service, self._times, self._disk)
        metrics = (*CONTROLLER_METRICS, *OWN_CONTROLLER_METRICS)
        return (yield from collect(metrics, reading, self._labels, self._most))


class ObservedFleet:
    """The brokers that this process supervises, as a container does. They are processes of their own and have
    metrics of their own; `name` is that of the server in the checks."""

    def __init__(self, supervision: Supervision, name: str = "container") -> None:
        self._supervision = supervision
        self.name = name
        self.is_started = False

    def health(self) -> Health:
        """See `health.fleet_health`."""
        return fleet_health(self._supervision) if self.is_started else {"brokers": STARTING}

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        """Write nothing: there are no metrics of supervision."""
        yield from ()

    def points(self) -> Steps[list[Family]]:
        """See `Observed`."""
        yield from ()
        return []
