"""Pulls that wait for messages: the parked table, and what wakes them.

A pull that found nothing and may wait is parked under its topic and queue. It is woken when a
message arrives that it wants, when a check every 5 seconds finds that the queue has grown,
or when the client's time is up; a pull is dropped when its connection goes. Whoever is woken is
read once more and answered; waking never parks again.

The table knows no timers and no sockets: time is passed in, in milliseconds of a clock that never
goes back, and deadlines are kept in slots of 100 ms, so that thousands of parked pulls cost
nothing but their memory.

Standard: `PullRequestHoldService`, `PullRequest`.
"""

import logging
from collections.abc import Callable, Iterable

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import Arrival
from mqgateway.engine.store.results import Accept
from mqgateway.gateway.broker.connection import ClientConnection

log = logging.getLogger(__name__)

CHECK_INTERVAL_MILLIS = 5000
SLOT_MILLIS = 100

Queue = tuple[str, int]

Wanted = frozenset[int] | Accept | None
"""What a pull wants: the hashes of its tags, what an expression says of properties, or None for all."""


class HeldPull:
    """One parked pull.

    `offset` is the queue offset it waits to see passed, `deadline` when its time is up, and `resume`
    answers it.
    """

    __slots__ = ("connection", "deadline", "offset", "queue_id", "resume", "topic", "wanted")

    def __init__(
        self,
        connection: ClientConnection,
        topic: str,
        queue_id: int,
        offset: int,
        wanted: Wanted,
        deadline: int,
        resume: Callable[[], None],
    ) -> None:
        self.connection = connection
        self.topic = topic
        self.queue_id = queue_id
        self.offset = offset
        self.wanted = wanted
        self.deadline = deadline
        self.resume = resume


class _News:
    """What arrived in one queue. An arrival without properties may be anything."""

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


class PullHolds:
    """The table of parked pulls; `maxHeldPulls` and `maxHeldPullsPerQueue` bound it."""

    def __init__(self, options: BrokerOptions) -> None:
        self._options = options
        self._count = 0
        self._queues: dict[Queue, dict[HeldPull, None]] = {}
        self._slots: dict[int, dict[HeldPull, None]] = {}
        self._connections: dict[ClientConnection, dict[HeldPull, None]] = {}
        self._next_check = 0

    def __len__(self) -> int:
        return self._count

    def hold(self, held: HeldPull) -> bool:
        """Park a pull; false when the table is full, and the pull must be answered at once."""
        options = self._options
        if self._count >= options.max_held_pulls:
            return False
        of_queue = self._queues.setdefault((held.topic, held.queue_id), {})
        if len(of_queue) >= options.max_held_pulls_per_queue:
            return False
        self._count += 1
        of_queue[held] = None
        self._slots.setdefault(held.deadline // SLOT_MILLIS, {})[held] = None
        of_connection = self._connections.get(held.connection)
        if of_connection is not None:
            of_connection[held] = None
        else:
            self._connections[held.connection] = {held: None}
            held.connection.on_lost(self.drop)  # last, as it drops at once when the peer is gone already
        return True

    def arrived(self, arrivals: Iterable[Arrival]) -> list[HeldPull]:
        """Take out the pulls that these messages wake."""
        queues = self._queues
        if not queues:
            return []
        news: dict[Queue, _News] = {}
        for arrival in arrivals:
            key = (arrival.topic, arrival.queue_id)
            if key not in queues:
                continue
            if key not in news:
                news[key] = _News()
            news[key].add(arrival)
        woken = [
            held
            for key, new in news.items()
            for held in queues[key]
            if new.top > held.offset and new.has(held.wanted)
        ]
        for held in woken:
            self._take_out(held)
        return woken

    def due(self, now: int, max_offset: Callable[[str, int], int]) -> list[HeldPull]:
        """Take out the pulls whose time is up and, every 5 seconds, those whose queue has grown.

        What they want is not compared here: a message that no arrival told of must not stay unseen.
        """
        last = now // SLOT_MILLIS
        woken = [held for slot in [s for s in self._slots if s < last] for held in self._slots[slot]]
        if last in self._slots:
            woken += [held for held in self._slots[last] if held.deadline <= now]
        for held in woken:
            self._take_out(held)
        if now < self._next_check:
            return woken
        self._next_check = now + CHECK_INTERVAL_MILLIS
        grown = []
        for (topic, queue_id), of_queue in self._queues.items():
            top = max_offset(topic, queue_id)
            grown += [held for held in of_queue if top > held.offset]
        for held in grown:
            self._take_out(held)
        return woken + grown

    def drop(self, connection: ClientConnection) -> None:
        """Forget what a lost connection waited for; nobody is left to answer."""
        for held in list(self._connections.get(connection, ())):
            self._take_out(held)
        self._connections.pop(connection, None)

    def forget(self, held: HeldPull) -> None:
        """Drop one pull that nobody waits for any more; does nothing when it is not parked."""
        if held in self._connections.get(held.connection, ()):
            self._take_out(held)

    def _take_out(self, held: HeldPull) -> None:
        self._count -= 1
        self._connections[held.connection].pop(held)
        key = (held.topic, held.queue_id)
        of_queue = self._queues[key]
        of_queue.pop(held)
        if not of_queue:
            del self._queues[key]
        slot = held.deadline // SLOT_MILLIS
        of_slot = self._slots[slot]
        of_slot.pop(held)
        if not of_slot:
            del self._slots[slot]


def resume_all(woken: Iterable[HeldPull]) -> None:
    """Answer woken pulls; one that fails does not keep the others waiting."""
    for held in woken:
        try:
            held.resume()
        except Exception:
            log.exception("a held pull of %s@%d could not be answered", held.topic, held.queue_id)
