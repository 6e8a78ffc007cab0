"""One request to the API: who asks, and what for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqgateway.engine.message import pack_host
from mqgateway.gateway.web.route import Role


@dataclass(frozen=True)
class Caller:
    """Who asks; `user` is empty where there are no users. `address` is an IP address."""

    user: str
    role: Role
    address: str


class CallerConnection:
    """The caller as operations of the broker see who sends a message: `broker.connection`."""

    is_open = True

    def __init__(self, address: str) -> None:
        self.address = f"{address}:0"
        self.host_bytes = pack_host(address, 0)

    def close(self, reason: str) -> None:
        """It ends by itself."""

    def on_lost(self, callback: Any) -> None:
        """Nobody waits for it to be lost."""


@dataclass
class WebCall:
    """What a route's function is given. `now` is the wall time in ms.

    `cluster` is the broker's, `csrf` the token of the caller's session.
    `before` and `after` are for the audit, where the function knows them.
    """

    caller: Caller
    now: int
    cluster: str = ""
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    csrf: str = ""
    before: Any = None
    after: Any = None

    def named(self, name: str) -> str:
        """What is called so in the path, the query or the body; empty where nothing is."""
        return str(self.path.get(name) or self.query.get(name) or self.body.get(name) or "")

    @property
    def connection(self) -> CallerConnection:
        """The caller as who sends a message."""
        return CallerConnection(self.caller.address)
