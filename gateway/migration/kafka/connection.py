"""A connection to a Kafka broker, over a blocking socket.

Versions of requests are those that both sides know. Requests may be sent together; a broker answers them in
order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.client.errors import BadArgument, ClientError, TimedOut, Unreachable
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS, FETCH, PRODUCE
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_response_header, write_request_header
from mqgateway.gateway.kafka.codec.messages.api_versions_request import ApiVersionsRequest
from mqgateway.gateway.kafka.codec.messages.sasl_authenticate_request import SaslAuthenticateRequest
from mqgateway.gateway.kafka.codec.messages.sasl_handshake_request import SaslHandshakeRequest
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.migration.kafka.security import ClusterSecurity, Login, log_in
from mqgateway.gateway.mqadmin.connection import SocketStream
from mqgateway.gateway.runtime.name_servers import address_fault

CLIENT_ID: Final = "mqgateway"
CONNECT_SECONDS: Final = 5.0
OFFSET_COMMIT, OFFSET_FETCH = 8, 9
NAMES_UNTIL: Final = {FETCH: 12, PRODUCE: 12, OFFSET_COMMIT: 9, OFFSET_FETCH: 9}
"""Last version of an API whose requests have names of topics; later ones have ids."""
_CHUNK_SIZE: Final = 1 << 20
_SIZE: Final = struct.Struct(">i")


class BrokerConnection:
    """A connection to a broker at `HOST:PORT`. `seconds` is the time that an answer may take."""

    def __init__(self, address: str, security: ClusterSecurity, seconds: float) -> None:
        """Connect, learn the versions, and authenticate.

        Raises `Unreachable`, `KafkaError` for a refused user, `BadArgument` for an invalid address.
        """
        if fault := address_fault(address):
            raise BadArgument(fault)
        host, _, port = address.rpartition(":")
        self.address = address
        try:
            self._stream: SocketStream = security.connect(host.strip("[]"), int(port), CONNECT_SECONDS)
            self._stream.settimeout(seconds)
        except OSError as error:
            raise Unreachable(f"cannot connect to {address} ({error.strerror or error})") from None
        self._buffer = bytearray()
        self._correlation_id = 0
        self._versions: dict[int, tuple[int, int]] = {API_VERSIONS: (0, 0)}
        [answer] = self.ask_together([ApiVersionsRequest()])
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        if security.login is not None:
            self._authenticate(security.login)

    def version(self, key: int) -> int:
        """Return the version in which requests of an API are sent. Raises `ClientError` if there is none."""
        oldest, latest = self._versions.get(key, (0, -1))
        api = APIS[key]
        version = min(latest, api.latest, NAMES_UNTIL.get(key, api.latest))
        if version < max(oldest, api.oldest):
            raise ClientError(f"{self.address} and mqgateway have no version of {api.name} in common")
        return version

    def knows(self, key: int) -> bool:
        """Return True if the broker has an API."""
        return key in self._versions

    def ask(self, request: Message) -> Any:
        """Return the answer to a request. Raises as `ask_together`."""
        [answer] = self.ask_together([request])
        return answer

    def ask_together(self, requests: Sequence[Message]) -> list[Any]:
        """Send requests together and return their answers.

        Raises `TimedOut`, `Unreachable`, and `ClientError` for an answer that cannot be decoded or an API
        that the broker does not have. After an error the connection must be closed.
        """
        out = bytearray()
        first = self._correlation_id + 1
        for request in requests:
            out += self._frame(request)
        try:
            self._stream.sendall(bytes(out))
            return [self._answer(request, first + index) for index, request in enumerate(requests)]
        except TimeoutError:
            raise TimedOut(f"{self.address} did not answer in time") from None
        except OSError as error:
            raise Unreachable(f"{self.address}: {error.strerror or error}") from None
        except CodecError as error:
            raise ClientError(f"{self.address}: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def _authenticate(self, login: Login) -> None:
        answer = self.ask(SaslHandshakeRequest(login.mechanism))
        check(answer.error_code, f"{login.mechanism} at {self.address}")

        def send(token: bytes) -> bytes:
            answer = self.ask(SaslAuthenticateRequest(token))
            check(answer.error_code, f"{login.user} at {self.address}", answer.error_message)
            return bytes(answer.auth_bytes)

        log_in(login, send)

    def _frame(self, request: Message) -> bytes:
        self._correlation_id += 1
        version = self.version(request.KEY)
        out = bytearray(_SIZE.size)
        write_request_header(out, RequestHeader(request.KEY, version, self._correlation_id, CLIENT_ID))
        encode_into(out, request, version)
        _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
        return bytes(out)

    def _answer(self, request: Message, correlation_id: int) -> Any:
        self._receive(_SIZE.size)
        [size] = _SIZE.unpack_from(self._buffer)
        self._receive(_SIZE.size + size)
        reader = Reader(bytes(memoryview(self._buffer)[_SIZE.size : _SIZE.size + size]))
        del self._buffer[: _SIZE.size + size]
        version = self.version(request.KEY)
        if read_response_header(reader, request.KEY, version) != correlation_id:
            raise CodecError("an answer to another request")
        return read(APIS[request.KEY].response, reader, version)

    def _receive(self, size: int) -> None:
        while len(self._buffer) < size:
            data = self._stream.recv(_CHUNK_SIZE)
            if not data:
                raise Unreachable(f"{self.address} closed the connection")
            self._buffer += data


class KafkaError(ClientError):
    """A refusal by a broker, with its code."""

    def __init__(self, code: int, what: str, message: str | None = None) -> None:
        try:
            name = ErrorCode(code).name
        except ValueError:
            name = str(code)
        super().__init__(f"{what}: {name}" + (f" ({message})" if message else ""))
        self.code = code


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise `KafkaError` unless the code is 0."""
    if code:
        raise KafkaError(code, what, message)
