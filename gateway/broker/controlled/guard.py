"""Check of a master's authority before every request, for a broker with a controller.

The process may have been frozen since the last request, so the check comes before the request has any effect.
"""

from __future__ import annotations

from mqgateway.gateway.broker.controlled.replica import ControlledReplica
from mqgateway.gateway.remoting.call import Call


class AuthorityGuard:
    """A hook of the dispatchers."""

    after: None = None

    def __init__(self, replica: ControlledReplica) -> None:
        self._replica = replica

    def before(self, call: Call) -> None:
        """Fence a master in doubt, so that the request finds a fenced broker."""
        self._replica.is_authorized()
