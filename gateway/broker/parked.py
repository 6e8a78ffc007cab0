"""Table of parked requests, for pulls, pops and notifications.

A request is parked at one or several places until it is woken, its deadline passes, its client cancels it, or
its connection is lost. Waking a request, and its work then, is up to the table's users.

The table has no timers and no sockets. Times are passed in, in ms of a monotonic clock. Deadlines are kept in
slots of 100 ms, so that thousands of parked requests cost only memory.

RocketMQ: `PullRequestHoldService`, `PopLongPollingService`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, Generic, TypeVar

from mqgateway.gateway.broker.connection import ClientConnection

SLOT_MILLIS: Final = 100

P = TypeVar("P", bound=Hashable)
R = TypeVar("R", bound="ParkedRequest[Any]")


class ParkedRequest(Generic[P]):
    """A request parked at each of `places` (at least one) until `deadline` (ms)."""

    __slots__ = ("connection", "deadline", "places")

    def __init__(self, connection: ClientConnection, places: tuple[P, ...], deadline: int) -> None:
        self.connection = connection
        self.places = places
        self.deadline = deadline

    @property
    def place(self) -> P:
        """The first place; most requests have only one."""
        return self.places[0]


class ParkedRequests(Generic[P, R]):
    """Table of parked requests, limited to `most` in all and `most_at_place` at one place.

    `total` is their number: a look at an attribute is all that a message may cost when nothing waits.
    """

    def __init__(self, most: Callable[[], int], most_at_place: Callable[[], int]) -> None:
        self._most = most
        self._most_at_place = most_at_place
        self.total = 0
        self._places: dict[P, dict[R, None]] = {}
        self._slots: dict[int, dict[R, None]] = {}
        self._connections: dict[ClientConnection, dict[R, None]] = {}

    def __len__(self) -> int:
        return self.total

    def count(self, place: P) -> int:
        """Return the number of requests parked at a place."""
        return len(self._places.get(place, ()))

    def counts(self) -> list[tuple[P, int]]:
        """Return the places where requests are parked, each with their number."""
        return [(place, len(waiting)) for place, waiting in self._places.items()]

    def hold(self, request: R) -> bool:
        """Park a request; return False if a limit is reached, and it must be answered at once."""
        if self.total >= self._most():
            return False
        for place in request.places:
            at_place = self._places.get(place)
            if at_place is not None and len(at_place) >= self._most_at_place():
                return False
        self._park(request)
        return True

    def forget(self, request: R) -> None:
        """Remove a request whose client no longer waits; no-op if it is not parked."""
        if request in self._connections.get(request.connection, ()):
            self._take_out(request)

    def drop(self, connection: ClientConnection) -> None:
        """Remove the requests of a lost connection, which can no longer be answered."""
        for request in list(self._connections.get(connection, ())):
            self._take_out(request)
        self._connections.pop(connection, None)

    def take_expired(self, now: int) -> list[R]:
        """Remove and return the requests whose deadline is `now` or before."""
        last = now // SLOT_MILLIS
        expired = [request for slot in [s for s in self._slots if s < last] for request in self._slots[slot]]
        if last in self._slots:
            expired += [request for request in self._slots[last] if request.deadline <= now]
        self._take_all_out(expired)
        return expired

    def _park(self, request: R) -> None:
        self.total += 1
        for place in request.places:
            self._places.setdefault(place, {})[request] = None
        self._slots.setdefault(request.deadline // SLOT_MILLIS, {})[request] = None
        connection = request.connection
        of_connection = self._connections.get(connection)
        if of_connection is not None:
            of_connection[request] = None
        else:
            self._connections[connection] = {request: None}
            connection.on_lost(self.drop)  # last: a connection that is lost already drops at once

    def _take_all_out(self, requests: Iterable[R]) -> None:
        for request in requests:
            self._take_out(request)

    def _take_out(self, request: R) -> None:
        self.total -= 1
        del self._connections[request.connection][request]
        for place in request.places:
            at_place = self._places[place]
            del at_place[request]
            if not at_place:
                del self._places[place]
        slot = request.deadline // SLOT_MILLIS
        in_slot = self._slots[slot]
        del in_slot[request]
        if not in_slot:
            del self._slots[slot]
