"""Reading messages that may have to come from the disk, without holding up everybody else.

An attempt that may not wait for the disk ends with `ColdRead`. A worker then brings into memory what was
missing, and the attempt is made anew, so it may have changed nothing that would not be changed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.store.cold import ColdRead

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

T = TypeVar("T")

ROUNDS: Final = 8
"""How often bytes that are not in memory are brought there for one operation before it waits for the disk."""


def reading(
    broker: Broker, attempt: Callable[[int], T | Deferred[T]], rounds: int = ROUNDS
) -> T | Deferred[T]:
    """What `attempt(rounds)` gives, as often as it takes.

    It is told how often something may still be brought into memory for it: as long as that is not 0 it may
    not wait for the disk, and raises `ColdRead`.
    """
    try:
        return attempt(rounds)
    except ColdRead as cold:
        return once_brought(broker, cold, attempt, rounds - 1)


def once_brought(
    broker: Broker, cold: ColdRead, attempt: Callable[[int], T | Deferred[T]], rounds: int
) -> Deferred[T]:
    """What further attempts give, once a worker has brought what the first one lacked."""
    return brought(broker, cold).addCallback(lambda _: reading(broker, attempt, rounds))


def brought(broker: Broker, cold: ColdRead) -> Deferred[None]:
    """Return the end of the worker's load of what a read lacked."""
    loaded: Deferred[None] = Deferred()
    broker.store.bring(cold, lambda: loaded.callback(None))
    return loaded
