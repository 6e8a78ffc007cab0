"""What is counted on the roads of requests and messages, for who exports metrics, and only then.

A `Counter` and a `Histogram` hold numbers by the values of their labels. `Meters` are those of one broker,
each named like the metric it becomes; a road that finds none (`Counting.meters` is None) counts nothing.
What tables and statistics hold anyway is not counted here a second time.

Standard: `BrokerMetricsManager`, `DefaultStoreMetricsManager`, `PopMetricsManager`, `RemotingMetricsManager`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from mqgateway.engine.message import NORMAL
from mqgateway.engine.steps import Steps, in_parts

Labels = tuple[str, ...]
"""Values of labels, in the order in which the metric declares their names."""

SIZE_BOUNDS: Final = (1024, 4096, 524288, 1048576, 2097152, 4194304)
"""Bytes of a record."""
LATENCY_BOUNDS: Final = (1, 3, 5, 7, 10, 100, 1000, 2000, 3000)
"""Milliseconds of a request."""
CREATION_BOUNDS: Final = (10, 100, 1000, 3000, 5000)
"""Milliseconds in which topics or groups are made."""
FINISH_BOUNDS: Final = (5, 60, 600, 3600, 43200, 86400)
"""Seconds of a transaction."""
SYNC_BOUNDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Milliseconds of a sync of the log."""
SYNC_SIZE_BOUNDS: Final = (4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
"""Bytes that one sync is about."""
DELAY_BOUNDS: Final = (60, 600, 3600, 43200, 86400, 259200)
"""Seconds by which a message is delayed."""


class Counter:
    """Numbers that grow. At most `most` combinations of labels are told apart; others are `overflow`."""

    __slots__ = ("_most", "overflow", "table")

    def __init__(self, most: int) -> None:
        self._most = most
        self.table: dict[Labels, int] = {}
        self.overflow = 0

    def add(self, labels: Labels, amount: int = 1) -> None:
        """Count `amount` more."""
        table = self.table
        if labels in table:
            table[labels] += amount
        elif len(table) < self._most:
            table[labels] = amount
        else:
            self.overflow += amount

    def forget(self, concerns: Callable[[Labels], bool]) -> None:
        """Drop the numbers of some labels."""
        self.table = {labels: value for labels, value in self.table.items() if not concerns(labels)}


class Distribution:
    """How often values came that are not above each bound, and above all of them; and their sum."""

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
        """Note that a value came, or came several times."""
        distribution = self.of(labels)
        distribution.counts[bisect_left(self.bounds, value)] += times
        distribution.sum += value * times

    def of(self, labels: Labels) -> Distribution:
        """The distribution that values with these labels belong to, until the labels are forgotten."""
        distribution = self.table.get(labels)
        return self._new(labels) if distribution is None else distribution

    def _new(self, labels: Labels) -> Distribution:
        if len(self.table) >= self._most:
            return self.overflow
        distribution = self.table[labels] = Distribution(len(self.bounds))
        return distribution

    def forget(self, concerns: Callable[[Labels], bool]) -> None:
        """Drop the distributions of some labels."""
        self.table = {labels: value for labels, value in self.table.items() if not concerns(labels)}


SETTLED_A_STEP = 4096
"""Sizes that are counted together: they are sorted for that."""
LOOKED_AT_A_STEP: Final = 1000


class Incoming(Distribution):
    """Messages that were stored, by how large their records are; of a batch the mean counts, once.

    Sizes of single messages are only noted in `sizes`: `settle` before anything else is read, and every few
    seconds, lest they become many.
    """

    __slots__ = ("_beyond", "messages", "sizes")

    def __init__(self) -> None:
        super().__init__(len(SIZE_BOUNDS))
        self.messages = 0
        self._beyond = 0  # bytes of batches that their means leave out
        self.sizes: list[int] = []
        """Single messages that are not counted yet; the same list always."""

    def settle(self) -> None:
        """Count the last of `sizes`, as many as do not take long."""
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
        """Messages were stored together, `size` bytes in all."""
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


class FrontEndMeter:
    """Measures of a protocol front end other than remoting.

    `latency` is by request, response code, whether it may wait, and result; None if no metrics are exported.
    `connections` returns the number of open connections; None if they are not counted.
    """

    def __init__(self, *, has_latency: bool) -> None:
        self.latency = Histogram(LATENCY_BOUNDS, FRONT_END_SERIES) if has_latency else None
        self.connections: Callable[[], int] | None = None


class Meters:
    """Everything that is counted on the roads. At most `most` combinations of labels of each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.incoming: dict[Labels, Incoming] = {}
        """By topic and message type; what is beyond the limit is `incoming_overflow`."""
        self.incoming_overflow = Incoming()
        self.messages_popped = Counter(most)
        """Those of the messages given out that were popped: by the topic read and group; so is the next."""
        self.throughput_popped = Counter(most)
        self.dead_letters = Counter(most)
        """By group and the topic the messages were first sent to."""
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
        """By request code, response code, whether it was held, and result."""
        self.front_ends: dict[str, FrontEndMeter] = {}
        """By the front end's name, of those that were started."""
        self.topic_creation = Histogram(CREATION_BOUNDS, most)
        """By status, and whether it is a system topic."""
        self.group_creation = Histogram(CREATION_BOUNDS, most)
        """By status."""
        self.sync_time = Histogram(SYNC_BOUNDS, 1)
        """Without labels; so is the next."""
        self.sync_size = Histogram(SYNC_SIZE_BOUNDS, 1)

    def put(self, topic: str, kind: str, messages: int, size: int) -> None:
        """Messages of a type were stored in a topic, `size` bytes of records in all."""
        self.incoming_of(topic, kind).put(messages, size)

    def note(self, topic: str, sizes: list[int]) -> None:
        """Single messages of the normal type were stored in a topic."""
        incoming = self.incoming_of(topic, NORMAL)
        if incoming is not self.incoming_overflow:
            incoming.sizes += sizes
            return
        for size in sizes:
            incoming.put(1, size)

    def incoming_of(self, topic: str, kind: str) -> Incoming:
        """What messages of a type in a topic are counted in, until the topic is deleted."""
        incoming = self.incoming.get((topic, kind))
        if incoming is None:
            if len(self.incoming) >= self._most:
                return self.incoming_overflow
            incoming = self.incoming[topic, kind] = Incoming()
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
        """A sync of the log took so long, and was about so many bytes."""
        self.sync_time.record((), int(seconds * 1000))
        self.sync_size.record((), size)

    def popped(self, topic: str, group: str, messages: int, size: int) -> None:
        """Messages were popped from a topic, which may be one of retries."""
        self.messages_popped.add((topic, group), messages)
        self.throughput_popped.add((topic, group), size)

    def timer_enqueued(self, topic: str, delay_millis: int) -> None:
        """A timer for a topic came into the wheel; it was asked to wait so long."""
        self.timers_enqueued.add((topic,))
        self.delay_latency.record((topic,), max(0, delay_millis) // 1000)

    def topic_deleted(self, topic: str) -> None:
        """Forget what was counted of a topic."""
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
        """Forget what was counted of a group."""
        for meter in (self.messages_popped, self.throughput_popped):
            meter.forget(lambda labels: labels[1] == group)
        for meter in (self.dead_letters, self.revive_in, self.revive_out, self.revive_retries):
            meter.forget(lambda labels: labels[0] == group)
