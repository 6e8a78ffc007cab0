"""A site that is not in the way of the server it tells of: few connections, no log of requests."""

from __future__ import annotations

from typing import Any

from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

MAX_CONNECTIONS = 64
IDLE_SECONDS = 60


class LimitedSite(Site):
    """Serves a resource to at most `MAX_CONNECTIONS` at a time."""

    noisy = False
    displayTracebacks = False

    def __init__(self, pages: Resource, request: type[Request] = Request) -> None:
        super().__init__(pages, request, timeout=IDLE_SECONDS)  # type: ignore[no-untyped-call]
        self._count = 0

    def log(self, request: object) -> None:
        """Nothing: a request is no event."""

    def buildProtocol(self, addr: Any) -> Any:
        """None, which closes the connection, when there are enough."""
        if self._count >= MAX_CONNECTIONS:
            return None
        protocol: Any = super().buildProtocol(addr)  # type: ignore[no-untyped-call]
        self._count += 1
        lost = protocol.connectionLost

        def connection_lost(reason: Failure) -> None:
            self._count -= 1
            lost(reason)

        protocol.connectionLost = connection_lost
        return protocol
