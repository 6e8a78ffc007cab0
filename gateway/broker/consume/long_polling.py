"""Pulls that wait for messages, and what wakes them.

A pull that found nothing and may wait is parked under its topic and queue. It is woken when a
message arrives that it wants, when a check every 5 seconds finds that the queue has grown,
or when the client's time is up; a pull is dropped when its connection goes. Whoever is woken is
read once more and answered; waking never parks again.

Standard: `PullRequestHoldService`, `PullRequest`.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.store.message_store import Arrival
from mqgateway.engine.store.results import Accept
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.parked import ParkedRequest, ParkedRequests

log = logging.getLogger(__name__)

CHECK_INTERVAL_MILLIS: Final = 5000

Queue = tuple[str, int]

Wanted = frozenset[int] | Accept | None
"""What a pull wants: the hashes of its tags, what an expression says of properties, or None for all."""


class HeldPull(ParkedRequest[Queue]):
    """One parked pull.

    `offset` is the queue offset it waits to see passed, and `resume` answers it.
    """

    __slots__ = ("offset", "resume", "wanted")

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
        super().__init__(connection, (topic, queue_id), deadline)
        self.offset = offset
        self.wanted = wanted
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


class HeldPulls(ParkedRequests[Queue, HeldPull]):
    """The table of parked pulls; `maxHeldPulls` and `maxHeldPullsPerQueue` bound it."""

    def __init__(self, options: BrokerOptions) -> None:
        super().__init__(lambda: options.max_held_pulls, lambda: options.max_held_pulls_per_queue)
        self._next_check = 0

    def arrived(self, arrivals: Iterable[Arrival]) -> list[HeldPull]:
        """Take out the pulls that these messages wake."""
        queues = self._places
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
        self._take_all_out(woken)
        return woken

    def of_topic(self, topic: str) -> list[HeldPull]:
        """Take out the pulls of a topic."""
        held = [each for place, of_queue in self._places.items() if place[0] == topic for each in of_queue]
        self._take_all_out(held)
        return held

    def due(self, now: int, max_offset: Callable[[str, int], int]) -> list[HeldPull]:
        """Take out the pulls whose time is up and, every 5 seconds, those whose queue has grown.

        What they want is not compared here: a message that no arrival told of must not stay unseen.
        """
        expired = self.take_expired(now)
        if now < self._next_check:
            return expired
        self._next_check = now + CHECK_INTERVAL_MILLIS
        grown: list[HeldPull] = []
        for (topic, queue_id), of_queue in self._places.items():
            top = max_offset(topic, queue_id)
            grown += [held for held in of_queue if top > held.offset]
        self._take_all_out(grown)
        return expired + grown


def resume_all(woken: Iterable[HeldPull]) -> None:
    """Answer woken pulls; one that fails does not keep the others waiting."""
    for held in woken:
        try:
            held.resume()
        except Exception:
            log.exception("a held pull of %s@%d could not be answered", *held.place)
