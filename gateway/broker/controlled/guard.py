"""Stands before every request of a broker under a controller: whether a master is still one is looked at
before it does anything, as it may have been frozen since the last one."""

from __future__ import annotations

from mqgateway.gateway.broker.controlled.replica import ControlledReplica
from mqgateway.gateway.remoting.call import Call


class AuthorityGuard:
    """A hook of the dispatchers."""

    after: None = None

    def __init__(self, replica: ControlledReplica) -> None:
        self._replica = replica

    def before(self, call: Call) -> None:
        """A master in doubt is fenced now, and the request finds a fenced broker."""
        self._replica.is_authorized()
