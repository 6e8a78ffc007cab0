"""What a method of a gRPC service and the connection that carries its call know of one another.

A method is a function of a request message and its `Call`. It knows nothing of HTTP/2; who carries calls
knows nothing of what methods do. Both may be tried without the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from twisted.internet.defer import Deferred

from mqgateway.engine.message import pack_host


class Status(IntEnum):
    """How a call ended, by gRPC's numbers (the document "Status codes and their use in gRPC")."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class CallFailed(Exception):
    """Raised by a method whose call is to end with another status than OK."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


_NOWHERE = pack_host("0.0.0.0", 0)


@dataclass(frozen=True)
class Peer:
    """Both ends of a call's connection, as PROXY protocol said where it did."""

    host: str
    port: int
    local_host: str
    local_port: int
    secure: bool

    @cached_property
    def address(self) -> str:
        """`ip:port`, as the standard prints it."""
        return f"{self.host}:{self.port}"

    @cached_property
    def host_bytes(self) -> bytes:
        """The same, packed as a record holds it; of what is no address of the internet, nowhere."""
        try:
            return pack_host(self.host.partition("%")[0], self.port)
        except OSError:
            return _NOWHERE


class Call(Protocol):
    """One call, as its method sees it."""

    @property
    def path(self) -> str:
        """The method's full name: ``/apache.rocketmq.v2.MessagingService/SendMessage``."""
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """Headers by lower-case name, without pseudo-headers; both joined by ``,`` of a name sent twice."""
        ...

    @property
    def authority(self) -> str:
        """The host and port that the client meant to reach; empty when it did not say."""
        ...

    @property
    def peer(self) -> Peer: ...

    @property
    def encoded(self) -> bytes:
        """The request of a call with one request, as it was sent (what some signatures are about)."""
        ...

    def remaining(self) -> float | None:
        """Seconds until the client's deadline; None without one."""
        ...

    def send(self, *messages: Any) -> None:
        """Send more answers of a stream of answers; nothing happens when the call has ended."""
        ...

    def finish(self, status: Status = Status.OK, message: str = "") -> None:
        """End a call with a stream of answers; nothing happens when it has ended."""
        ...

    def on_end(self, ended: Callable[[bool], None]) -> None:
        """Have a function told once that the call is over: True when the client left or its time is up."""
        ...


class Incoming(Protocol):
    """What a method with streams both ways makes of the client's side."""

    def received(self, message: Any) -> None:
        """One more request; `CallFailed` ends the call."""
        ...

    def half_closed(self) -> None:
        """The client sends nothing more."""
        ...


@dataclass(frozen=True, slots=True)
class Unary:
    """One request, one answer: returned, or by a `Deferred`."""

    request: type[Any]
    answer: Callable[[Any, Call], Any | Deferred[Any]]


@dataclass(frozen=True, slots=True)
class ServerStream:
    """One request, answers by `Call.send`; ends with `Call.finish`, or when what was returned fires."""

    request: type[Any]
    answer: Callable[[Any, Call], Deferred[None] | None]


@dataclass(frozen=True, slots=True)
class Bidirectional:
    """Streams both ways: the function is called when the call begins."""

    request: type[Any]
    begin: Callable[[Call], Incoming]


Method: TypeAlias = Unary | ServerStream | Bidirectional
Methods: TypeAlias = Mapping[str, Method]
"""Methods by path."""
