"""Groups and transactions that a front end coordinates itself, as administrators see them.

Their members are not in the broker's table of clients, and their transactions have no half messages. The
front end attaches a view of them; without one there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class CoordinatedMember(NamedTuple):
    """A member of a group. `subscriptions` and `assigned` are texts; `instance_id` is empty for none."""

    member_id: str
    client_id: str
    host: str
    instance_id: str
    subscriptions: Sequence[str]
    assigned: Sequence[str]


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
    """A transaction that is not finished. `started` is a time in ms, `timeout` is in ms."""

    id: str
    producer_id: int
    epoch: int
    state: str
    started: int
    timeout: int
    partitions: Sequence[str]


class CoordinatorView(Protocol):
    """Groups and transactions of a front end."""

    def group(self, name: str) -> CoordinatedGroup | None:
        """Return a group by its name in the broker's tables, None if it is not one of the front end."""
        ...

    def transactions(self) -> Sequence[CoordinatedTransaction]:
        """Return the transactions that are not finished, the oldest first."""
        ...


class CoordinatedOperations:
    """Groups and transactions of the attached view."""

    def __init__(self) -> None:
        self._view: CoordinatorView | None = None

    def attach(self, view: CoordinatorView) -> None:
        """Show groups and transactions of a front end."""
        self._view = view

    def group(self, name: str) -> CoordinatedGroup | None:
        """Return a group by its name in the broker's tables, None if no front end coordinates it."""
        return None if self._view is None else self._view.group(name)

    def transactions(self) -> Sequence[CoordinatedTransaction]:
        """Return the transactions of front ends that are not finished, the oldest first."""
        return () if self._view is None else self._view.transactions()
