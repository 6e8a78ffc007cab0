"""Groups and transactions that a front end coordinates itself; see `broker.coordinated`."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.coordinated import (
    CoordinatedGroup,
    CoordinatedTransaction,
    CoordinatorView,
    HangingTransaction,
)


class CoordinatedOperations:
    """Groups and transactions of the attached view."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def attach(self, view: CoordinatorView) -> None:
        """Show groups and transactions of a front end."""
        self._broker.attach(view)

    def group(self, name: str) -> CoordinatedGroup | None:
        """Return a group by its name in the broker's tables, None if no front end coordinates it."""
        view = self._broker.coordinated
        return None if view is None else view.group(name)

    def transactions(self) -> Sequence[CoordinatedTransaction]:
        """Return the transactions of front ends that are not finished, the oldest first."""
        view = self._broker.coordinated
        return () if view is None else view.transactions()

    def hanging_transactions(self) -> Sequence[HangingTransaction]:
        """Return the transactions of front ends that hang; see `CoordinatorView`."""
        view = self._broker.coordinated
        return () if view is None else view.hanging_transactions()
