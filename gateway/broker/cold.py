"""Reads that may need the disk, without blocking the event loop.

An attempt that may not wait for the disk raises `ColdRead`. A worker then loads the missing bytes into
memory, and the attempt is repeated, so it must be idempotent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.gateway.broker.errors import OperationError, Reason

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

T = TypeVar("T")

ROUNDS: Final = 8
"""Number of loads for one operation before it waits for the disk."""


def reading(
    broker: Broker, attempt: Callable[[int], T | Deferred[T]], rounds: int = ROUNDS
) -> T | Deferred[T]:
    """Return the result of `attempt(rounds)`, repeated until it succeeds; a Deferred after a cold read.

    The argument is the number of loads left. As long as it is not 0, the attempt may not wait for the disk
    and raises `ColdRead`. Raises `OperationError` for older messages that cannot be read now.
    """
    try:
        return attempt(rounds)
    except ColdRead as cold:
        return once_brought(broker, cold, attempt, rounds - 1)
    except NothingYet as missing:
        raise busy(missing) from None


def busy(missing: NothingYet) -> OperationError:
    """Return the refusal of a request for older messages that cannot be read now."""
    return OperationError(Reason.SYSTEM_BUSY, str(missing))


def once_brought(
    broker: Broker, cold: ColdRead, attempt: Callable[[int], T | Deferred[T]], rounds: int
) -> Deferred[T]:
    """Return the result of further attempts after a worker has loaded the bytes that `cold` lacked."""
    return brought(broker, cold).addCallback(lambda _: reading(broker, attempt, rounds))


def brought(broker: Broker, cold: ColdRead) -> Deferred[None]:
    """Return a Deferred that fires when a worker has loaded the bytes that `cold` lacked."""
    loaded: Deferred[None] = Deferred()
    broker.store.bring(cold, lambda: loaded.callback(None))
    return loaded
