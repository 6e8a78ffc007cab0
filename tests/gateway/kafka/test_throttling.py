"""Connections of throttled clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet import task

from mqgateway.engine.tables.client_quotas import ClientQuotas
from mqgateway.gateway.kafka.quotas.enforcement import QuotaEnforcement
from mqgateway.gateway.kafka.throttling import Throttling
from mqgateway.gateway.runtime.schedule import Schedule


class Source:
    """Quotas of addresses: one connection a second."""

    version = 1

    def all(self) -> list[ClientQuotas]:
        """See `QuotaSource`."""
        return [ClientQuotas({"ip": None}, {"connection_creation_rate": 1.0})]


class NotedConnection:
    """A connection that notes what becomes of it."""

    ip = "192.0.2.1"
    is_open = True

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.callbacks: list[Callable[[Any], None]] = []

    def hold(self) -> None:
        """See `HeldConnection`."""
        self.notes.append("held")

    def release(self) -> None:
        """See `HeldConnection`."""
        self.notes.append("released")

    def close(self, reason: str) -> None:
        """See `HeldConnection`."""
        self.notes.append("closed")
        self.lose()

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """See `HeldConnection`."""
        self.callbacks.append(callback)

    def lose(self) -> None:
        """Lose the connection."""
        for callback in self.callbacks:
            callback(self)


def throttling() -> tuple[Throttling, task.Clock]:
    """Return the throttling of a server, and its clock."""
    clock = task.Clock()
    return Throttling(QuotaEnforcement(Source(), lambda: int(clock.seconds() * 1000)), Schedule(clock)), clock


def test_connection_is_held_until_the_longest_time_is_over() -> None:
    server, clock = throttling()
    connection = NotedConnection()
    for seconds in (2.0, 1.0, 3.0):
        server._throttle(connection, seconds)
    clock.advance(2.9)
    assert connection.notes == ["held", "held"]
    clock.advance(0.1)
    assert connection.notes == ["held", "held", "released"]
    server._throttle(connection, 1.0)
    clock.advance(1)
    assert connection.notes[3:] == ["held", "released"] and len(connection.callbacks) == 1


def test_lost_connection_is_forgotten() -> None:
    server, clock = throttling()
    connection = NotedConnection()
    server._throttle(connection, 5.0)
    connection.lose()
    assert not clock.getDelayedCalls() and not server._pauses


def test_connection_beyond_the_rate_is_held_and_closed() -> None:
    server, clock = throttling()
    connections = [NotedConnection() for _ in range(11)]
    for one in connections:
        server.opened(one)
    clock.advance(10)
    assert [one.notes for one in connections] == [[]] * 10 + [["held", "closed"]]
    assert not server._pauses and not server.is_on
