"""Pops that wait for messages, and questions that wait for a notification: the parked table.

One waits for a topic, a group and a queue, or any queue (-1). A message that arrives wakes one of each group
that waits for its queue and one that waits for any; so does a message that comes again, a queue that is free
again, and a pop that left something. Whoever is woken looks once more, and is parked again until its time is
up if there is nothing for it. Time is passed in, in milliseconds of a clock that never goes back. Standard:
`PopLongPollingService`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from mqgateway.engine.pop import retry_topic
from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.consume.long_polling import SLOT_MILLIS, Wanted
from mqgateway.gateway.remoting.call import Peer

log = logging.getLogger(__name__)

ANY_QUEUE = -1

K = TypeVar("K")
Place = tuple[str, str, int]
"""Topic, group and queue."""


class HeldPop:
    """One that waits; `deadline` is when its time is up.

    `resume` looks once more, for the last time if it is told so, and says whether that was an answer.
    """

    __slots__ = ("deadline", "peer", "place", "resume", "wanted")

    def __init__(
        self, peer: Peer, place: Place, wanted: Wanted, deadline: int, resume: Callable[[bool], bool]
    ) -> None:
        self.peer = peer
        self.place = place
        self.wanted = wanted
        self.deadline = deadline
        self.resume = resume

    def wants(self, arrival: Arrival) -> bool:
        """Whether a message may be for it."""
        if self.wanted is None:
            return True
        if isinstance(self.wanted, frozenset):
            return arrival.tags_code in self.wanted
        return arrival.properties is None or self.wanted(arrival.properties)


class PopHolds:
    """The table; `most` may wait in all, `most_at_place` at one place.

    The newest is woken first if `last_first`.
    """

    def __init__(
        self, most: Callable[[], int], most_at_place: Callable[[], int], *, last_first: bool
    ) -> None:
        self._most = most
        self._most_at_place = most_at_place
        self._last_first = last_first
        self._count = 0
        self._groups: dict[str, dict[str, int]] = {}
        self._retried: dict[str, tuple[str, str]] = {}
        self._places: dict[Place, dict[HeldPop, None]] = {}
        self._slots: dict[int, dict[HeldPop, None]] = {}
        self._peers: dict[Peer, dict[HeldPop, None]] = {}
        self._ready: deque[tuple[HeldPop, bool]] = deque()
        self._is_resuming = False

    def __len__(self) -> int:
        return self._count

    def count(self, place: Place) -> int:
        """How many wait there."""
        return len(self._places.get(place, ()))

    def hold(self, held: HeldPop) -> bool:
        """Park one; false when there is no room."""
        at_place = self._places.get(held.place)
        if self._count >= self._most() or (at_place is not None and len(at_place) >= self._most_at_place()):
            return False
        self._park(held)
        held.peer.on_lost(self.drop)
        return True

    def _park(self, held: HeldPop) -> None:
        topic, group, _ = held.place
        self._count += 1
        self._places.setdefault(held.place, {})[held] = None
        self._slots.setdefault(held.deadline // SLOT_MILLIS, {})[held] = None
        self._peers.setdefault(held.peer, {})[held] = None
        groups = self._groups.setdefault(topic, {})
        groups[group] = groups.get(group, 0) + 1
        if groups[group] == 1:
            for is_v2 in (False, True):
                self._retried[retry_topic(topic, group, is_v2)] = (topic, group)

    def arrived(self, arrivals: Iterable[Arrival]) -> None:
        """Let those look once more whom these messages may be for."""
        if not self._count:
            return
        for arrival in arrivals:
            if arrival.topic in self._groups:
                for group in list(self._groups[arrival.topic]):
                    for queue_id in (ANY_QUEUE, arrival.queue_id):
                        self._wake_one((arrival.topic, group, queue_id), arrival)
            if arrival.topic in self._retried:
                topic, group = self._retried[arrival.topic]
                for queue_id in (ANY_QUEUE, arrival.queue_id):
                    self._wake_one((topic, group, queue_id))
        self._resume()

    def wake(self, *places: Place) -> None:
        """Let one look once more: at the first of these places where somebody waits."""
        for place in places:
            if self._wake_one(place):
                break
        self._resume()

    def due(self, now: int) -> None:
        """Let those answer whose time is up."""
        last = now // SLOT_MILLIS
        for slot in [slot for slot in self._slots if slot <= last]:
            for held in [held for held in self._slots[slot] if held.deadline <= now]:
                self._take_out(held)
                self._ready.append((held, True))
        self._resume()

    def drop(self, peer: Peer) -> None:
        """Forget who waited on a lost connection; nobody is left to answer."""
        for held in list(self._peers.get(peer, ())):
            self._take_out(held)

    def forget(self, held: HeldPop) -> None:
        """Drop one that nobody waits for any more; does nothing when it is not parked."""
        if held in self._peers.get(held.peer, ()):
            self._take_out(held)

    def _wake_one(self, place: Place, arrival: Arrival | None = None) -> bool:
        at_place = self._places.get(place)
        if at_place is None:
            return False
        for held in reversed(at_place) if self._last_first else at_place:
            if arrival is None or held.wants(arrival):
                self._take_out(held)
                self._ready.append((held, False))
                return True
        return False

    def _resume(self) -> None:
        """Resume who was woken, in turn: one that answers may wake the next, which waits for its turn."""
        if self._is_resuming:
            return
        self._is_resuming = True
        try:
            while self._ready:
                held, is_last = self._ready.popleft()
                try:
                    if not held.resume(is_last) and held.peer.is_open:
                        self._park(held)
                except Exception:
                    log.exception("a held pop of %s@%s@%d could not be answered", *held.place)
        finally:
            self._is_resuming = False

    def _take_out(self, held: HeldPop) -> None:
        topic, group, _ = held.place
        self._count -= 1
        _remove(self._places, held.place, held)
        _remove(self._slots, held.deadline // SLOT_MILLIS, held)
        _remove(self._peers, held.peer, held)
        groups = self._groups[topic]
        groups[group] -= 1
        if not groups[group]:
            del groups[group]
            for is_v2 in (False, True):
                del self._retried[retry_topic(topic, group, is_v2)]
            if not groups:
                del self._groups[topic]


def _remove(table: dict[K, dict[HeldPop, None]], key: K, held: HeldPop) -> None:
    found = table[key]
    del found[held]
    if not found:
        del table[key]
