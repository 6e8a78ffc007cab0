"""Measures of requests and messages, kept only if metrics are exported.

A `Counter` and a `Histogram` have numbers by label values. `Meters` are those of one broker, each named like
its metric. Code that finds none (`Counting.meters` is None) counts nothing. Values that tables and statistics
have anyway are not counted again.

RocketMQ: `BrokerMetricsManager`, `DefaultStoreMetricsManager`, `PopMetricsManager`, `RemotingMetricsManager`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from mqgateway.engine.message import NORMAL
from mqgateway.engine.steps import Steps, in_parts

Labels = tuple[str, ...]
"""Values of labels, in the order of the names that the metric declares."""

SIZE_BOUNDS: Final = (1024, 4096, 524288, 1048576, 2097152, 4194304)
"""Bytes of a record."""
LATENCY_BOUNDS: Final = (1, 3, 5, 7, 10, 100, 1000, 2000, 3000)
"""Milliseconds of a request."""
CREATION_BOUNDS: Final = (10, 100, 1000, 3000, 5000)
"""Milliseconds to create topics or groups."""
FINISH_BOUNDS: Final = (5, 60, 600, 3600, 43200, 86400)
"""Seconds of a transaction."""
SYNC_BOUNDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Milliseconds of a sync of the log."""
SYNC_SIZE_BOUNDS: Final = (4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
"""Bytes of one sync."""
DELAY_BOUNDS: Final = (60, 600, 3600, 43200, 86400, 259200)
"""Seconds by which a message is delayed."""


class Counter:
    """Growing numbers by labels, for at most `most` combinations; others are added to `overflow`."""

    __slots__ = ("_most", "overflow", "table")

    def __init__(self, most: int) -> None:
        self._most = most
        self.table: dict[Labels, int] = {}
        self.overflow = 0

    def add(self, labels: Labels, amount: int = 1) -> None:
        """Add `amount`."""
        table = self.table
        if labels in table:
            table[labels] += amount
        elif len(table) < self._most:
            table[labels] = amount
        else:
            self.overflow += amount

    def forget(self, concerns: Callable[[Labels], bool]) -> None:
        """Drop the numbers of the labels for which `concerns` returns True."""
        self.table = {labels: value for labels, value in self.table.items() if not concerns(labels)}


class Distribution:
    """Number of values up to each bound, and above all of them; and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)
        self.sum = 0


class Histogram:
    """Distributions of whole numbers by labels; `bounds` ascend. Limited as a `Counter`."""

    __slots__ = ("_most", "bounds", "overflow", "table")

    def __init__(self, bounds: Sequence[int], most: int) -> None:
        self._most = most
        self.bounds = tuple(bounds)
        self.table: dict[Labels, Distribution] = {}
        self.overflow = Distribution(len(self.bounds))

    def record(self, labels: Labels, value: int, times: int = 1) -> None:
        """Record a value, once or several times."""
        distribution = self.of(labels)
        distribution.counts[bisect_left(self.bounds, value)] += times
        distribution.sum += value * times

    def of(self, labels: Labels) -> Distribution:
        """Return the distribution of values with these labels, valid until the labels are forgotten."""
        distribution = self.table.get(labels)
        return self._new(labels) if distribution is None else distribution

    def _new(self, labels: Labels) -> Distribution:
        if len(self.table) >= self._most:
            return self.overflow
        distribution = self.table[labels] = Distribution(len(self.bounds))
        return distribution

    def forget(self, concerns: Callable[[Labels], bool]) -> None:
        """Drop the distributions of the labels for which `concerns` returns True."""
        self.table = {labels: value for labels, value in self.table.items() if not concerns(labels)}


SETTLED_A_STEP = 4096
"""Sizes that are sorted and counted together."""
LOOKED_AT_A_STEP: Final = 1000


class MessageSizes(Distribution):
    """Stored messages by the size of their records; of a batch the mean is counted, once.

    Sizes of single messages are only appended to `sizes`: call `settle` before reading, and every few seconds
    to bound them.
    """

    __slots__ = ("_beyond", "messages", "sizes")

    def __init__(self) -> None:
        super().__init__(len(SIZE_BOUNDS))
        self.messages = 0
        self._beyond = 0  # bytes of batches that their means omit
        self.sizes: list[int] = []
        """Single messages that are not counted yet; always the same list."""

    def settle(self) -> None:
        """Count the last of `sizes`, a bounded number."""
        some = self.sizes[-SETTLED_A_STEP:]
        del self.sizes[-SETTLED_A_STEP:]
        some.sort()
        self.messages += len(some)
        self.sum += sum(some)
        below = 0
        for index, bound in enumerate(SIZE_BOUNDS):
            up_to = bisect_right(some, bound)
            self.counts[index] += up_to - below
            below = up_to
        self.counts[-1] += len(some) - below

    def put(self, messages: int, size: int) -> None:
        """Count messages stored together, `size` bytes in all."""
        self.messages += messages
        if messages > 1:
            mean = size // messages
            self._beyond += size - mean
            size = mean
        self.sum += size
        self.counts[bisect_left(SIZE_BOUNDS, size)] += 1

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self.sum + self._beyond


FRONT_END_SERIES: Final = 1000
"""Maximum number of series of a front end's latency: more than it has requests with response codes."""


class TelemetryFigures(NamedTuple):
    """Clients whose metrics are received, and counts since the start; `refused` by the name of the error."""

    clients: int
    pushes: int
    pushed_bytes: int
    refused: Mapping[str, int]


class QuotaFigures(NamedTuple):
    """Entities with quotas, and throttlings since the start with their times in ms, by key of the quota."""

    entities: int
    throttled: Mapping[str, int]
    throttle_millis: Mapping[str, int]


class FrontEndMeter:
    """Measures of a protocol front end other than remoting.

    `latency` is by request, response code, whether it may wait, and result; None if no metrics are exported.
    The others are figures of the front end, which exists later: None before its start.
    """

    def __init__(self, *, has_latency: bool) -> None:
        self.latency = Histogram(LATENCY_BOUNDS, FRONT_END_SERIES) if has_latency else None
        self.connections: Callable[[], int] | None = None
        self.telemetry: Callable[[], TelemetryFigures | None] | None = None
        self.quotas: Callable[[], QuotaFigures | None] | None = None

    def read_from(
        self,
        connections: Callable[[], int],
        telemetry: Callable[[], TelemetryFigures | None] | None = None,
        quotas: Callable[[], QuotaFigures | None] | None = None,
    ) -> None:
        """Read the figures of a front end that starts.

        `connections` returns the number of open connections, `telemetry` the figures of the metrics that
        clients push, None if none are received, `quotas` those of the quotas of clients, None before any
        client.
        """
        self.connections, self.telemetry, self.quotas = connections, telemetry, quotas


class Meters:
    """All measures. At most `most` combinations of labels of each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.incoming: dict[Labels, MessageSizes] = {}
        """By topic and message type; beyond the limit `incoming_overflow` is used."""
        self.incoming_overflow = MessageSizes()
        self.messages_popped = Counter(most)
        """Popped messages, by the topic read and group; so is the next."""
        self.throughput_popped = Counter(most)
        self.dead_letters = Counter(most)
        """By group and the original topic of the messages."""
        self.commits = Counter(most)
        """By topic; so are the next two."""
        self.rollbacks = Counter(most)
        self.finish_latency = Histogram(FINISH_BOUNDS, most)
        self.timers_enqueued = Counter(most)
        """By topic; so are the next two."""
        self.timers_dequeued = Counter(most)
        self.delay_latency = Histogram(DELAY_BOUNDS, most)
        self.revive_in = Counter(most)
        """By group, topic, kind of record (CK or ACK) and put status."""
        self.revive_out = Counter(most)
        """By group, topic, revive queue and kind of record."""
        self.revive_retries = Counter(most)
        """By group, topic and put status."""
        self.rpc_latency = Histogram(LATENCY_BOUNDS, most)
        """By request code, response code, whether it was parked, and result."""
        self.front_ends: dict[str, FrontEndMeter] = {}
        """By the name of each front end that was started."""
        self.topic_creation = Histogram(CREATION_BOUNDS, most)
        """By status, and whether it is a system topic."""
        self.group_creation = Histogram(CREATION_BOUNDS, most)
        """By status."""
        self.sync_time = Histogram(SYNC_BOUNDS, 1)
        """Without labels; so is the next."""
        self.sync_size = Histogram(SYNC_SIZE_BOUNDS, 1)

    def put(self, topic: str, kind: str, messages: int, size: int) -> None:
        """Count messages of a type stored in a topic, `size` bytes of records in all."""
        self.incoming_of(topic, kind).put(messages, size)

    def note(self, topic: str, sizes: list[int]) -> None:
        """Count single messages of the normal type stored in a topic."""
        incoming = self.incoming_of(topic, NORMAL)
        if incoming is not self.incoming_overflow:
            incoming.sizes += sizes
            return
        for size in sizes:
            incoming.put(1, size)

    def incoming_of(self, topic: str, kind: str) -> MessageSizes:
        """Return the counter of messages of a type in a topic, valid until the topic is deleted."""
        incoming = self.incoming.get((topic, kind))
        if incoming is None:
            if len(self.incoming) >= self._most:
                return self.incoming_overflow
            incoming = self.incoming[topic, kind] = MessageSizes()
        return incoming

    def settle(self) -> Steps[None]:
        """Count the sizes that were only noted."""
        for part in in_parts(list(self.incoming.values()), LOOKED_AT_A_STEP):
            for incoming in part:
                while incoming.sizes:
                    incoming.settle()
                    yield
            yield

    def synced(self, seconds: float, size: int) -> None:
        """Record a sync of the log, with its seconds and bytes."""
        self.sync_time.record((), int(seconds * 1000))
        self.sync_size.record((), size)

    def popped(self, topic: str, group: str, messages: int, size: int) -> None:
        """Count messages popped from a topic, possibly a retry topic."""
        self.messages_popped.add((topic, group), messages)
        self.throughput_popped.add((topic, group), size)

    def timer_enqueued(self, topic: str, delay_millis: int) -> None:
        """Count a timer for a topic that entered the wheel, and its requested delay."""
        self.timers_enqueued.add((topic,))
        self.delay_latency.record((topic,), max(0, delay_millis) // 1000)

    def topic_deleted(self, topic: str) -> None:
        """Drop the numbers of a topic."""
        first: tuple[Counter | Histogram, ...] = (
            self.messages_popped,
            self.throughput_popped,
            self.commits,
            self.rollbacks,
            self.finish_latency,
            self.timers_enqueued,
            self.timers_dequeued,
            self.delay_latency,
        )
        self.incoming = {labels: one for labels, one in self.incoming.items() if labels[0] != topic}
        for meter in first:
            meter.forget(lambda labels: labels[0] == topic)
        for meter in (self.dead_letters, self.revive_in, self.revive_out, self.revive_retries):
            meter.forget(lambda labels: labels[1] == topic)

    def group_deleted(self, group: str) -> None:
        """Drop the numbers of a group."""
        for meter in (self.messages_popped, self.throughput_popped):
            meter.forget(lambda labels: labels[1] == group)
        for meter in (self.dead_letters, self.revive_in, self.revive_out, self.revive_retries):
            meter.forget(lambda labels: labels[0] == group)
