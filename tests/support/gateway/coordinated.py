"""A front end that coordinates one group, as the broker's operations see it."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.broker.operations import (
    CoordinatedGroup,
    CoordinatedMember,
    CoordinatedTransaction,
    HangingTransaction,
    SharedPartition,
)


class OneGroup:
    """A front end with one group, and transactions that hang."""

    def __init__(
        self, name: str, found: CoordinatedGroup, hanging: Sequence[HangingTransaction] = ()
    ) -> None:
        self._name = name
        self._found = found
        self._hanging = hanging

    def group(self, name: str) -> CoordinatedGroup | None:
        """See `CoordinatorView`."""
        return self._found if name == self._name else None

    def has_members(self, name: str) -> bool:
        """See `CoordinatorView`."""
        found = self.group(name)
        return found is not None and bool(found.members)

    def transactions(self) -> list[CoordinatedTransaction]:
        """See `CoordinatorView`."""
        return []

    def hanging_transactions(self) -> Sequence[HangingTransaction]:
        """See `CoordinatorView`."""
        return self._hanging


def kafka_group(
    kind: str = "consumer",
    state: str = "Stable",
    *,
    assigned: tuple[tuple[tuple[str, int], ...], ...] = ((("T", 0),),),
    shared: int | None = None,
) -> CoordinatedGroup:
    """Return a group with a member for each assignment; with `shared` partition 0 of T has this lag."""
    members = [
        CoordinatedMember(f"m-{number}", "app", "10.0.0.9", "", ["T"], partitions)
        for number, partitions in enumerate(assigned)
    ]
    partitions = [] if shared is None else [SharedPartition("T", 0, 3, shared)]
    return CoordinatedGroup(kind, state, "range", members, partitions)
