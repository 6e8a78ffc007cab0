"""Lag of popping clients' clocks behind the broker's.

A pop contains the time of the request; a pop that arrives after its deadline is refused, as its client no
longer waits. The two clocks alone do not distinguish lateness from a difference between them: RocketMQ
refuses again and again a client whose clock lags by more than it waits. So the lag that a refusal showed
counts as the difference between the clocks from then on. Of a client whose clock lags, one pop is refused for
each connection, or each time a clock is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mqgateway.gateway.broker.connection import ClientConnection


class ClientClocks:
    """Lags of the clients that were taken to be late."""

    def __init__(self) -> None:
        self._behind: dict[ClientConnection, int] = {}

    def behind(self, connection: ClientConnection) -> int:
        """Return by how many ms a client's clock lags behind ours; 0 if unknown."""
        return self._behind.get(connection, 0)

    def is_late(self, connection: ClientConnection, passed: int, allowed: int) -> bool:
        """Return True if a request is late: `passed` ms by the two clocks, of those `allowed`."""
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
