from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.error import CannotListenError
from twisted.internet.task import Clock

from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.web.rings import STEP_SECONDS
from mqgateway.gateway.web.service import ConsoleService
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.broker.operating import InlineRunner
from tests.support.gateway.web import Browser


class Address:
    port = 8099


class Port:
    """A port that listens."""

    is_open = True

    def getHost(self) -> Address:
        return Address()

    def stopListening(self) -> None:
        self.is_open = False


class Listening(Clock):
    """A reactor that listens, or cannot."""

    def __init__(self, is_taken: bool = False) -> None:
        super().__init__()
        self.is_taken = is_taken
        self.asked: list[tuple[int, Any, str]] = []
        self.port = Port()

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Port:
        if self.is_taken:
            raise CannotListenError(interface, port, OSError("taken"))
        self.asked.append((port, factory, interface))
        return self.port

    def connectTCP(self, *_: Any) -> Any: ...


class WaitingWorker:
    """A worker that keeps its work."""

    def __init__(self) -> None:
        self.work: list[Callable[[], object]] = []

    def run(self, work: Callable[[], Any], done: Callable[[Any], object]) -> None:
        """As `Worker`."""
        self.work.append(work)


def service(reactor: Listening, worker: Worker | None = None) -> ConsoleService:
    memory = MemoryBroker(options={"console_port": 8099})
    server = RemotingServer(reactor, memory.dispatcher, RemotingOptions())
    operations = Operations(memory.broker, InlineRunner(memory))
    return ConsoleService(operations, server, reactor=reactor, clock=memory.clock, worker=worker)


def test_it_listens_samples_and_stops() -> None:
    reactor = Listening()
    made = service(reactor)
    assert made.url == "" and not reactor.asked
    made.start()
    [(port, factory, host)] = reactor.asked
    assert (port, host) == (8099, "127.0.0.1")
    assert made.url.startswith("http://127.0.0.1:8099/#token=") and len(made.url) > 50
    answer = Browser(factory)
    answer.send(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8099\r\n\r\n")
    assert answer.responses[-1].code == 200 and b"<title>" in answer.responses[-1].body
    reactor.advance(0)
    reactor.advance(STEP_SECONDS)
    reactor.advance(STEP_SECONDS)
    assert len(made.console.rings) == 2
    made.stop()
    assert not reactor.port.is_open and made.url == "" and not reactor.getDelayedCalls()


def test_worker_imports_pages_once_the_console_is_served() -> None:
    reactor, worker = Listening(), WaitingWorker()
    made = service(reactor, worker)
    made.start()
    assert not worker.work
    reactor.advance(0)
    [work] = worker.work
    imported: Any = work()
    assert imported.ConsolePages
    made.stop()


def test_a_port_that_is_taken_is_no_reason_not_to_start() -> None:
    made = service(Listening(is_taken=True))
    made.start()
    assert made.url == ""
    made.stop()


def test_streams_end_when_it_stops() -> None:
    reactor = Listening()
    made = service(reactor)
    made.start()
    [(_, factory, _)] = reactor.asked
    token = made.url.partition("=")[2].encode()
    one = Browser(factory)
    body = b'{"token":"' + token + b'"}'
    head = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    one.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    cookie = one.responses[-1].headers["Set-Cookie"].partition(";")[0].encode()
    stream = Browser(factory)
    stream.send(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: " + cookie + b"\r\n\r\n")
    assert b"event: figures" in stream.transport.value()
    made.stop()
    assert not reactor.getDelayedCalls()
