"""Scrapes that are joined with those of other processes, on a net in memory."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.protocol import Factory

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.metrics.joining import JoinedScrapes
from mqgateway.gateway.runtime.schedule import Schedule
from tests.gateway.metrics.test_fetching import Server
from tests.support.gateway.remoting.pair import Net

OWN = b"# TYPE up gauge\nup 1\n"


def test_scrapes_are_joined_and_a_silent_process_is_named(caplog: pytest.LogCaptureFixture) -> None:
    net: Any = Net()
    factory: Any = Factory.forProtocol(Server)
    factory.answer, factory.asked = b"HTTP/1.0 200 OK\r\n\r\n" + OWN, []
    net.listenTCP(41_000, factory)
    ports = {"n-0": 41_000, "n-1": 41_010}
    joined: list[Any] = []
    JoinedScrapes(net, ManualClock(), Schedule(net), lambda: ports).join("standard", [OWN]).addCallback(
        joined.append
    )
    net.settle(1)
    assert b"".join(joined[0]) == b'# TYPE up gauge\nup 1\nup{broker="n-0"} 1\n'
    assert factory.asked == [b"GET /metrics?set=standard HTTP/1.0\r\n\r\n"]
    assert "the metrics of n-1 are not in this scrape" in caplog.text
