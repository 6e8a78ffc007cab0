"""HTTP front end of the console: requests are dispatched to functions of the API.

A request is checked in this order: host name, origin, session, role, token of a write, parameters, policies.
Failures beyond that are reported in the log, not to the browser.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from twisted.web.server import Request as TwistedRequest

from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.runtime.outcomes import pending
from mqgateway.gateway.web import openapi
from mqgateway.gateway.web.api.routes import routes as api_routes
from mqgateway.gateway.web.call import Caller, WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.downloads import DOWNLOADS_MAX, Download, DownloadWriter
from mqgateway.gateway.web.files import PAGE, StaticFile, content_policy, static_files
from mqgateway.gateway.web.guard import Guard, check_write
from mqgateway.gateway.web.route import PREFIX, ApiError, Role, Route, match, read_body, read_query
from mqgateway.gateway.web.sessions import LoginSession
from mqgateway.gateway.web.streams import STREAMS_MAX, EventSource, EventStream

log = logging.getLogger(__name__)

BODY_MAX = 1024 * 1024
AUDIT_SHOWN_MAX = 256
JSON = "application/json"
_STATUS = {
    Reason.NO_PERMISSION: 403,
    Reason.TOPIC_NOT_EXIST: 404,
    Reason.SUBSCRIPTION_GROUP_NOT_EXIST: 404,
    Reason.QUERY_NOT_FOUND: 404,
    Reason.INVALID_PARAMETER: 400,
    Reason.MESSAGE_ILLEGAL: 400,
    Reason.SYSTEM_BUSY: 503,
    Reason.SERVICE_NOT_AVAILABLE: 503,
    Reason.CONSUME_MSG_TIMEOUT: 504,
}
"""HTTP status by the reason of an operation's refusal; other reasons are a conflict (409)."""


class LimitedRequest(TwistedRequest):
    """A request with a limited body: the connection of a larger one is closed."""

    _received = 0

    def gotLength(self, length: int | None) -> None:
        """Refuse the request if its announced length is too large."""
        if length is not None and length > BODY_MAX:
            self._refuse()
        super().gotLength(length)  # type: ignore[no-untyped-call]

    def handleContentChunk(self, data: bytes) -> None:
        """Append a chunk of the body; refuse the request if the body becomes too large."""
        self._received += len(data)
        if self._received > BODY_MAX:
            self._refuse()
        else:
            super().handleContentChunk(data)  # type: ignore[no-untyped-call]

    def _refuse(self) -> None:
        transport: Any = self.channel.transport
        transport.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        transport.loseConnection()


