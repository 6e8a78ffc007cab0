"""Long polls: pulls that wait for messages, and what wakes them.

A pull that found nothing and may wait is parked under its topic and queue. It is woken when a message arrives
that it wants, when a check every 5 seconds finds that the queue has grown, or when its time is up; it is
dropped when its connection is lost. A fetch waits at several queues until they have a number of bytes for it.
A woken request knows what woke it, is read once more and answered; waking never parks again.

RocketMQ: `PullRequestHoldService`, `PullRequest`.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import Arrival
from mqgateway.engine.store.results import Accept
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.parked import ParkedRequest, ParkedRequests

log = logging.getLogger(__name__)

CHECK_INTERVAL_MILLIS: Final = 5000

Queue = tuple[str, int]

IsHeldBack = Callable[[str, int, int], bool]
"""Returns True if a queue has messages from an offset on, but none that may be read yet."""
Wanted = frozenset[int] | Accept | None
"""Filter of a pull: the hashes of its tags, a predicate of properties, or None for all messages."""


class Cause(Enum):
    """Why a parked pull was woken."""

    ARRIVAL = auto()
    GROWTH = auto()
    """A check found messages of which no arrival was reported."""
    TIMEOUT = auto()
    TOPIC_DELETED = auto()


class Wake(NamedTuple):
    """The end of a wait: its cause, and the queues that have messages for the parked pull."""

    cause: Cause
    queues: tuple[Queue, ...]


# A look-up in an enumeration is slow.
_TIMEOUT: Final = Wake(Cause.TIMEOUT, ())
_TOPIC_DELETED: Final = Wake(Cause.TOPIC_DELETED, ())
_ARRIVAL: Final = Cause.ARRIVAL
_GROWTH: Final = Cause.GROWTH


class HeldPull(ParkedRequest[Queue]):
    """A parked pull.

    `offset` is the queue offset it waits to see passed, and `resume` answers it. Messages of open
    transactions do not wake it, if there is `is_held_back`. `woken_by` is None while it is parked.
    """

    __slots__ = ("is_held_back", "offset", "resume", "wanted", "woken_by")

    def __init__(
        self,
        connection: ClientConnection,
        topic: str,
        queue_id: int,
        offset: int,
        wanted: Wanted,
        deadline: int,
        resume: Callable[[], None],
        is_held_back: IsHeldBack | None = None,
    ) -> None:
        super().__init__(connection, ((topic, queue_id),), deadline)
        self.is_held_back = is_held_back
        self.offset = offset
        self.wanted = wanted
        self.resume = resume
        self.woken_by: Wake | None = None

    def offset_at(self, queue: Queue) -> int:
        """Return the queue offset that it waits to see passed in one of its queues."""
        return self.offset

    def readable(self, grown: Sequence[Queue]) -> tuple[Queue, ...]:
        """Return the queues that have messages for it, as some have grown; none if these are not enough."""
        is_held_back, (topic, queue_id) = self.is_held_back, self.places[0]
        if is_held_back is not None and is_held_back(topic, queue_id, self.offset):
            return ()
        return self.places


class HeldFetch(HeldPull):
    """A parked read of several queues, from the queue offsets in `positions` on.

    It waits until messages of at least `min_bytes` bytes can be read in all of them together. `bytes_from`
    gives how many can be, by topic, queue id, queue offset and a number that is enough; see
    `MessageStore.readable_bytes`. What was counted of a queue is kept until the queue grows, so that an
    arrival costs no look at the others.
    """

    __slots__ = ("_sizes", "_total", "bytes_from", "min_bytes", "positions")

    def __init__(
        self,
        connection: ClientConnection,
        positions: dict[Queue, int],
        min_bytes: int,
        bytes_from: Callable[[str, int, int, int], int],
        deadline: int,
        resume: Callable[[], None],
    ) -> None:
        (topic, queue_id), offset = next(iter(positions.items()))
        super().__init__(connection, topic, queue_id, offset, None, deadline, resume)
        self.places = tuple(positions)
        self.positions = positions
        self.min_bytes = min_bytes
        self.bytes_from = bytes_from
        self._sizes: dict[Queue, int] = {}  # as far as they were counted; `_total` together
        self._total = 0

    def offset_at(self, queue: Queue) -> int:
        """See `HeldPull`."""
        return self.positions[queue]

    def readable(self, grown: Sequence[Queue]) -> tuple[Queue, ...]:
        """See `HeldPull`."""
        sizes = self._sizes
        self._count(grown)
        if self._total < self.min_bytes and len(sizes) < len(self.positions):
            self._count([queue for queue in self.positions if queue not in sizes])
        if self._total < self.min_bytes:
            return ()
        return tuple([queue for queue in self.positions if sizes.get(queue)])

    def _count(self, queues: Sequence[Queue]) -> None:
        """Count the bytes in some queues, each as far as they are needed."""
        for queue in queues:
            others = self._total - self._sizes.get(queue, 0)
            enough = max(1, self.min_bytes - others)
            size = self.bytes_from(queue[0], queue[1], self.positions[queue], enough)
            self._sizes[queue] = size
            self._total = others + size


class _News:
    """Arrivals in one queue. An arrival without properties matches every expression."""

    __slots__ = ("properties", "tags", "top")

    def __init__(self) -> None:
        self.top = 0
        self.tags: set[int] = set()
        self.properties: list[dict[str, str] | None] = []

    def add(self, arrival: Arrival) -> None:
        self.top = max(self.top, arrival.next_offset)
        self.tags.add(arrival.tags_code)
        self.properties.append(arrival.properties)

    def has(self, wanted: Wanted) -> bool:
        if wanted is None:
            return True
        if isinstance(wanted, frozenset):
            return not wanted.isdisjoint(self.tags)
        return any(one is None or wanted(one) for one in self.properties)


class HeldPulls(ParkedRequests[Queue, HeldPull]):
    """The table of parked pulls; `maxHeldPulls` and `maxHeldPullsPerQueue` bound it."""

    def __init__(self, options: BrokerOptions) -> None:
        super().__init__(lambda: options.max_held_pulls, lambda: options.max_held_pulls_per_queue)
        self._next_check = 0

    def arrived(self, arrivals: Iterable[Arrival]) -> list[HeldPull]:
        """Take out the pulls that these messages wake."""
        queues = self._places
        news: dict[Queue, _News] = {}
        for arrival in arrivals:
            key = (arrival.topic, arrival.queue_id)
            if key not in queues:
                continue
            if key not in news:
                news[key] = _News()
            news[key].add(arrival)
        grown: dict[HeldPull, list[Queue]] = {}
        for key, new in news.items():
            for held in queues[key]:
                if new.top > held.offset_at(key) and new.has(held.wanted):
                    grown.setdefault(held, []).append(key)
        return self._wake(grown, _ARRIVAL)

    def _wake(self, candidates: Mapping[HeldPull, Sequence[Queue]], cause: Cause) -> list[HeldPull]:
        """Take out those of some pulls, of which these queues have grown, that have enough to read."""
        woken: list[HeldPull] = []
        for held, queues in candidates.items():
            found = held.readable(queues)
            if found:
                held.woken_by = Wake(cause, found)
                woken.append(held)
        self._take_all_out(woken)
        return woken

    def of_topic(self, topic: str) -> list[HeldPull]:
        """Take out the pulls of a topic."""
        waiting = [at_queue for place, at_queue in self._places.items() if place[0] == topic]
        held = list(dict.fromkeys(each for at_queue in waiting for each in at_queue))
        for each in held:
            each.woken_by = _TOPIC_DELETED
        self._take_all_out(held)
        return held

    def due(self, now: int, max_offset: Callable[[str, int], int]) -> list[HeldPull]:
        """Take out the pulls whose deadline has passed and, every 5 seconds, those whose queue has grown.

        Filters are not applied here: a message without a reported arrival must not stay unseen.
        """
        expired = self.take_expired(now)
        for held in expired:
            held.woken_by = _TIMEOUT
        if now < self._next_check:
            return expired
        self._next_check = now + CHECK_INTERVAL_MILLIS
        grown: dict[HeldPull, list[Queue]] = {}
        for queue, of_queue in self._places.items():
            top = max_offset(queue[0], queue[1])
            for held in of_queue:
                if top > held.offset_at(queue):
                    grown.setdefault(held, []).append(queue)
        return expired + self._wake(grown, _GROWTH)


def resume_all(woken: Iterable[HeldPull]) -> None:
    """Answer woken pulls; one that fails does not keep the others waiting."""
    for held in woken:
        try:
            held.resume()
        except Exception:
            log.exception("a held pull of %s@%d could not be answered", *held.place)
