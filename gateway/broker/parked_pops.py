"""Parked pops, and parked requests for a notification of messages.

A request waits for a topic, a group and a queue, or any queue (-1). An arriving message wakes, in each group,
one request that waits for its queue and one that waits for any queue. So do a redelivered message, a queue
that is unlocked, and a pop that left messages. A woken request reads again; if it finds nothing, it is parked
again until its deadline. RocketMQ: `PopLongPollingService`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from mqgateway.engine.pop import OrderKey, retry_topic
from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.parked import ParkedRequest, ParkedRequests

log = logging.getLogger(__name__)

ANY_QUEUE: Final = -1


class ParkedPop(ParkedRequest[OrderKey]):
    """A parked pop or notification.

    `resume` reads again, for the last time if its argument is True, and returns True if the request was
    answered.
    """

    __slots__ = ("resume", "wanted")

    def __init__(
        self,
        connection: ClientConnection,
        place: OrderKey,
        wanted: Wanted,
        deadline: int,
        resume: Callable[[bool], bool],
    ) -> None:
        super().__init__(connection, (place,), deadline)
        self.wanted = wanted
        self.resume = resume

    def wants(self, arrival: Arrival) -> bool:
        """Return True if a message may match the request's filter."""
        if self.wanted is None:
            return True
        if isinstance(self.wanted, frozenset):
            return arrival.tags_code in self.wanted
        return arrival.properties is None or self.wanted(arrival.properties)


class ParkedPops(ParkedRequests[OrderKey, ParkedPop]):
    """Table of parked pops; the newest is woken first if `last_first`."""

    def __init__(
        self, most: Callable[[], int], most_at_place: Callable[[], int], *, last_first: bool
    ) -> None:
        super().__init__(most, most_at_place)
        self._last_first = last_first
        self._groups: dict[str, dict[str, int]] = {}
        self._retried: dict[str, tuple[str, str]] = {}
        self._ready: deque[tuple[ParkedPop, bool]] = deque()
        self._is_resuming = False

    def arrived(self, arrivals: Iterable[Arrival]) -> None:
        """Wake the requests that these messages may match."""
        for arrival in arrivals:
            if arrival.topic in self._groups:
                for group in list(self._groups[arrival.topic]):
                    for queue_id in (ANY_QUEUE, arrival.queue_id):
                        self._wake_one(OrderKey(arrival.topic, group, queue_id), arrival)
            if arrival.topic in self._retried:
                topic, group = self._retried[arrival.topic]
                for queue_id in (ANY_QUEUE, arrival.queue_id):
                    self._wake_one(OrderKey(topic, group, queue_id))
        self._resume()

    def wake(self, *places: OrderKey) -> None:
        """Wake one request, at the first of these places where one is parked."""
        for place in places:
            if self._wake_one(place):
                break
        self._resume()

    def end(self, topic: str) -> None:
        """Answer the requests parked for a deleted topic."""
        waiting = [pop for place, at in self._places.items() if place.topic == topic for pop in at]
        self._take_all_out(waiting)
        self._ready.extend((pop, True) for pop in waiting)
        self._resume()

    def due(self, now: int) -> None:
        """Answer the requests whose deadline is `now` or before."""
        self._ready.extend((pop, True) for pop in self.take_expired(now))
        self._resume()

    def _wake_one(self, place: OrderKey, arrival: Arrival | None = None) -> bool:
        at_place = self._places.get(place)
        if at_place is None:
            return False
        for pop in reversed(at_place) if self._last_first else at_place:
            if arrival is None or pop.wants(arrival):
                self._take_out(pop)
                self._ready.append((pop, False))
                return True
        return False

    def _resume(self) -> None:
        """Resume woken requests in turn: one that is answered may wake the next, which is appended."""
        if self._is_resuming:
            return
        self._is_resuming = True
        try:
            while self._ready:
                pop, is_last = self._ready.popleft()
                try:
                    if not pop.resume(is_last) and pop.connection.is_open:
                        self._park(pop)
                except Exception:
                    log.exception("a parked pop of %s@%s@%d could not be answered", *pop.place)
        finally:
            self._is_resuming = False

    def _park(self, request: ParkedPop) -> None:
        topic, group, _ = request.place
        groups = self._groups.setdefault(topic, {})
        groups[group] = groups.get(group, 0) + 1
        if groups[group] == 1:
            for is_v2 in (False, True):
                self._retried[retry_topic(topic, group, is_v2)] = (topic, group)
        super()._park(request)

    def _take_out(self, request: ParkedPop) -> None:
        super()._take_out(request)
        topic, group, _ = request.place
        groups = self._groups[topic]
        groups[group] -= 1
        if not groups[group]:
            del groups[group]
            for is_v2 in (False, True):
                del self._retried[retry_topic(topic, group, is_v2)]
            if not groups:
                del self._groups[topic]
