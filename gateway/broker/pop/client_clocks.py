"""How far the clocks of popping clients are behind ours.

A pop says when it was asked, and one that comes after its time is refused: its client waits no more. By the
two clocks alone nobody can tell lateness from a difference between them, and the standard refuses a client
whose clock is further behind than it waits again and again. So what a refusal showed is taken for the
difference between the clocks from then on: of a client whose clock is behind one pop is refused for each
connection, or each time that a clock is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mqgateway.gateway.broker.connection import ClientConnection


class ClientClocks:
    """The differences, of those only who were taken for late."""

    def __init__(self) -> None:
        self._behind: dict[ClientConnection, int] = {}

    def behind(self, connection: ClientConnection) -> int:
        """How many ms a client's clock is behind ours, as far as that is known; 0 where it is not."""
        return self._behind.get(connection, 0)

    def is_late(self, connection: ClientConnection, passed: int, allowed: int) -> bool:
        """Whether a request came too late: `passed` ms, by the two clocks, of those `allowed`."""
        known = self._behind.get(connection, 0)
        if passed - known > allowed:
            self._behind[connection] = passed
            connection.on_lost(self._forget)
            return True
        if passed < known:
            self._behind[connection] = max(0, passed)
        return False

    def _forget(self, connection: ClientConnection) -> None:
        self._behind.pop(connection, None)
