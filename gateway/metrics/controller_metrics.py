"""Metrics of RocketMQ's controller, by its names, and own ones. Standard: `ControllerMetricsConstant`,
`ControllerMetricsManager`.

RocketMQ's `role` is a sum of differences, and is wrong after a start; here it is the current role. DLedger
operations are changes that are stored in a file or in etcd here.
"""

from __future__ import annotations

from mqgateway.engine.clock import Clock
from mqgateway.engine.controller.counts import MICROS_BOUNDS, ControllerCounts
from mqgateway.engine.controller.local_state import FILE_NAME
from mqgateway.engine.disk import Disk
from mqgateway.engine.meters import Counter, Histogram
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.controller.requests import REQUESTS
from mqgateway.gateway.controller.service import ControllerService
from mqgateway.gateway.metrics.metric import Metric, MetricKind, Sample, Samples, counted, distributed
from mqgateway.gateway.remoting.call import Call, Reply

UNKNOWN, FOLLOWER, LEADER = 0, 2, 3
"""RocketMQ has candidates (1) too, which request votes."""
SUCCESS, FAILED = "success", "failed"


class ControllerTimes:
    """Requests of brokers and tools, counted as they are answered: a hook of the dispatcher."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self.requests = Counter(2 * len(REQUESTS))
        self.latency = Histogram(MICROS_BOUNDS, len(REQUESTS))

    def before(self, call: Call) -> None:
        """Begin the time of a request."""
        call.began = self._monotonic()

    def after(self, call: Call, reply: Reply) -> None:
        """Record the time of a request whose answer is about to be written."""
        code = call.command.code
        if code not in REQUESTS:
            return
        name = RequestCode(code).name
        self.requests.add((name, FAILED if reply.code == ResponseCode.SYSTEM_ERROR else SUCCESS))
        began = getattr(call, "began", None)  # None: it was refused at the door
        if began is not None:
            self.latency.record((name,), int((self._monotonic() - began) * 1_000_000))


class ControllerReading:
    """Values of a controller."""

    def __init__(self, service: ControllerService, times: ControllerTimes, disk: Disk) -> None:
        self._service = service
        self._controller = service.controller
        self._disk = disk
        self.times = times

    @property
    def counts(self) -> ControllerCounts:
        """Return the counts of the controller."""
        return self._controller.counts

    def role(self) -> int:
        """Return the role: leader, follower or unknown."""
        state = self._controller.state
        return LEADER if state.is_leader else FOLLOWER if state.leader else UNKNOWN

    def disk_usage(self) -> Samples:
        """Bytes of its files; nothing where sets are in etcd."""
        folder = self._service.folder
        if folder:
            found = [name for name in self._disk.listdir(folder) if name.startswith(FILE_NAME)]
            yield (), sum(self._size(f"{folder}/{name}") for name in found)

    def _size(self, path: str) -> int:
        """Return the size of a file, 0 if it was replaced since the folder was listed."""
        try:
            return self._disk.size(path)
        except FileNotFoundError:
            return 0

    def brokers(self) -> Samples:
        """Brokers that are heard of, by cluster and set."""
        found: dict[tuple[str, str], int] = {}
        for key in self._controller.alive_brokers():
            found[key.cluster, key.name] = found.get((key.cluster, key.name), 0) + 1
        yield from found.items()

    def sets(self) -> Samples:
        """Sets that this controller answers for."""
        state = self._controller.state
        yield (), len(state.sets) if state.is_leader else 0

    def without_master(self) -> Samples:
        """Return those of them that had a master and have none."""
        state = self._controller.state
        sets = state.sets.values() if state.is_leader else ()
        yield (), sum(one.had_master and one.master is None for one in sets)


def _append(samples: list[Sample]) -> Samples:
    """With the one kind of writing that there is before the other labels."""
    for labels, value in samples:
        yield None if labels is None else ("append", *labels), value


CONTROLLER_METRICS: tuple[Metric[ControllerReading], ...] = (
    Metric(
        name="role",
        kind=MetricKind.GAUGE,
        meaning="Role of the controller: 3 leader, 2 follower, 0 no known leader.",
        read=lambda reading: [((), reading.role())],
    ),
    Metric(
        name="dledger_disk_usage",
        kind=MetricKind.GAUGE,
        meaning="Size of the files of broker sets, in bytes. Without files there is no series.",
        unit="bytes",
        read=lambda reading: reading.disk_usage(),
    ),
    Metric(
        name="active_broker_num",
        kind=MetricKind.GAUGE,
        meaning="Brokers that send heartbeats to this controller.",
        labels=("cluster", "broker_set"),
        read=lambda reading: reading.brokers(),
    ),
    Metric(
        name="request_total",
        kind=MetricKind.COUNTER,
        meaning="Answered requests. The status failed means SYSTEM_ERROR.",
        labels=("request_type", "request_handle_status"),
        read=lambda reading: counted(reading.times.requests),
    ),
    Metric(
        name="request_latency",
        kind=MetricKind.HISTOGRAM,
        meaning="Time from reading a request to answering it, in microseconds.",
        unit="microseconds",
        labels=("request_type",),
        bounds=MICROS_BOUNDS,
        read=lambda reading: distributed(reading.times.latency),
    ),
    Metric(
        name="dledger_op_total",
        kind=MetricKind.COUNTER,
        meaning="Changes of broker sets, stored in the file or in etcd, by result.",
        labels=("dledger_operation", "dLedger_operation_status"),
        read=lambda reading: _append(counted(reading.counts.changes)),
    ),
    Metric(
        name="dledger_op_latency",
        kind=MetricKind.HISTOGRAM,
        meaning="Time to store a change of broker sets, in microseconds.",
        unit="microseconds",
        labels=("dledger_operation",),
        bounds=MICROS_BOUNDS,
        read=lambda reading: _append(distributed(reading.counts.change_times)),
    ),
    Metric(
        name="election_total",
        kind=MetricKind.COUNTER,
        meaning="Elections of a master, by result.",
        labels=("election_result",),
        read=lambda reading: counted(reading.counts.elections),
    ),
)

OWN_CONTROLLER_METRICS: tuple[Metric[ControllerReading], ...] = (
    Metric(
        name="mqgateway_controller_broker_sets",
        kind=MetricKind.GAUGE,
        meaning="Number of broker sets, at the leading controller.",
        read=lambda reading: reading.sets(),
    ),
    Metric(
        name="mqgateway_controller_broker_sets_without_master",
        kind=MetricKind.GAUGE,
        meaning="Number of broker sets that lost their master, at the leading controller.",
        read=lambda reading: reading.without_master(),
    ),
)
