"""What a request function receives, what it gives back, and what it knows of the other side.

A request function is `function(context, call) -> Reply | Deferred[Reply]`. It may raise `RequestError` for
an answer that is a refusal, and return `NO_REPLY` when nothing may be answered. A Deferred is cancelled when
its peer goes: one made with a canceller must not be fired afterwards. Everything about bytes, serialize types
and opaque numbers stays in `gateway.remoting.dispatch` and below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from twisted.internet.defer import Deferred

from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.fields import Header


class Peer(Protocol):
    """The other side of a connection, as long as it lives. Peers are compared by identity."""

    @property
    def address(self) -> str:
        """`ip:port` as the standard prints it; behind a proxy, the client's own address."""
        ...

    @property
    def host_bytes(self) -> bytes:
        """The same address packed as a message's born host: 4 or 16 bytes of ip, i4 port."""
        ...

    @property
    def local_address(self) -> str:
        """`ip:port` of our end."""
        ...

    @property
    def is_open(self) -> bool:
        """False from the moment closing has begun."""
        ...

    def request(self, command: RemotingCommand, timeout: float) -> Deferred[RemotingCommand]:
        """Ask the other side; `timeout` in seconds.

        The Deferred fails with `RequestTimedOut`, `PeerGone` or `TooManyInFlight`.
        """
        ...

    def send_oneway(self, command: RemotingCommand) -> None:
        """Tell the other side without expecting an answer.

        Nothing is raised: a peer that is gone, or has stopped reading, is not told, which the log notes.
        """
        ...

    def send_reply(self, request: RemotingCommand, reply: Reply) -> None:
        """Answer a request outside the function that was called for it; one-way requests get nothing."""
        ...

    def close(self, reason: str) -> None:
        """Close after what was written has gone out; the reason is logged, unless it is empty."""
        ...

    def on_lost(self, callback: Callable[[Peer], None]) -> None:
        """Call `callback(peer)` once when the connection is gone; at once if it already is.

        The same callback is kept once however often it is handed over.
        """
        ...


class Call:
    """One request. `now` is the wall time it was taken up, in ms; `header` None where the code has none."""

    __slots__ = ("began", "body", "command", "header", "is_held", "is_late", "may_use", "now", "peer")

    began: float
    """For who takes its time: when it was taken up, by the monotonic clock; who sets it sets both."""
    is_held: bool
    """For the same: whether its answer had to be waited for."""
    is_late: bool
    """Whether it has a time of its own, not that of the read which brought it; see `dispatch.Times`."""

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
        """Whether the caller may use records of a topic for this request; None where it may use all."""

    def __repr__(self) -> str:
        return f"Call(code={self.command.code}, header={self.header!r}, peer={self.peer.address})"


class Reply:
    """One answer. `ext` are fields beside those of `header`."""

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
"""What a request function returns when the peer gets no answer; known by identity."""


class RequestError(Exception):
    """A request that is refused: becomes a reply with this code, remark, header and other fields.

    It is given when `until` fires, where there is one.
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
