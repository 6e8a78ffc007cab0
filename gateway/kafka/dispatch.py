"""A frame to a request, its function, and the answer back to bytes.

A request of an unknown API or version ends the connection, as with Apache Kafka; so does one that cannot be
decoded. ApiVersions is answered in version 0 instead, so that the client can try an older one.
A long request is decoded, carried out and answered as a cooperative task.
Source: `RequestContext`, `KafkaApis.handle`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, cast

from twisted.internet.defer import Deferred

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.operations import ClientConnection, Operations
from mqgateway.gateway.kafka.api import Answer, Handler, Handlers
from mqgateway.gateway.kafka.call import Address, KafkaCall, Reply
from mqgateway.gateway.kafka.codec import fetch, produce
from mqgateway.gateway.kafka.codec.apis import API_VERSIONS, APIS, FETCH, PRODUCE
from mqgateway.gateway.kafka.codec.fetch import Chunk
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_request_header, write_response_header
from mqgateway.gateway.kafka.codec.messages.fetch_response import FetchResponse
from mqgateway.gateway.kafka.codec.messages.produce_response import ProduceResponse
from mqgateway.gateway.kafka.codec.plans import encode_into, read, reading, writing
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.throttling import Throttling
from mqgateway.gateway.runtime.loop import Transport

LONG_FRAME: Final = 8192
"""Bytes of a request that is decoded as a cooperative task: more than a thousand partitions have. Produce is
decoded at once, as its records stay as they are."""
ELEMENTS_MAX: Final = {PRODUCE: 20_000, FETCH: 30_000}
"""Topics and partitions of a request, by API key; `reader.ELEMENTS_MAX` for any other."""
_PRODUCE: Final = PRODUCE.to_bytes(2, "big")
"""Begin of a Produce request."""
_PRODUCE_NAME: Final = APIS[PRODUCE].name
FIRST_STEPS: Final = 16
"""Steps of a cooperative task that are done at once; most requests have no more."""


class DispatchOutcome(NamedTuple):
    """The name of an API, and the reply. `is_long`: later requests of the connection wait for this one."""

    api: str
    reply: Reply | Deferred[Reply]
    is_long: bool = False


class UnservableRequest(Exception):
    """A request that ends its connection; the text is the reason."""


class AnswerObserver(Protocol):
    """Is notified of requests that were answered."""

    def __call__(self, api: str, seconds: float) -> None:
        """Record the time that an answer took."""
        ...


class Repeated(Protocol):
    """Carries out Produce requests that repeat an earlier one but for their batch."""

    def dispatch(self, frame: bytes, connection: ClientConnection) -> Reply | Deferred[Reply]:
        """Carry out the Produce request in a frame; None if it has to be decoded, and nothing was done."""
        ...


class Session(Protocol):
    """Authentication of one connection; see `sasl.session`."""

    @property
    def user(self) -> str | None:
        """The user that the connection has now; None for none."""
        ...

    @property
    def has_token(self) -> bool:
        """True if the user was authenticated by a delegation token."""
        ...

    @property
    def size_limits(self) -> tuple[int, int]:
        """Bytes of the smallest and of the largest next request."""
        ...

    def secured(self, transport: Transport) -> None:
        """Note the end of the TLS handshake, which may have brought a client certificate."""
        ...

    def admits(self, frame: bytes) -> bool:
        """Return True if the request is to be carried out, False if it belongs to the authentication.

        Raises `UnservableRequest` once the session has expired.
        """
        ...

    def dispatch(self, frame: bytes, local: Address) -> DispatchOutcome:
        """Carry out a request of the authentication. Raises `UnservableRequest`."""
        ...


class KafkaDispatcher:
    """The functions of the APIs over a broker. `noted` is notified of answers, `seconds` is the time.

    `repeated` is given Produce requests first, unless `quotas` are on: these are settled before each answer.
    """

    def __init__(
        self,
        operations: Operations,
        handlers: Handlers,
        *,
        seconds: Callable[[], float],
        noted: AnswerObserver | None = None,
        repeated: Repeated | None = None,
        quotas: Throttling | None = None,
    ) -> None:
        self._operations = operations
        self._handlers = handlers
        self._seconds = seconds
        self._noted = noted
        self._repeated = repeated
        self._quotas = quotas

    def dispatch(
        self,
        frame: bytes,
        connection: ClientConnection,
        local: Address,
        user: str | None = None,
        has_token: bool = False,
    ) -> DispatchOutcome:
        """Carry out the request in a frame, for the user of its connection; `has_token` as in `Session`.

        Raises `UnservableRequest`; the reply may fail with it too.
        """
        began = self._seconds()
        has_quotas = self._quotas is not None and self._quotas.is_on
        if self._repeated is not None and frame.startswith(_PRODUCE) and not has_quotas:
            reply = self._repeated.dispatch(frame, connection)
            if reply is not None:
                return DispatchOutcome(_PRODUCE_NAME, self._noting(reply, began))
        reader = Reader(frame)
        try:
            header = read_request_header(reader)
        except CodecError as error:
            raise _undecodable(error) from error
        version = self._version(header)
        handler = self._handlers[header.key]
        call = KafkaCall(header, connection, local, self._operations, user, has_token)
        request = _Request(call, version, began, len(frame))
        reader.elements = ELEMENTS_MAX.get(header.key, reader.elements)
        if len(frame) > LONG_FRAME and header.key != PRODUCE:
            return self._begin(request, _long(request, reader, handler))
        try:
            message = _read(reader, header.key, version)
        except CodecError as error:
            raise _undecodable(error) from error
        answer = handler(request.call, message)
        if isinstance(answer, Generator):
            return self._begin(request, answer)
        if has_quotas:
            request.busy = self._seconds() - began
        return DispatchOutcome(request.api, self._reply(request, answer))

    def _noting(self, reply: Reply | Deferred[Reply], began: float) -> Reply | Deferred[Reply]:
        """Return a reply to a Produce request, whose time is recorded once it is there."""
        if not isinstance(reply, tuple) and isinstance(reply, Deferred):  # the second question is slow
            return reply.addCallback(self._noted_produce, began)
        return self._noted_produce(reply, began)

    def _noted_produce(self, reply: Reply, began: float) -> Reply:
        self._note(_PRODUCE_NAME, began)
        return reply

    def _version(self, header: RequestHeader) -> int:
        """Return the version of request and answer. Raises `UnservableRequest` if there is none."""
        api = APIS.get(header.key)
        if api is None or header.key not in self._handlers:
            name = "unknown" if api is None else api.name
            raise UnservableRequest(f"API {header.key} ({name}) is not supported")
        if api.is_supported(header.version):
            return header.version
        if header.key == API_VERSIONS:
            return 0
        raise UnservableRequest(
            f"version {header.version} of {api.name} is not supported, only {api.oldest} to {api.latest}"
        )

    def _begin(self, request: _Request, steps: Steps[Answer]) -> DispatchOutcome:
        """Take the first steps of a cooperative task, and leave the others to the runner."""
        try:
            for _ in range(FIRST_STEPS):
                next(steps)
        except StopIteration as end:
            self._note_busy(request)
            return DispatchOutcome(request.api, self._reply(request, end.value))
        self._note_busy(request)
        rest = self._operations.runner.run(request.lane, self._rest(request, steps))
        return DispatchOutcome(request.api, rest, is_long=True)

    def _rest(self, request: _Request, steps: Steps[Answer]) -> Steps[Reply | Deferred[Reply]]:
        """Take the other steps, as long as the client is connected, and encode the answer the same way."""
        if self._quotas is not None and self._quotas.is_on:
            steps = _timed(steps, request, self._seconds)
        answer: Answer = yield from _while_open(steps, request.call.connection)
        if isinstance(answer, Deferred):
            return answer.addCallback(
                lambda message: self._operations.runner.run(request.lane, self._encoding(request, message))
            )
        return (yield from self._encoding(request, answer))

    def _note_busy(self, request: _Request) -> None:
        """Note the time that a request took so far, if quotas are on."""
        if self._quotas is not None and self._quotas.is_on:
            request.busy = self._seconds() - request.began

    def _settle(self, request: _Request, message: Message | None) -> None:
        """Throttle the client of a request that exceeds its quotas."""
        if self._quotas is not None and self._quotas.is_on:
            self._quotas.settle(request.call, request.size, message, request.busy)

    def _encoding(self, request: _Request, message: Message | None) -> Steps[Reply]:
        self._settle(request, message)
        if message is None:
            return None
        out = request.begin_answer()
        chunks: Sequence[Chunk] = (out,)
        if isinstance(message, FetchResponse):
            chunks = yield from fetch.writing(out, message, request.version)
        else:
            yield from writing(out, message, request.version)
        self._note(request.api, request.began)
        return chunks

    def _reply(self, request: _Request, answer: Answer) -> Reply | Deferred[Reply]:
        if isinstance(answer, Deferred):
            return answer.addCallback(self._encoded, request)
        return self._encoded(answer, request)

    def _encoded(self, message: Message | None, request: _Request) -> Reply:
        self._settle(request, message)
        if message is None:
            return None
        out = request.begin_answer()
        chunks: Sequence[Chunk] = (out,)
        if isinstance(message, FetchResponse):
            chunks = fetch.write_response(out, message, request.version)
        elif isinstance(message, ProduceResponse):
            produce.write_response(out, message, request.version)
        else:
            encode_into(out, message, request.version)
        self._note(request.api, request.began)
        return chunks

    def _note(self, api: str, began: float) -> None:
        if self._noted is not None:
            self._noted(api, self._seconds() - began)


class _Request:
    """A request that is carried out. `began` is the time of its arrival, seconds; `size` are its bytes.

    `busy` are the seconds that it took of the event loop, if quotas are on.
    """

    __slots__ = ("began", "busy", "call", "size", "version")

    def __init__(self, call: KafkaCall, version: int, began: float, size: int) -> None:
        self.call = call
        self.version = version
        self.began = began
        self.size = size
        self.busy = 0.0

    @property
    def api(self) -> str:
        """The name of its API."""
        return APIS[self.call.header.key].name

    @property
    def lane(self) -> str:
        """The lane of its cooperative task."""
        return f"Kafka {self.api}"

    def begin_answer(self) -> bytearray:
        """Return the header of the answer."""
        out = bytearray()
        header = self.call.header
        write_response_header(out, header.key, self.version, header.correlation_id)
        return out


def _long(request: _Request, reader: Reader, handler: Handler) -> Steps[Answer]:
    """Decode a request and carry it out."""
    try:
        message = yield from reading(APIS[request.call.header.key].request, reader, request.version)
    except CodecError as error:
        raise _undecodable(error) from error
    answer = handler(request.call, message)
    if isinstance(answer, Generator):
        answer = yield from answer
    return answer


def _timed(steps: Steps[Answer], request: _Request, seconds: Callable[[], float]) -> Steps[Answer]:
    """Take the steps, and note the time that they take."""
    while True:
        began = seconds()
        try:
            next(steps)
        except StopIteration as end:
            request.busy += seconds() - began
            return cast(Answer, end.value)
        request.busy += seconds() - began
        yield


def _while_open(steps: Steps[Answer], connection: ClientConnection) -> Steps[Answer]:
    """Take the steps; end with None once the connection has ended."""
    while connection.is_open:
        try:
            next(steps)
        except StopIteration as end:
            return cast(Answer, end.value)
        yield
    steps.close()
    return None


def _read(reader: Reader, key: int, version: int) -> Message:
    by_hand = _READERS.get(key)
    return read(APIS[key].request, reader, version) if by_hand is None else by_hand(reader, version)


def _undecodable(error: CodecError) -> UnservableRequest:
    """Return the refusal of a request that cannot be decoded."""
    return UnservableRequest(f"a request cannot be decoded: {error}")


_READERS: Final[Mapping[int, Callable[[Reader, int], Message]]] = {
    PRODUCE: produce.read_request,
    FETCH: fetch.read_request,
}
