"""etcd client over HTTP, which uses one server and fails over to the next.

A request without an answer in time is abandoned. It may have been executed, so it is not retried. Requests
are retried only if they cannot have been executed: the connection was refused, the path is another one in old
versions, or a token had expired.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool, ResponseDone
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.engine.controller.key_values import Kept, Lease, Outcome, Transaction, Unanswered
from mqgateway.gateway.controller import etcd
from mqgateway.gateway.controller.etcd import EtcdEndpoint, Json
from mqgateway.gateway.runtime.loop import Reactor

T = TypeVar("T")

UNAUTHORIZED, NOT_FOUND = 401, 404

TlsFor = Callable[[str], IOpenSSLClientConnectionCreator]
"""Function that returns the TLS settings of a host."""


class EtcdClient:
    """etcd connection of one controller: `engine.controller.key_values.KeyValues`.

    A call that takes longer than `seconds` fails. With a `user`, a token is requested first.
    """

    def __init__(
        self,
        endpoints: Sequence[EtcdEndpoint],
        *,
        reactor: Reactor,
        seconds: float,
        user: str = "",
        password: str = "",
        tls: TlsFor | None = None,
    ) -> None:
        self._endpoints = list(endpoints)
        self._reactor: Any = reactor
        self._seconds = seconds
        self._user, self._password = user, password
        self._pool: Any = HTTPConnectionPool(self._reactor)  # type: ignore[no-untyped-call]
        factory = _Connecting(self._reactor, seconds, tls)
        self._agent = Agent.usingEndpointFactory(self._reactor, factory, self._pool)  # type: ignore[no-untyped-call]
        self._at = 0
        self._version = 0
        self._token = ""

    def transact(self, wanted: Transaction, on_answer: Callable[[Outcome | Exception], None]) -> None:
        """See `KeyValues.transact`."""
        self._ask("kv/txn", etcd.transaction(wanted), etcd.outcome, on_answer)

    def grant(self, seconds: int, on_answer: Callable[[Lease | Exception], None]) -> None:
        """See `KeyValues.grant`."""
        self._ask("lease/grant", {"TTL": str(seconds)}, etcd.granted, on_answer)

    def keep(self, lease: int, on_answer: Callable[[Kept | Exception], None]) -> None:
        """See `KeyValues.keep`."""
        self._ask("lease/keepalive", {"ID": str(lease)}, etcd.kept, on_answer)

    def revoke(self, lease: int, on_answer: Callable[[Exception | None], None]) -> None:
        """See `KeyValues.revoke`."""
        self._ask("lease/revoke", {"ID": str(lease)}, lambda _: None, on_answer)

    def close(self) -> Deferred[Any]:
        """Close the idle connections of the pool."""
        closed: Deferred[Any] = self._pool.closeCachedConnections()
        return closed

    def _ask(
        self, path: str, body: Json, read: Callable[[Json], T], on_answer: Callable[[T | Exception], None]
    ) -> None:
        asked: Deferred[Any] = Deferred.fromCoroutine(self._call(path, body))
        asked.addTimeout(self._seconds, self._reactor, _too_late)
        asked.addCallback(read)

        def failed(failure: Failure) -> Exception:
            error, url = failure.value, self._endpoints[self._at].url
            self._next_server()
            what = str(error) if isinstance(error, Unanswered) else f"{type(error).__name__} {error}".strip()
            return Unanswered(f"{url}: {what}")

        asked.addErrback(failed)
        asked.addCallback(on_answer)

    def _next_server(self) -> None:
        self._at = (self._at + 1) % len(self._endpoints)

    async def _call(self, path: str, body: Json) -> Json:
        """Send a request and return its answer. Raises `Unanswered` for a refusal, and connection errors."""
        if self._user and not self._token:
            await self._authenticate()
        status, answer = await self._post(path, body)
        if status == UNAUTHORIZED and self._user:
            await self._authenticate()
            status, answer = await self._post(path, body)
        return self._good(status, answer)

    async def _authenticate(self) -> None:
        body = {"name": self._user, "password": self._password}
        self._token = ""
        self._token = etcd.token(self._good(*await self._post("auth/authenticate", body)))

    async def _post(self, path: str, body: Json) -> tuple[int, Json]:
        status, answer = await self._send(path, body)
        if status == NOT_FOUND and "error" not in answer:
            self._version = (self._version + 1) % len(etcd.VERSIONS)
            status, answer = await self._send(path, body)
        return status, answer

    async def _send(self, path: str, body: Json) -> tuple[int, Json]:
        """Return status and answer of the first server that accepts a connection."""
        headers = Headers({"Content-Type": ["application/json"]})
        if self._token:
            headers.addRawHeader("Authorization", self._token)
        data = json.dumps(body).encode()
        for _ in self._endpoints[1:]:
            try:
                return await self._send_once(path, headers, data)
            except (ConnectError, DNSLookupError):
                self._next_server()
        return await self._send_once(path, headers, data)

    async def _send_once(self, path: str, headers: Headers, data: bytes) -> tuple[int, Json]:
        url = f"{self._endpoints[self._at].url}/{etcd.VERSIONS[self._version]}/{path}"
        response = await self._agent.request(b"POST", url.encode(), headers, _Body(data))
        text = _Text()
        response.deliverBody(text)
        data = await text.whole
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, Mapping):
            answer = {"message": data[:200].decode("utf-8", "replace").strip() or "nothing"}
        return response.code, answer

    def _good(self, status: int, answer: Json) -> Json:
        error = answer.get("error") or answer.get("message")
        if status == 200 and not error:
            return answer
        raise Unanswered(f"{status} {error or ''}".strip())


def _too_late(_: object, seconds: float) -> None:
    raise Unanswered(f"no answer within {seconds:g} s")


@implementer(IAgentEndpointFactory)
class _Connecting:
    """Endpoint factory with the reactor's own name resolution."""

    def __init__(self, reactor: Any, seconds: float, tls: TlsFor | None) -> None:
        self._reactor = reactor
        self._seconds = seconds
        self._tls = tls

    def endpointForURI(self, uri: URI) -> Any:
        host = uri.host.decode().strip("[]")
        plain: Any = TCP4ClientEndpoint(self._reactor, host, uri.port, self._seconds)
        if uri.scheme != b"https":
            return plain
        assert self._tls is not None
        return wrapClientTLS(self._tls(host), plain)


class _Text(Protocol):
    """Receiver of a response body; cancelling it closes the connection."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self.whole: Deferred[bytes] = Deferred(self._give_up)

    def _give_up(self, _: object) -> None:
        transport: Any = self.transport
        transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        self._chunks.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.whole.called:
            return
        if isinstance(reason.value, ResponseDone):
            self.whole.callback(b"".join(self._chunks))
        else:
            self.whole.errback(reason)


@implementer(IBodyProducer)
class _Body:
    """Request body."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.length = len(data)

    def startProducing(self, consumer: Any) -> Deferred[None]:
        consumer.write(self._data)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Do nothing; the body is already written."""

    def resumeProducing(self) -> None:
        """Do nothing, as above."""

    def stopProducing(self) -> None:
        """Do nothing, as above."""
