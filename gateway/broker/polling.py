"""How requests of POP wait: for how long by their clients' clocks, and parked until there is an answer.

Standard: `PopMessageProcessor`, `NotificationProcessor`, `PopLongPollingService`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.pop import OrderKey
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE, ParkedPop, ParkedPops

ANSWER_EARLY_MILLIS = 50
"""How long before its time is up one that waits is answered. Standard: `PopRequest.isTimeout`."""

TOO_LATE_MILLIS = 500
"""How long after its time is up a request is not looked at any more."""

T = TypeVar("T")


class PollingStatus(Enum):
    """How a pop ended; but for the first the names are those of the standard's answers."""

    FOUND = auto()
    POLLING_TIMEOUT = auto()
    """There is nothing, and its client waits no more."""
    POLLING_FULL = auto()
    """There is nothing, and too many wait."""


class PollingRequest(Protocol):
    """What says how long to wait. Times in ms, by the client's clock."""

    @property
    def born_time(self) -> int:
        """When the client asked; 0 for now."""
        ...

    @property
    def max_wait(self) -> int:
        """How long it waits."""
        ...


def check_readable(broker: Broker, what: str) -> None:
    """Whether the broker may be read."""
    options = broker.options
    if not options.broker_permission & PERM_READ:
        raise OperationError(
            Reason.NO_PERMISSION, f"the broker[{options.broker_ip1}] {what} message is forbidden"
        )


def check_in_time(broker: Broker, connection: ClientConnection, request: PollingRequest) -> None:
    """Refuse a pop whose client waits no more."""
    if not request.born_time:
        return
    passed = _earlier_time(broker) - request.born_time
    if broker.pop.clocks.is_late(connection, passed, request.max_wait + TOO_LATE_MILLIS):
        raise OperationError(
            Reason.POLLING_TIMEOUT,
            f"the broker[{broker.options.broker_ip1}] pop message is timeout too much",
        )


def clients_now(broker: Broker, connection: ClientConnection) -> int:
    """What to compare the time with at which a client says that it asked, ms: what its clock shows, as far as
    is known.
    """
    return _earlier_time(broker) - broker.pop.clocks.behind(connection)


def _earlier_time(broker: Broker) -> int:
    """The earlier of our two times, ms: a client's wall clock may have been set with ours, or not; either way
    it is not kept from waiting.
    """
    return min(broker.clock.millis(), broker.store.steady.now())


def time_left(request: PollingRequest, now: int) -> int:
    """Milliseconds for which a request may wait; none where the client does not, or no more."""
    born = request.born_time or now
    return min(born + request.max_wait - ANSWER_EARLY_MILLIS - now, request.max_wait)


def wait(
    broker: Broker,
    parked: ParkedPops,
    connection: ClientConnection,
    place: OrderKey,
    wanted: Wanted,
    millis: int,
    look: Callable[[bool], T | Deferred[T] | None],
) -> Deferred[T] | None:
    """Park a request until `look` has an outcome, which it must have when told that its time is up, or is to
    get one.

    None when there is no room.
    """
    is_cancelled = False

    def cancel(_: Deferred[T]) -> None:
        nonlocal is_cancelled
        is_cancelled = True
        parked.forget(pop)

    def resume(is_last: bool) -> bool:
        if is_cancelled:
            return True
        try:
            outcome = look(is_last)
        except Exception:
            waiting.errback()
            return True
        if outcome is None:
            return False
        if isinstance(outcome, Deferred):
            outcome.addBoth(lambda result: None if is_cancelled else waiting.callback(result))
        else:
            waiting.callback(outcome)
        return True

    waiting: Deferred[T] = Deferred(cancel)
    place = place._replace(queue_id=max(place.queue_id, ANY_QUEUE))
    pop = ParkedPop(connection, place, wanted, elapsed_millis(broker.clock) + millis, resume)
    return waiting if parked.hold(pop) else None
