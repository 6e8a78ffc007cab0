"""Pages of other processes, on a net in memory."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.protocol import Factory, Protocol

from mqgateway.gateway.metrics.fetching import FetchError, fetch
from mqgateway.gateway.runtime.schedule import Schedule
from tests.support.gateway.remoting.pair import Net

PORT = 5557


class Server(Protocol):
    """Answers each request with the factory's answer, in two parts, and closes the connection."""

    factory: Any

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.factory.asked.append(data)
        if self.factory.answer is not None:
            self.transport.write(self.factory.answer[:20])
            self.transport.write(self.factory.answer[20:])
            self.transport.loseConnection()


class World:
    def __init__(self, answer: bytes | None) -> None:
        self.net = Net()
        factory: Any = Factory.forProtocol(Server)
        factory.answer, factory.asked = answer, []
        self.asked: list[bytes] = factory.asked
        self.net.listenTCP(PORT, factory)

    def fetch(self, port: int = PORT) -> list[Any]:
        found: list[Any] = []
        net: Any = self.net
        fetched = fetch(net, Schedule(net), "127.0.0.1", port, "/metrics?set=standard", 5)
        fetched.addCallbacks(found.append, lambda failure: found.append(failure.value))
        self.net.settle(1)
        return found


def test_page_is_what_follows_the_headers() -> None:
    world = World(b"HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\nup 1\r\n\r\n\n")
    assert world.fetch() == [b"up 1\r\n\r\n\n"]
    assert world.asked == [b"GET /metrics?set=standard HTTP/1.0\r\n\r\n"]
    assert not world.net.calls, "no timer is left"


@pytest.mark.parametrize(
    "answer,why",
    [
        (b"HTTP/1.0 503 Unavailable\r\n\r\nno", "503"),
        (b"", "no answer"),
        (b"rubbish\r\n\r\n", "rubbish"),
    ],
)
def test_other_answers_are_errors(answer: bytes, why: str) -> None:
    (error,) = World(answer).fetch()
    assert isinstance(error, FetchError) and why in str(error)


def test_refused_connection_is_an_error() -> None:
    (error,) = World(b"").fetch(PORT + 1)
    assert isinstance(error, FetchError)


def test_silent_server_is_given_up() -> None:
    world = World(None)
    found = world.fetch()
    assert found == []
    world.net.settle(5)
    assert str(found[0]) == "no answer within 5 s"
