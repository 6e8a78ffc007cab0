"""Interface between methods of gRPC services and the connections that carry their calls.

A method is a function of a request message and its `GrpcCall`. It does not depend on HTTP/2, and connections
do not depend on methods. Each can be tested alone.
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
    """Status of a call, by gRPC's numbers (the document "Status codes and their use in gRPC")."""

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
    """Raised by a method to end its call with a status other than OK."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


_NOWHERE = pack_host("0.0.0.0", 0)


@dataclass(frozen=True)
class RpcPeer:
    """Both ends of a call's connection, taken from a PROXY header if there is one."""

    host: str
    port: int
    local_host: str
    local_port: int
    secure: bool

    @cached_property
    def address(self) -> str:
        """`ip:port`, as RocketMQ prints it."""
        return f"{self.host}:{self.port}"

    @cached_property
    def host_bytes(self) -> bytes:
        """Address packed as in a record; 0.0.0.0:0 if the host is not an IP address."""
        try:
            return pack_host(self.host.partition("%")[0], self.port)
        except OSError:
            return _NOWHERE


class GrpcCall(Protocol):
    """Call as its method sees it."""

    @property
    def path(self) -> str:
        """Full name of the method: ``/apache.rocketmq.v2.MessagingService/SendMessage``."""
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """Headers by lower-case name, without pseudo-headers; repeated ones are joined by ``,``."""
        ...

    @property
    def authority(self) -> str:
        """Host and port that the client addressed; empty if it sent none."""
        ...

    @property
    def peer(self) -> RpcPeer:
        """Connection of the client."""
        ...

    @property
    def encoded(self) -> bytes:
        """Encoded request of a call with a single request, which some signatures cover."""
        ...

    def remaining(self) -> float | None:
        """Return the seconds until the client's deadline; None without one."""
        ...

    def send(self, *messages: Any) -> None:
        """Send more answers of a response stream; does nothing after the end of the call."""
        ...

    def finish(self, status: Status = Status.OK, message: str = "") -> None:
        """End a call with a response stream; does nothing after its end."""
        ...

    def on_end(self, ended: Callable[[bool], None]) -> None:
        """Call a function once at the end: with True if the client left or the deadline passed."""
        ...


class Incoming(Protocol):
    """Receiver of the client's messages in a bidirectional call."""

    def received(self, message: Any) -> None:
        """Handle a request; `CallFailed` ends the call."""
        ...

    def half_closed(self) -> None:
        """Handle the end of the client's messages."""
        ...


@dataclass(frozen=True, slots=True)
class Unary:
    """Method with one request and one answer, returned directly or as a `Deferred`."""

    request: type[Any]
    answer: Callable[[Any, GrpcCall], Any | Deferred[Any]]


@dataclass(frozen=True, slots=True)
class ServerStream:
    """Method with one request and answers by `GrpcCall.send`.

    It ends with `GrpcCall.finish`, or when its Deferred fires.
    """

    request: type[Any]
    answer: Callable[[Any, GrpcCall], Deferred[None] | None]


@dataclass(frozen=True, slots=True)
class Bidirectional:
    """Method with streams in both directions; the function is called at the start of a call."""

    request: type[Any]
    begin: Callable[[GrpcCall], Incoming]


Method: TypeAlias = Unary | ServerStream | Bidirectional
Methods: TypeAlias = Mapping[str, Method]
"""Methods by path."""
