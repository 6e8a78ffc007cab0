"""Waiting of POP requests: the time left by their clients' clocks, and parking until there is an answer.

RocketMQ: `PopMessageProcessor`, `NotificationProcessor`, `PopLongPollingService`.
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
from mqgateway.gateway.runtime.outcomes import is_pending_or, resolve

ANSWER_EARLY_MILLIS = 50
"""Milliseconds before its deadline at which a parked request is answered. RocketMQ: `PopRequest.isTimeout`.
"""

TOO_LATE_MILLIS = 500
"""Milliseconds after its deadline from which a request is rejected unread."""

T = TypeVar("T")


class PollingStatus(Enum):
    """Outcome of a pop; except for the first, the names are those of RocketMQ's response codes."""

    FOUND = auto()
    POLLING_TIMEOUT = auto()
    """There is no message, and the client's time is up."""
    POLLING_FULL = auto()
    """There is no message, and too many requests are parked."""


class PollingRequest(Protocol):
    """Request that states its waiting time. Times in ms, by the client's clock."""

    @property
    def born_time(self) -> int:
        """Time of the client's request; 0 for now."""
        ...

    @property
    def max_wait(self) -> int:
        """Time the client waits."""
        ...


def check_readable(broker: Broker, what: str) -> None:
    """Raise `OperationError` (NO_PERMISSION) if the broker may not be read."""
    options = broker.options
    if not options.broker_permission & PERM_READ:
        raise OperationError(
            Reason.NO_PERMISSION, f"the broker[{options.broker_ip1}] {what} message is forbidden"
        )


def check_in_time(broker: Broker, connection: ClientConnection, request: PollingRequest) -> None:
    """Raise `OperationError` (POLLING_TIMEOUT) if the client of a pop no longer waits."""
    if not request.born_time:
        return
    passed = _earlier_time(broker) - request.born_time
    if broker.pop.clocks.is_late(connection, passed, request.max_wait + TOO_LATE_MILLIS):
        raise OperationError(
            Reason.POLLING_TIMEOUT,
            f"the broker[{broker.options.broker_ip1}] pop message is timeout too much",
        )


def clients_now(broker: Broker, connection: ClientConnection) -> int:
    """Return the time of a client's clock in ms, as far as it is known, to compare with its `born_time`."""
    return _earlier_time(broker) - broker.pop.clocks.behind(connection)


def _earlier_time(broker: Broker) -> int:
    """Return the earlier of wall time and steady time, in ms.

    A client's wall clock may have been set together with ours, or not; in either case it is not kept from
    waiting.
    """
    return min(broker.clock.millis(), broker.store.steady.now())


def time_left(request: PollingRequest, now: int) -> int:
    """Return the milliseconds a request may wait; 0 or less if its client does not wait, or no longer."""
    born = request.born_time or now
    return min(born + request.max_wait - ANSWER_EARLY_MILLIS - now, request.max_wait)


def wait(
    broker: Broker,
    parked: ParkedPops,
    connection: ClientConnection,
    place: OrderKey,
    wanted: Wanted,
    millis: int,
    look: Callable[[], T | Deferred[T]],
    is_found: Callable[[T], bool],
) -> Deferred[T] | None:
    """Park a request until `look` returns a result that answers it, or a Deferred of one.

    After the deadline any result does. Return None if no request can be parked.
    """

    def resume(is_last: bool) -> bool:
        if waiting.called:  # cancelled
            return True
        try:
            outcome = look()
        except Exception:
            waiting.errback()
            return True
        if not is_last and not is_pending_or(outcome, is_found):
            return False
        resolve(waiting, outcome)
        return True

    waiting: Deferred[T] = Deferred(lambda _: parked.forget(pop))
    place = place._replace(queue_id=max(place.queue_id, ANY_QUEUE))
    pop = ParkedPop(connection, place, wanted, elapsed_millis(broker.clock) + millis, resume)
    return waiting if parked.hold(pop) else None
