"""Operations on one queue, as an interface that another package can wrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume import offsets, pull, query
from mqgateway.gateway.broker.consume.pull_request import PullOutcome, PullRequest

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker


class Pull(Protocol):
    """See `pull.pull`."""

    def __call__(
        self, broker: Broker, request: PullRequest, connection: ClientConnection
    ) -> PullOutcome | Deferred[PullOutcome]:
        """Return the records from an offset on."""
        ...


class OfQueue(Protocol):
    """Query for the minimum or maximum offset of a queue, or the store time of its oldest message (ms)."""

    def __call__(self, broker: Broker, topic: str, queue_id: int) -> int | Deferred[int]:
        """Return the offset or time."""
        ...


class SearchOffset(Protocol):
    """See `query.search_offset`."""

    def __call__(
        self, broker: Broker, topic: str, queue_id: int, timestamp: int, *, is_upper: bool = False
    ) -> int | Deferred[int]:
        """Return the queue offset for a store time."""
        ...


class QueryOffset(Protocol):
    """See `offsets.query_offset`."""

    def __call__(
        self, broker: Broker, group: str, topic: str, queue_id: int, *, set_zero_if_not_found: bool = True
    ) -> int | Deferred[int]:
        """Return the offset that a group committed."""
        ...


class UpdateOffset(Protocol):
    """See `offsets.update_offset`."""

    def __call__(
        self, broker: Broker, group: str, topic: str, queue_id: int, offset: int
    ) -> bool | Deferred[bool]:
        """Commit an offset."""
        ...


class QueueOperations(NamedTuple):
    """Operations on one queue, each with the arguments of the function of the same name."""

    pull: Pull
    search_offset: SearchOffset
    max_offset: OfQueue
    min_offset: OfQueue
    earliest_store_time: OfQueue
    query_offset: QueryOffset
    update_offset: UpdateOffset


OF_THIS_BROKER = QueueOperations(
    pull.pull,
    query.search_offset,
    query.max_offset,
    query.min_offset,
    query.earliest_store_time,
    offsets.query_offset,
    offsets.update_offset,
)
"""Operations on the queues of this broker."""
