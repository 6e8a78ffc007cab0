"""Groups and transactions that a front end coordinates itself, as administrators see them.

Their members are not in the broker's table of clients, and their transactions have no half messages. The
front end attaches a view of them (`operations.coordinated`); without one there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class CoordinatedMember(NamedTuple):
    """A member of a group; `instance_id` is empty for none.

    `subscriptions` are topics of the broker, or patterns of them; `assigned` are pairs of a topic of the
    broker and a partition, sorted.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str
    subscriptions: Sequence[str]
    assigned: Sequence[tuple[str, int]]


class SharedPartition(NamedTuple):
    """A partition whose records members share: its first unfinished offset, and its lag, None if unknown."""

    topic: str
    partition: int
    offset: int
    lag: int | None


class CoordinatedGroup(NamedTuple):
    """A group: its kind and state by the names of its protocol, and how its partitions are assigned."""

    kind: str
    state: str
    assignor: str
    members: Sequence[CoordinatedMember]
    shared: Sequence[SharedPartition]


class CoordinatedTransaction(NamedTuple):
    """A transaction that is not finished. `started` is a time in ms, `timeout` is in ms.

    `is_late` is True if it should have ended; `remedy` is the command that ends it, empty if there is none.
    """

    id: str
    producer_id: int
    epoch: int
    state: str
    started: int
    timeout: int
    partitions: Sequence[str]
    is_late: bool = False
    remedy: str = ""


class HangingTransaction(NamedTuple):
    """An open transaction in a partition that its coordinator does not have there, so that it will not end.

    Readers of committed records stop at `first_offset`. `stored` is the time of its last record, ms, and
    `remedy` the command that ends it.
    """

    topic: str
    partition: int
    producer_id: int
    epoch: int
    first_offset: int
    stored: int
    remedy: str


class CoordinatorView(Protocol):
    """Groups and transactions of a front end."""

    def group(self, name: str) -> CoordinatedGroup | None:
        """Return a group by its name in the broker's tables, None if it is not one of the front end."""
        ...

    def has_members(self, name: str) -> bool:
        """Return True if a group, by its name in the broker's tables, has members that send no heartbeats of
        RocketMQ."""
        ...

    def transactions(self) -> Sequence[CoordinatedTransaction]:
        """Return the transactions that are not finished, the oldest first."""
        ...

    def hanging_transactions(self) -> Sequence[HangingTransaction]:
        """Return the transactions that hang in partitions of this broker, by topic and partition; none if
        another broker coordinates them."""
        ...