class ConsolePages(Resource):
    """All pages below `/`. `port` distinguishes the cookies of consoles on one machine."""

    isLeaf = True

    def __init__(self, console: Console, guard: Guard, *, port: int, version: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._console = console
        self._guard = guard
        self._cookie = f"mqgateway-{port}"
        self._routes = api_routes(read_only=console.is_read_only)
        self._document = json.dumps(openapi.document(self._routes, version)).encode()
        self._files = static_files()
        self._policy = content_policy(self._files)
        self._streams: set[EventStream] = set()
        self._downloads: set[Deferred[Any]] = set()

    def close(self) -> None:
        """End the streams and the downloads."""
        for stream in list(self._streams):
            stream.close()
        for writing in list(self._downloads):
            writing.cancel()

    def render(self, request: Any) -> bytes | int:
        """Answer any request."""
        self._set_headers(request)
        headers = {
            name.decode("ascii", "replace").lower(): values[-1].decode("utf-8", "replace")
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        path = request.path.decode("ascii", "replace")
        try:
            self._guard.check_host(headers.get("host", ""))
            if path == PREFIX or path.startswith(PREFIX + "/"):
                self._guard.check_origin(headers)
                return self._api(request, path[len(PREFIX) :], headers)
            return self._file(request, path, headers)
        except ApiError as error:
            return _error(request, error)

    def _set_headers(self, request: Any) -> None:
        request.responseHeaders.removeHeader("server")
        for name, value in (
            ("Content-Security-Policy", self._policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ):
            request.setHeader(name, value)

    # Files.

    def _file(self, request: Any, path: str, headers: dict[str, str]) -> bytes:
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader("Allow", "GET, HEAD")
            raise ApiError(405, "only GET and HEAD")
        name = path.lstrip("/") or PAGE
        file = self._files.get(name.removeprefix("static/"))
        if file is None or (name != PAGE and not name.startswith("static/")):
            raise ApiError(404, "there is no such page")
        return _tagged(request, headers, file)

    # The API.

    def _api(self, request: Any, path: str, headers: dict[str, str]) -> bytes | int:
        request.setHeader("Cache-Control", "no-store")
        method = request.method.decode("ascii", "replace")
        session = self._session(request)
        if path == "/openapi.json" and method == "GET":
            self._caller(request, session, Role.VIEWER)
            return _answer(request, 200, self._document)
        found, named = match(self._routes, path)
        if not found:
            raise ApiError(404, "there is no such route; see openapi.json")
        route = found.get(method)
        if route is None:
            request.setHeader("Allow", ", ".join(sorted(found)))
            raise ApiError(405, f"there are {', '.join(sorted(found))} only")
        caller = self._caller(request, session, route.role)
        if method != "GET":
            check_write(headers, session.csrf if session is not None else None)
        call = WebCall(
            caller,
            self._console.now(),
            self._console.operations.options.broker_cluster_name,
            path=named,
            csrf=session.csrf if session is not None else "",
        )
        return self._carry_out(request, route, call, session, headers)

    def _session(self, request: Any) -> LoginSession | None:
        cookie = request.getCookie(self._cookie.encode())
        if cookie is None:
            return None
        return self._console.entrance.sessions.find(cookie.decode("ascii", "replace"))

    def _caller(self, request: Any, session: LoginSession | None, role: Role) -> Caller:
        address = getattr(request.getClientAddress(), "host", "") or "127.0.0.1"
        if session is None:
            if role is not Role.NOBODY:
                raise ApiError(401, "you are not logged in")
            return Caller("", Role.NOBODY, address)
        try:
            caller = self._console.entrance.caller(session, address)
        except ApiError:
            if role is not Role.NOBODY:
                raise
            return Caller("", Role.NOBODY, address)
        if caller.role < role:
            raise ApiError(403, f"your role is {caller.role.name.lower()}; it takes {role.name.lower()}")
        return caller

    def _carry_out(
        self, request: Any, route: Route, call: WebCall, session: LoginSession | None, headers: dict[str, str]
    ) -> bytes | int:
        console = self._console
        try:
            given = {
                name.decode("utf-8", "replace"): values[-1].decode("utf-8", "replace")
                for name, values in request.args.items()
            }
            call.query = read_query(route.query, given)
            call.body = read_body(route.body, _json(request.content.read())) if route.body else {}
            if route.role is not Role.NOBODY:
                console.entrance.check_needs(call.caller, route.needs(call))
            outcome = route.function(console, call)
        except (ApiError, OperationError) as error:
            return self._refused(request, route, call, error)
        if route.is_stream:
            return self._stream(request, outcome, session)
        if route.is_download:
            return self._download(request, route, call, outcome, session)
        if isinstance(outcome, LoginSession):
            self._set_cookie(request, outcome, headers)
            outcome = {"isIn": True}
        elif route.method == "DELETE" and route.role is Role.NOBODY and session is not None:
            console.entrance.sessions.close(session)
        return self._answered(request, route, call, outcome, headers)

    def _answered(
        self, request: Any, route: Route, call: WebCall, outcome: Any, headers: dict[str, str]
    ) -> bytes | int:
        if isinstance(outcome, Coroutine):
            outcome = Deferred.fromCoroutine(outcome)
        waiting = pending(outcome)
        if waiting is None:
            return self._done(request, route, call, outcome, headers)
        gone = request.notifyFinish()
        gone.addErrback(lambda _: waiting.cancel())

        def write(answer: Callable[[], bytes]) -> None:
            if not gone.called:
                request.write(answer())
                request.finish()

        def failed(failure: Failure) -> None:
            error = failure.value
            if isinstance(error, (ApiError, OperationError)):
                write(lambda: self._refused(request, route, call, error))
            elif not gone.called:
                log.error("%s %s failed", route.method, route.path, exc_info=error)
                write(lambda: _error(request, ApiError(500, "it failed; see the broker's log")))

        waiting.addCallback(lambda value: write(lambda: self._done(request, route, call, value, headers)))
        waiting.addErrback(failed)
        return NOT_DONE_YET

    def _done(self, request: Any, route: Route, call: WebCall, value: Any, headers: dict[str, str]) -> bytes:
        self._note(route, call, "")
        body = json.dumps(value, separators=(",", ":")).encode()
        if route.method != "GET":
            return _answer(request, 200, body)
        request.setHeader("Cache-Control", "no-store")
        return _tagged(request, headers, StaticFile(body, JSON, f'"{hashlib.sha256(body).hexdigest()[:24]}"'))

    def _refused(self, request: Any, route: Route, call: WebCall, error: ApiError | OperationError) -> bytes:
        self._note(route, call, error.message)
        if isinstance(error, OperationError):
            error = ApiError(_STATUS.get(error.reason, 409), error.message)
        return _error(request, error)

    def _note(self, route: Route, call: WebCall, refusal: str) -> None:
        if route.method == "GET" or (route.role is Role.NOBODY and not refusal):
            return
        secret = {field.name for field in route.body if field.is_secret}
        body = {
            name: "(hidden)" if name in secret else value
            for name, value in call.body.items()
            if value is not None
        }
        given = (call.query | body).items()
        shown = {**call.path, **{name: str(value)[:AUDIT_SHOWN_MAX] for name, value in given}}
        self._console.note(call, f"{route.method} {route.path}", {"about": shown}, refusal)

    def _set_cookie(self, request: Any, session: LoginSession, headers: dict[str, str]) -> None:
        is_secure = request.isSecure() or headers.get("x-forwarded-proto") == "https"
        request.addCookie(
            self._cookie, session.id, path="/", httpOnly=True, sameSite="strict", secure=is_secure
        )

    def _stream(self, request: Any, source: EventSource, session: LoginSession | None) -> bytes | int:
        if len(self._streams) >= STREAMS_MAX:
            return _error(request, ApiError(503, f"{STREAMS_MAX} streams are open, no more are served"))
        request.setHeader("Content-Type", "text/event-stream")
        sessions = self._console.entrance.sessions

        def is_alive() -> bool:
            return session is not None and sessions.find(session.id, is_use=False) is not None

        stream = EventStream(request, source, self._console.schedule, is_alive, self._streams.discard)
        self._streams.add(stream)
        request.notifyFinish().addBoth(lambda _: stream.lost())
        stream.start()
        return NOT_DONE_YET

    def _download(
        self, request: Any, route: Route, call: WebCall, download: Download, session: LoginSession | None
    ) -> bytes | int:
        if len(self._downloads) >= DOWNLOADS_MAX:
            return _error(request, ApiError(503, f"{DOWNLOADS_MAX} files are being downloaded; try again"))
        sessions = self._console.entrance.sessions

        def is_alive() -> bool:
            return session is not None and sessions.find(session.id, is_use=False) is not None

        writing = Deferred.fromCoroutine(DownloadWriter(request, download, is_alive).write())
        self._downloads.add(writing)
        request.notifyFinish().addErrback(lambda _: writing.cancel())

        def written(is_complete: bool) -> None:
            if is_complete:
                request.finish()
            else:
                request.loseConnection()

        def failed(failure: Failure) -> None:
            error = failure.value
            if not isinstance(error, (ApiError, OperationError, CancelledError)):
                log.error("%s %s failed", route.method, route.path, exc_info=error)
                error = ApiError(500, "it failed; see the broker's log")
            if request.startedWriting or isinstance(error, CancelledError):
                request.loseConnection()
                return
            request.write(self._refused(request, route, call, error))
            request.finish()

        writing.addCallbacks(written, failed)
        writing.addBoth(lambda _: self._downloads.discard(writing))
        return NOT_DONE_YET


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ApiError(400, "the body is not JSON") from None


def _tagged(request: Any, headers: dict[str, str], file: StaticFile) -> bytes:
    """Return an answer with an ETag; 304 without a body if the browser has the current version."""
    request.setHeader("ETag", file.tag)
    if not request.responseHeaders.hasHeader("cache-control"):
        request.setHeader("Cache-Control", "no-cache")
    if headers.get("if-none-match") == file.tag:
        request.setResponseCode(304)
        return b""
    return _answer(request, 200, file.body, file.kind)


def _error(request: Any, error: ApiError) -> bytes:
    return _answer(request, error.status, json.dumps({"error": error.message}).encode())


def _answer(request: Any, code: int, body: bytes, kind: str = JSON) -> bytes:
    request.setResponseCode(code)
    request.setHeader("Content-Type", kind)
    request.setHeader("Content-Length", str(len(body)))
    return b"" if request.method == b"HEAD" else body
