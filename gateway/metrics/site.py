"""Metrics and health over HTTP.

| path | answer |
| --- | --- |
| `/metrics`, `/metrics?set=exporter`, `/metrics?set=kafka` | metrics, if this port serves them |
| `/livez` | 200 as long as the process answers |
| `/readyz` | 200 if the server can be used, else 503; JSON with the state of each part |
| `/-/healthy` | the liveness answer of RocketMQ's exporter |
| `/` | links to these |

Only GET and HEAD are answered, without authentication. No request changes anything, and the answers contain
nothing of messages but names of topics, groups and clients.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET

from mqgateway.gateway.broker.admin.health import Health
from mqgateway.gateway.metrics.exposition import CONTENT_TYPE
from mqgateway.gateway.metrics.health import is_ready
from mqgateway.gateway.metrics.observed import SETS, STANDARD

log = logging.getLogger(__name__)

PLAIN, JSON, HTML = "text/plain; charset=utf-8", "application/json", "text/html; charset=utf-8"
_PAGE = "<!doctype html><title>mqgateway</title><ul>{}</ul>\n"

Scrape = Callable[[str], Deferred[list[bytes]]]
"""Function that returns the text of a set of metrics, in chunks."""
HealthOf = Callable[[], dict[str, Health]]
"""Function that returns the checks of each server of this process, by its name."""


class HttpRequest(Protocol):
    """Request and its answer: `twisted.web.server.Request`."""

    method: bytes
    path: bytes
    args: dict[bytes, list[bytes]]

    def setResponseCode(self, code: int, /) -> object: ...

    def setHeader(self, name: str, value: str, /) -> object: ...

    def write(self, data: bytes, /) -> object: ...

    def finish(self) -> object: ...

    def notifyFinish(self) -> Deferred[None]: ...

    def registerProducer(self, producer: Any, streaming: bool, /) -> object: ...

    def unregisterProducer(self) -> object: ...


class ChunkProducer:
    """Writer of a long answer at the speed of the reader: `IPushProducer`. `text` is shared and not
    changed."""

    def __init__(self, request: HttpRequest, text: Sequence[bytes]) -> None:
        self._request = request
        self._rest = iter(text)
        self._is_paused = False

    def resumeProducing(self) -> None:
        """Write until the transport's buffer is full or the text has ended."""
        self._is_paused = False
        for chunk in self._rest:
            self._request.write(chunk)
            if self._is_paused:
                return
        self._request.unregisterProducer()
        self._request.finish()

    def pauseProducing(self) -> None:
        """Stop writing until the client has read."""
        self._is_paused = True

    def stopProducing(self) -> None:
        """Stop writing for good: the connection is lost."""
        self._is_paused = True


class Pages(Resource):
    """All pages of one port; without metrics if `scrape` is None."""

    isLeaf = True

    def __init__(self, health: HealthOf, scrape: Scrape | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._health = health
        self._scrape = scrape

    def render(self, request: HttpRequest) -> bytes | int:
        """Answer any request."""
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader("Allow", "GET, HEAD")
            return _answer(request, 405, "only GET and HEAD are answered\n")
        path = request.path
        if path == b"/livez":
            return _answer(request, 200, "alive\n")
        if path == b"/readyz":
            return self._ready(request)
        if path == b"/":
            paths = ["/livez", "/readyz"]
            if self._scrape is not None:
                paths += ["/metrics", "/metrics?set=exporter", "/metrics?set=kafka"]
            links = "".join(f'<li><a href="{link}">{link}</a>' for link in paths)
            return _answer(request, 200, _PAGE.format(links), HTML)
        if self._scrape is not None:
            if path == b"/metrics":
                return self._metrics(request, self._scrape)
            if path == b"/-/healthy":
                return _answer(request, 200, "Exporter is healthy.\n")
        return _answer(request, 404, "no such page; see /\n")

    def _ready(self, request: HttpRequest) -> bytes:
        servers = self._health()
        ready = bool(servers) and all(map(is_ready, servers.values()))
        body = {
            "ready": ready,
            "servers": {
                name: {part: {"ok": check.is_fine, "state": check.state} for part, check in health.items()}
                for name, health in servers.items()
            },
        }
        return _answer(request, 200 if ready else 503, json.dumps(body, indent=1) + "\n", JSON)

    def _metrics(self, request: HttpRequest, scrape: Scrape) -> bytes | int:
        names = request.args.get(b"set", [STANDARD.encode()])
        name = names[-1].decode("ascii", "replace")
        if name not in SETS:
            return _answer(request, 400, f"no such set of metrics; there are {', '.join(SETS)}\n")
        gone = request.notifyFinish()
        gone.addErrback(lambda _: None)

        def write(text: list[bytes]) -> None:
            if not gone.called:
                request.setHeader("Content-Type", CONTENT_TYPE)
                request.setHeader("Content-Length", str(sum(map(len, text))))
                chunks = ChunkProducer(request, text)
                request.registerProducer(chunks, True)
                chunks.resumeProducing()

        def failed(failure: Failure) -> None:
            log.error("the metrics cannot be read", exc_info=failure.value)
            if not gone.called:
                request.write(_answer(request, 500, "the metrics cannot be read; see the log\n"))
                request.finish()

        scrape(name).addCallbacks(write, failed)
        return NOT_DONE_YET


def _answer(request: HttpRequest, code: int, text: str, kind: str = PLAIN) -> bytes:
    body = text.encode()
    request.setResponseCode(code)
    request.setHeader("Content-Type", kind)
    request.setHeader("Content-Length", str(len(body)))
    request.setHeader("Cache-Control", "no-store")
    request.setHeader("X-Content-Type-Options", "nosniff")
    return body
