"""A page of another process of this machine over HTTP/1.0, which ends with its connection.

Twisted's own client imports a hundred modules, which a page of metrics does not need.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ClientFactory, Protocol, connectionDone
from twisted.python.failure import Failure

from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

PAGE_MAX = 256 << 20
"""Maximum bytes of a page; the connection of a longer one is aborted."""
_END_OF_HEADERS = b"\r\n\r\n"


class FetchError(Exception):
    """The page was not received."""


class _Page(Protocol):
    """One request and its answer."""

    transport: Any

    def __init__(self, path: str, fetched: Deferred[bytes]) -> None:
        self._path = path
        self._fetched: Deferred[bytes] | None = fetched
        self._received = bytearray()

    def connectionMade(self) -> None:
        self.transport.write(f"GET {self._path} HTTP/1.0\r\n\r\n".encode())

    def dataReceived(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > PAGE_MAX:
            self.abort(f"it has more than {PAGE_MAX} bytes")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        status, _, _ = bytes(self._received[:100]).partition(b"\r\n")
        if status.split(b" ")[1:2] != [b"200"]:
            self._fail(status.decode(errors="replace") or "no answer")
            return
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            fetched.callback(bytes(self._received.partition(_END_OF_HEADERS)[2]))

    def abort(self, why: str) -> None:
        """End the request without its page."""
        self._fail(why)
        if self.transport is not None:
            self.transport.abortConnection()

    def _fail(self, why: str) -> None:
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            fetched.errback(FetchError(why))


class _Fetching(ClientFactory):
    """The connection of one request."""

    noisy = False

    def __init__(self, page: _Page) -> None:
        self._page = page

    def buildProtocol(self, addr: object) -> Protocol:
        """See `Factory`."""
        return self._page

    def clientConnectionFailed(self, connector: object, reason: Failure) -> None:
        """See `ClientFactory`."""
        self._page.abort(reason.getErrorMessage())


def fetch(
    reactor: Reactor, schedule: Schedule, host: str, port: int, path: str, seconds: float
) -> Deferred[bytes]:
    """Return a Deferred of the page at a path. It fails with `FetchError`, at the latest after `seconds`."""
    fetched: Deferred[bytes] = Deferred()
    page = _Page(path, fetched)
    limit = schedule.later(seconds, page.abort, f"no answer within {seconds:g} s")

    def ended(result: bytes | Failure) -> bytes | Failure:
        limit.cancel()
        return result

    fetched.addBoth(ended)
    reactor.connectTCP(host, port, _Fetching(page), seconds)
    return fetched
