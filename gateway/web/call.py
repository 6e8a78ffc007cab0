"""One request to the API, with its caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqgateway.engine.message import pack_host
from mqgateway.gateway.web.route import Role


@dataclass(frozen=True)
class Caller:
    """Caller of a request. `user` is empty without authentication, `address` is an IP address."""

    user: str
    role: Role
    address: str


class CallerConnection:
    """The caller in the form that the broker's operations need of a sender: `broker.connection`."""

    is_open = True

    def __init__(self, address: str) -> None:
        self.address = f"{address}:0"
        self.host_bytes = pack_host(address, 0)

    def close(self, reason: str) -> None:
        """Do nothing: the HTTP connection ends by itself."""

    def on_lost(self, callback: Any) -> None:
        """Do nothing: no operation depends on its loss."""


@dataclass
class WebCall:
    """Argument of a route's function. `now` is the wall time in ms.

    `cluster` is the broker's, `csrf` the token of the caller's session. The function sets `before` and
    `after`, if it knows them, for the audit.
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
        """Return the value of a name in the path, the query or the body; empty if there is none."""
        return str(self.path.get(name) or self.query.get(name) or self.body.get(name) or "")

    @property
    def connection(self) -> CallerConnection:
        """The caller as the sender of a message."""
        return CallerConnection(self.caller.address)
