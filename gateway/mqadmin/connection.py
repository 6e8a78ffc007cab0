"""One request at a time over blocking sockets.

A connection is opened at the first request to its server and kept until the end of the call. Requests that a
server sends meanwhile are not answered, as by any client without handlers.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from mqgateway.engine.clock import Clock
from mqgateway.gateway.client.errors import BadArgument, ClientError, TimedOut, Unreachable
from mqgateway.gateway.codec.codes import SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.runtime.name_servers import address_fault

if TYPE_CHECKING:
    from mqgateway.gateway.access.signature import Credentials

_CHUNK_SIZE = 256 * 1024
_CONNECT_SECONDS = 3.0


class SocketStream(Protocol):
    """The methods of a socket that are used."""

    def sendall(self, data: bytes, /) -> None:
        """Send all bytes. Raises `OSError`."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end. Raises `OSError`."""
        ...

    def settimeout(self, seconds: float, /) -> None:
        """Limit the time of each call that follows."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


Connect = Callable[[str, int, float], SocketStream]
"""Function that opens a connection to a host and port within some seconds. Raises `OSError`."""


def plain(host: str, port: int, seconds: float) -> SocketStream:
    """Open a TCP connection."""
    return socket.create_connection((host, port), seconds)


def encrypted(certificates: str | None) -> Connect:
    """Return a function that connects with TLS.

    With a file of CA certificates servers are verified by it. Without one any server is accepted, as by
    RocketMQ's tool. Raises `BadArgument` for a file that cannot be read or has no certificates.
    """
    import ssl  # slow to load, and rarely needed

    try:
        context = ssl.create_default_context(cafile=certificates)
    except OSError as error:  # `ssl.SSLError` too
        raise BadArgument(f"the certificates of {certificates} cannot be read: {_reason(error)}") from None
    context.check_hostname = False  # clients do not connect to the names in brokers' certificates
    if certificates is None:
        context.verify_mode = ssl.CERT_NONE

    def connect(host: str, port: int, seconds: float) -> SocketStream:
        return context.wrap_socket(socket.create_connection((host, port), seconds), server_hostname=host)

    return connect


def _reason(error: OSError) -> str:
    """Return the text of an operating system's error without its number."""
    words = getattr(error, "reason", None) or error.strerror or str(error)
    return str(words).replace("_", " ").lower()


class ServerConnection:
    """One connection to a server."""

    def __init__(self, address: str, connect: Connect, clock: Clock) -> None:
        """Raises `Unreachable`, `BadArgument` for an invalid address."""
        if fault := address_fault(address):
            raise BadArgument(fault)
        host, _, port = address.rpartition(":")
        try:
            self._stream = connect(host.strip("[]"), int(port), _CONNECT_SECONDS)
        except OSError as error:
            raise Unreachable(f"cannot connect to {address} ({_reason(error)})") from None
        self._address = address
        self._clock = clock
        self._cutter = FrameCutter()
        self._opaques = itertools.count(1)

    def ask(self, command: RemotingCommand, seconds: float) -> RemotingCommand:
        """Return the answer. Raises `TimedOut`, `Unreachable`, and `ClientError` for an undecodable one."""
        command.opaque = next(self._opaques)
        until = self._clock.monotonic() + seconds
        try:
            self._stream.settimeout(seconds)
            self._stream.sendall(encode_command(command))
            while True:
                self._stream.settimeout(max(0.001, until - self._clock.monotonic()))
                data = self._stream.recv(_CHUNK_SIZE)
                if not data:
                    raise Unreachable(f"{self._address} closed the connection")
                for payload in self._cutter.feed(data):
                    answer = decode_command(payload)
                    if answer.is_response and answer.opaque == command.opaque:
                        return answer
        except TimeoutError:
            raise TimedOut(f"{self._address} did not answer within {seconds:g} s") from None
        except OSError as error:
            raise Unreachable(f"{self._address}: {_reason(error)}") from None
        except ProtocolError as error:
            raise ClientError(f"{self._address}: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


class Connections:
    """The connections of a call, by address."""

    def __init__(self, connect: Connect, clock: Clock, credentials: Credentials | None = None) -> None:
        self._connect = connect
        self._clock = clock
        self._credentials = credentials
        self._open: dict[str, ServerConnection] = {}

    def ask(self, address: str, command: RemotingCommand, seconds: float) -> RemotingCommand:
        """See `ServerConnection.ask`. A failed connection is closed, and the next request opens a new one."""
        command.serialize_type = SerializeType.JSON
        if self._credentials is not None:
            self._credentials.sign(command)
        if address not in self._open:
            self._open[address] = ServerConnection(address, self._connect, self._clock)
        try:
            return self._open[address].ask(command, seconds)
        except ClientError:
            self._open.pop(address).close()
            raise

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.popitem()[1].close()
