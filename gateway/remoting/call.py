"""Interface of request functions: requests, replies, and the peer of a connection.

A request function is `function(context, call) -> Reply | Deferred[Reply]`. It may raise `RequestError` for a
refusal, and return `NO_REPLY` to send no answer. A Deferred is cancelled when its peer disconnects; one made
with a canceller must not be fired afterwards. Bytes, serialize types and opaque numbers are handled by
`gateway.remoting.dispatch` and the layers below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from twisted.internet.defer import Deferred

from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header


class Peer(Protocol):
    """Other side of an open connection. Peers are compared by identity."""

    @property
    def address(self) -> str:
        """`ip:port` as RocketMQ prints it; behind a proxy, the client's own address."""
        ...

    @property
    def host_bytes(self) -> bytes:
        """Address packed as a message's born host: 4 or 16 bytes of ip, i4 port."""
        ...

    @property
    def local_address(self) -> str:
        """`ip:port` of the local end."""
        ...

    @property
    def is_open(self) -> bool:
        """False as soon as closing has begun."""
        ...

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Send a request to the peer; `timeout` in seconds.

        The Deferred fails with `RequestTimedOut`, `PeerGone` or `TooManyInFlight`.
        """
        ...

    def send_oneway(self, command: RemotingCommand) -> None:
        """Send a one-way request to the peer.

        Raises nothing: if the peer is gone or has stopped reading, the request is dropped and logged.
        """
        ...

    def send_reply(self, request: RemotingCommand, reply: Reply) -> None:
        """Answer a request outside its request function; one-way requests get no answer."""
        ...

    def close(self, reason: str) -> None:
        """Close after pending writes are flushed; log the reason unless it is empty."""
        ...

    def on_lost(self, callback: Callable[[Peer], None]) -> None:
        """Call `callback(peer)` once when the connection is lost; at once if it already is.

        Registering the same callback again has no effect.
        """
        ...


class Call:
    """Request being served. `now` is its wall time in ms; `header` is None if the code has none."""

    __slots__ = ("began", "body", "command", "header", "is_held", "is_late", "may_use", "now", "peer")

    began: float
    """Monotonic start time, for the measurement of latencies; set together with `is_held`."""
    is_held: bool
    """True if the answer had to be waited for; for the measurement of latencies."""
    is_late: bool
    """True if the request is timed by itself instead of with its read; see `dispatch.Times`."""

    def __init__(
        self, command: RemotingCommand, header: Header | None, body: bytes, peer: Peer, now: int
    ) -> None:
        self.command = command
        self.header = header
        self.body = body
        self.peer = peer
        self.now = now
        self.is_late = False
        self.may_use: Callable[[str], bool] | None = None
        """Function that returns True if the caller may use records of a topic; None allows all topics."""

    def __repr__(self) -> str:
        return f"Call(code={self.command.code}, header={self.header!r}, peer={self.peer.address})"


class Reply:
    """Answer to a request. `ext` are fields in addition to those of `header`."""

    __slots__ = ("body", "code", "ext", "header", "remark")

    def __init__(
        self,
        code: int = ResponseCode.SUCCESS,
        header: Header | None = None,
        body: bytes = b"",
        remark: str | None = None,
        ext: dict[str, str] | None = None,
    ) -> None:
        self.code = code
        self.header = header
        self.body = body
        self.remark = remark
        self.ext = ext

    def __repr__(self) -> str:
        return f"Reply(code={int(self.code)}, header={self.header!r}, remark={self.remark!r})"


NO_REPLY: Final = Reply()
"""Result of a request function that sends no answer; compared by identity."""


class RequestError(Exception):
    """Refusal of a request, sent as a reply with this code, remark, header and fields.

    With `until` it is sent when that fires.
    """

    def __init__(
        self,
        code: int,
        remark: str,
        header: Header | None = None,
        ext: dict[str, str] | None = None,
        until: Deferred[None] | None = None,
    ) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark
        self.header = header
        self.ext = ext
        self.until = until
