"""A connection of a Kafka client in simulated time: requests, their answers, and requests without one."""

from __future__ import annotations

import struct
from collections import deque
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ClientFactory, Protocol
from twisted.python.failure import Failure

from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.headers import RequestHeader, read_response_header, write_request_header
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from tests.sim.world import Process

SIZE = struct.Struct(">i")


class Unanswered(Exception):
    """A request without an answer: it may be carried out, now or later, or not."""


class KafkaConnection(Protocol):
    """Answers come in the order of the requests."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._received = b""
        self._correlation_id = 0
        self._waiting: deque[tuple[Message, int, Deferred[Any]]] = deque()
        self.is_lost = False

    def ask(self, request: Message, version: int | None, seconds: float) -> Deferred[Any]:
        """Send a request; return its answer. Fails with `Unanswered`, after `seconds` at the latest."""
        answer: Deferred[Any] = Deferred()
        if self.is_lost:
            answer.errback(Unanswered())
            return answer
        number = APIS[request.KEY].latest if version is None else version
        self._waiting.append((request, number, answer))
        self.transport.write(self._frame(request, number))
        limit = self._process.callLater(seconds, self._time_out, answer)

        def ended(outcome: Any) -> Any:
            if limit.active():
                limit.cancel()
            return outcome

        return answer.addBoth(ended)

    def _frame(self, request: Message, version: int) -> bytes:
        self._correlation_id += 1
        out = bytearray()
        write_request_header(out, RequestHeader(request.KEY, version, self._correlation_id, "sim"))
        encode_into(out, request, version)
        return SIZE.pack(len(out)) + out

    def _time_out(self, answer: Deferred[Any]) -> None:
        if not answer.called:
            answer.errback(Unanswered())

    def dataReceived(self, data: bytes) -> None:
        """See `Protocol`."""
        self._received += data
        while len(self._received) >= SIZE.size:
            [size] = SIZE.unpack_from(self._received)
            end = SIZE.size + size
            if len(self._received) < end:
                return
            frame, self._received = self._received[SIZE.size : end], self._received[end:]
            request, version, answer = self._waiting.popleft()
            if not answer.called:
                answer.callback(_decoded(request, version, frame))

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """See `Protocol`."""
        self.is_lost = True
        waiting, self._waiting = self._waiting, deque()
        for _, _, answer in waiting:
            if not answer.called:
                answer.errback(Unanswered())

    def leave(self, *, is_closed: bool) -> None:
        """Use the connection no more. If it is not closed, what was sent may arrive much later."""
        if is_closed and not self.is_lost:
            self.transport.abortConnection()


def _decoded(request: Message, version: int, frame: bytes) -> Any:
    reader = Reader(frame)
    read_response_header(reader, request.KEY, version)
    answer = read(APIS[request.KEY].response, reader, version)
    assert not reader.left()
    return answer


class _Factory(ClientFactory):
    noisy = False

    def __init__(self, process: Process, connected: Deferred[KafkaConnection]) -> None:
        self._process, self._connected = process, connected

    def buildProtocol(self, address: Any) -> KafkaConnection:
        connection = KafkaConnection(self._process)
        self._process.callLater(0, self._connected.callback, connection)
        return connection

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self._connected.errback(Unanswered())


def connect(process: Process, host: str, port: int, seconds: float) -> Deferred[KafkaConnection]:
    """Return a new connection. Fails with `Unanswered`."""
    connected: Deferred[KafkaConnection] = Deferred()
    process.connectTCP(host, port, _Factory(process, connected), seconds)
    return connected
