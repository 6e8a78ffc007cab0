"""A site in memory: bytes of HTTP in and out."""

from __future__ import annotations

from typing import Any, NamedTuple

from twisted.internet.address import IPv4Address
from twisted.internet.testing import StringTransport


class Response(NamedTuple):
    """A response of the site."""

    code: int
    headers: dict[str, str]
    body: bytes


class Browser:
    """One connection to a site."""

    def __init__(self, site: Any) -> None:
        self.transport = StringTransport(peerAddress=IPv4Address("TCP", "10.0.0.9", 5000))
        self.protocol = site.buildProtocol(None)
        if self.protocol is not None:
            self.protocol.makeConnection(self.transport)

    def ask(self, path: str, method: str = "GET") -> None:
        """Send a request."""
        self.send(f"{method} {path} HTTP/1.1\r\nHost: broker\r\n\r\n".encode())

    def send(self, data: bytes) -> None:
        """Send any bytes."""
        self.protocol.dataReceived(data)

    @property
    def responses(self) -> list[Response]:
        """All complete responses so far."""
        data, found = self.transport.value(), []
        while b"\r\n\r\n" in data:
            head, _, data = data.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            if headers.get("Transfer-Encoding") == "chunked":
                body, is_complete, data = _unchunked(data)
                if is_complete:
                    found.append(Response(int(first.split()[1]), headers, body))
                continue
            length = int(headers.get("Content-Length", "0"))
            found.append(Response(int(first.split()[1]), headers, data[:length]))
            data = data[length:]
        return found

    def get(self, path: str, method: str = "GET") -> Response:
        """Send a request and return its response."""
        self.ask(path, method)
        return self.responses[-1]


def _unchunked(data: bytes) -> tuple[bytes, bool, bytes]:
    """Return the content of chunks, True if the last one is there, and the bytes after it."""
    content = b""
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        content, data = content + data[:length], data[length + 2 :]
        if not length:
            return content, True, data
    return content, False, b""
