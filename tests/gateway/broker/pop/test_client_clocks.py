"""Late clients, and clients with a clock that is only slow."""

from collections.abc import Callable
from typing import cast

from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.pop.client_clocks import ClientClocks

ALLOWED = 15_500


class Client:
    def __init__(self) -> None:
        self.lost: list[Callable[[ClientConnection], None]] = []

    def on_lost(self, callback: Callable[[ClientConnection], None]) -> None:
        self.lost.append(callback)


def peer() -> ClientConnection:
    return cast("ClientConnection", Client())


def test_client_in_time_is_not_late() -> None:
    clocks, client = ClientClocks(), peer()
    assert not clocks.is_late(client, ALLOWED, ALLOWED)
    assert not clocks.is_late(client, -60_000, ALLOWED)
    assert clocks.behind(client) == 0


def test_lagging_clock_is_refused_once() -> None:
    clocks, client = ClientClocks(), peer()
    assert clocks.is_late(client, 111_000, ALLOWED)
    assert [clocks.is_late(client, 111_000 + late, ALLOWED) for late in (0, 200, ALLOWED)] == [False] * 3
    assert clocks.behind(client) == 111_000
    assert clocks.is_late(client, 111_000 + ALLOWED + 1, ALLOWED)


def test_difference_is_the_least_observed() -> None:
    clocks, client = ClientClocks(), peer()
    assert clocks.is_late(client, 20_000, ALLOWED)
    assert not clocks.is_late(client, -5, ALLOWED)
    assert clocks.behind(client) == 0
    assert clocks.is_late(client, 20_000, ALLOWED)


def test_clocks_are_per_client_and_removed_with_it() -> None:
    clocks, client, other = ClientClocks(), Client(), peer()
    assert clocks.is_late(cast("ClientConnection", client), 60_000, ALLOWED)
    assert clocks.is_late(other, 60_000, ALLOWED)
    client.lost[0](cast("ClientConnection", client))
    assert clocks.behind(cast("ClientConnection", client)) == 0
    assert clocks.behind(other) == 60_000
