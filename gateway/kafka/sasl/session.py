"""The authentication of one connection.

At first a client may send ApiVersions once, and SaslHandshake with the mechanism it wants. Its tokens follow
in SaslAuthenticate, or bare, in frames without headers, after version 0 of SaslHandshake. Any other request
ends the connection. So does a failed authentication, after a delay and an answer that says so.

Once it has succeeded, all requests are carried out for the user. If the session has a limited lifetime,
another SaslHandshake begins a new authentication, which must lead to the same user by the same mechanism. A
request after the end of the lifetime ends the connection.

A verified client certificate may stand for a user. Then no authentication is needed, and one is possible.
Source: `SaslServerAuthenticator`, `KafkaChannel.maybeBeginServerReauthentication`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.broker.operations import ClientConnection
from mqgateway.gateway.kafka.call import Address, Reply
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_request_header, write_response_header
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_response import SaslAuthenticateResponse
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_response import SaslHandshakeResponse
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.dispatch import DispatchOutcome, UnservableRequest
from mqgateway.gateway.kafka.sasl.authentication import Authentication
from mqgateway.gateway.kafka.sasl.exchange import (
    AuthenticationFailed,
    SaslClient,
    SaslExchange,
    SaslStep,
)

UNAUTHENTICATED_SIZE_MAX: Final = 512 * 1024
"""Bytes of the largest request before authentication (`sasl.server.max.receive.size`)."""
AGAIN_SECONDS: Final = 1.0
"""Shortest time between the begins of two authentications of a connection."""
_HEADER_SIZE_MIN: Final = 10
"""Bytes of the smallest header: key, version, correlation id, and no client id."""
_HANDSHAKE: Final = SASL_HANDSHAKE.to_bytes(2, "big")
"""Begin of a SaslHandshake request."""
_AUTHENTICATE_NAME: Final = APIS[SASL_AUTHENTICATE].name


class SessionState(Enum):
    """Requests that a session expects next."""

    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    TOKEN = auto()
    WRONG_MECHANISM = auto()
    COMPLETE = auto()
    FAILED = auto()


class SaslSession:
    """See `dispatch.Session`. `user` is that of the last completed authentication.

    `has_token` is True if that was by a delegation token.
    """

    def __init__(self, terms: Authentication, connection: ClientConnection) -> None:
        self._terms = terms
        self._connection = connection
        self._state = SessionState.VERSIONS_OR_HANDSHAKE
        self._mechanism = ""
        self._exchange: SaslExchange | None = None
        self._has_headers = False  # around tokens
        self._lifetime: int | None = None  # ms
        self._expires: float | None = None
        self._began_again: float | None = None
        self._has_certificate = False  # that stands for the user
        self.user: str | None = None
        self.has_token = False

    @property
    def size_limits(self) -> tuple[int, int]:
        """See `dispatch.Session`: a bare token may have any size up to the limit."""
        if self._state is SessionState.COMPLETE:
            return _HEADER_SIZE_MIN, self._terms.request_limit
        has_header = self._state is not SessionState.TOKEN or self._has_headers
        return _HEADER_SIZE_MIN if has_header else 0, UNAUTHENTICATED_SIZE_MAX

    def secured(self, transport: Any) -> None:
        """See `dispatch.Session`."""
        self.user = self._terms.user_of(transport)
        if self.user is not None:
            self._has_certificate = True
            self._state = SessionState.COMPLETE

    def admits(self, frame: bytes) -> bool:
        """See `dispatch.Session`."""
        if self._state is not SessionState.COMPLETE:
            return False
        if self._has_certificate and frame.startswith(_HANDSHAKE):
            self._has_certificate, self.user = False, None
            self._state = SessionState.HANDSHAKE
            return False
        if self._expires is None:
            return True
        now = self._terms.seconds()
        if frame.startswith(_HANDSHAKE) and self._may_begin_again(now):
            self._began_again = now
            self._state = SessionState.HANDSHAKE
            return False
        if now > self._expires:
            raise UnservableRequest("its session has expired")
        return True

    def dispatch(self, frame: bytes, local: Address) -> DispatchOutcome:
        """See `dispatch.Session`."""
        if self._state is SessionState.FAILED:
            raise UnservableRequest("a request came after a failed authentication")
        if self._state is SessionState.WRONG_MECHANISM:
            return self._refused(_AUTHENTICATE_NAME, None, "it changed its mechanism")
        if self._state is SessionState.TOKEN and not self._has_headers:
            reply: Deferred[Reply] = self._evaluate(frame).addCallbacks(_bare, self._end_bare)
            return DispatchOutcome(_AUTHENTICATE_NAME, reply, is_long=True)
        reader = Reader(frame)
        try:
            header = read_request_header(reader)
            if self._state is SessionState.TOKEN:
                return self._take_token(header, reader)
            if header.key == API_VERSIONS and self._state is SessionState.VERSIONS_OR_HANDSHAKE:
                return self._take_versions(frame, local)
            return self._take_handshake(header, reader)
        except CodecError as error:
            raise UnservableRequest(f"a request cannot be decoded: {error}") from error

    # Requests

    def _take_versions(self, frame: bytes, local: Address) -> DispatchOutcome:
        outcome = self._terms.dispatcher.dispatch(frame, self._connection, local)
        reply = outcome.reply
        if isinstance(reply, tuple) and bytes(reply[0][4:6]) == b"\0\0":
            self._state = SessionState.HANDSHAKE
        return outcome

    def _take_handshake(self, header: RequestHeader, reader: Reader) -> DispatchOutcome:
        if header.key != SASL_HANDSHAKE:
            return self._unexpected(header)
        request: SaslHandshakeRequest = _read(header, reader)
        name, mechanisms = APIS[SASL_HANDSHAKE].name, list(self._terms.mechanisms)
        make = self._terms.mechanisms.get(request.mechanism)
        if make is None:
            answer = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms)
            reason = f"the SASL mechanism {request.mechanism[:50]!r} is not enabled"
            return self._refused(name, _encoded(header, answer), reason)
        self._has_headers = self._has_headers or header.version > 0
        if self.user is not None and request.mechanism != self._mechanism:
            self._state = SessionState.WRONG_MECHANISM
        else:
            self._mechanism = request.mechanism
            self._exchange = make(SaslClient(self._connection.address, _AUTHENTICATE_NAME))
            self._state = SessionState.TOKEN
        answer = SaslHandshakeResponse(ErrorCode.NONE, mechanisms)
        return DispatchOutcome(name, _encoded(header, answer))

    def _take_token(self, header: RequestHeader, reader: Reader) -> DispatchOutcome:
        if header.key != SASL_AUTHENTICATE:
            return self._unexpected(header)
        request: SaslAuthenticateRequest = _read(header, reader)
        evaluated = self._evaluate(bytes(request.auth_bytes))
        reply = evaluated.addCallbacks(self._answer, self._end, callbackArgs=(header,), errbackArgs=(header,))
        return DispatchOutcome(_AUTHENTICATE_NAME, reply, is_long=True)

    def _unexpected(self, header: RequestHeader) -> DispatchOutcome:
        api = APIS.get(header.key)
        name = "" if api is None else api.name
        reason = f"a request of API {header.key} ({name or 'unknown'}) came before authentication"
        return self._refused(name, None, reason)

    # Outcomes

    def _evaluate(self, token: bytes) -> Deferred[SaslStep]:
        assert self._exchange is not None
        return self._exchange.evaluate(token).addCallback(self._note)

    def _note(self, step: SaslStep) -> SaslStep:
        """Complete the authentication if this was its last step. Raises `AuthenticationFailed`."""
        if step.user is None:
            return step
        if self.user is not None and step.user != self.user:
            raise AuthenticationFailed(
                f"Cannot change principals during re-authentication from User.{self.user}: User.{step.user}"
            )
        self.user, self.has_token = step.user, step.has_token
        self._exchange = None
        self._state = SessionState.COMPLETE
        self._lifetime = lifetime = self._terms.lifetime(step.expires)
        self._expires = None if lifetime is None else self._terms.seconds() + lifetime / 1000
        return step

    def _answer(self, step: SaslStep, header: RequestHeader) -> Reply:
        lifetime = 0 if step.user is None else self._lifetime or 0
        answer = SaslAuthenticateResponse(ErrorCode.NONE, None, step.token, session_lifetime_ms=lifetime)
        return _encoded(header, answer)

    def _end(self, failure: Failure, header: RequestHeader) -> Deferred[Reply]:
        failed = self._failed(failure)
        text = failed.text or (
            f"Authentication failed during {'' if self.user is None else 're-'}authentication due to invalid "
            f"credentials with SASL mechanism {self._mechanism}"
        )
        answer = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, text)
        return self._close_late(_encoded(header, answer), text, failed.until)

    def _end_bare(self, failure: Failure) -> Deferred[Reply]:
        failed = self._failed(failure)
        return self._close_late(None, str(failed), failed.until)

    def _failed(self, failure: Failure) -> AuthenticationFailed:
        """Return the refusal of a failed exchange, and log it for the audit; raise any other exception."""
        error = failure.value
        if not isinstance(error, AuthenticationFailed):
            assert error is not None
            raise error
        if not error.is_logged:
            address = self._connection.address
            self._terms.audit.authenticated(self.user or "", address, _AUTHENTICATE_NAME, str(error))
        return error

    def _refused(self, name: str, reply: Reply, reason: str) -> DispatchOutcome:
        return DispatchOutcome(name, self._close_late(reply, reason, None), is_long=True)

    def _close_late(self, reply: Reply, reason: str, until: Deferred[None] | None) -> Deferred[Reply]:
        """Return the Deferred of a reply after which the connection is closed."""
        self._state = SessionState.FAILED
        late: Deferred[Reply] = Deferred()

        def end(_: None) -> None:
            late.callback(reply)
            self._connection.close(f"its authentication failed: {reason}")

        self._terms.refusal_delay(until).addCallback(end)
        return late

    def _may_begin_again(self, now: float) -> bool:
        return self._began_again is None or now - self._began_again >= AGAIN_SECONDS


def _bare(step: SaslStep) -> Reply:
    return (step.token,)


def _read(header: RequestHeader, reader: Reader) -> Any:
    """Read the body of a request. Raises `UnservableRequest`, `CodecError`."""
    api = APIS[header.key]
    if not api.is_supported(header.version):
        raise UnservableRequest(f"version {header.version} of {api.name} is not supported")
    return read(api.request, reader, header.version)


def _encoded(header: RequestHeader, answer: Message) -> Reply:
    out = bytearray()
    write_response_header(out, header.key, header.version, header.correlation_id)
    encode_into(out, answer, header.version)
    return (out,)
