from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.waking import wake

ARRIVALS = [Arrival("T", 0, 1, 0, 0, {})]


class Waiting:
    """A table of requests that notes its calls."""

    def __init__(self, name: str, calls: list[str], number: int) -> None:
        self.name = name
        self.calls = calls
        self.total = self.count = number

    def arrived(self, arrivals: list[Arrival]) -> list[Any]:
        assert arrivals is ARRIVALS
        self.calls.append(self.name)
        return []


def broker(calls: list[str], **waiting: int) -> Any:
    names = ("pulls", "pops", "notifications", "lite")
    tables = {name: Waiting(name, calls, waiting.get(name, 0)) for name in names}
    lite = tables["lite"]
    return SimpleNamespace(
        consume=SimpleNamespace(held_pulls=tables["pulls"]),
        pop=SimpleNamespace(parked=tables["pops"], parked_notifications=tables["notifications"]),
        lite=SimpleNamespace(subscriptions=lite, arrived=lite.arrived),
        replication=SimpleNamespace(arrived=lambda: calls.append("slaves")),
    )


@pytest.mark.parametrize("name", ["pulls", "pops", "notifications", "lite"])
def test_only_what_waits_is_called(name: str) -> None:
    calls: list[str] = []
    wake(broker(calls, **{name: 2}), ARRIVALS)
    assert calls == [name, "slaves"]


def test_slaves_get_records_after_requests_were_woken() -> None:
    calls: list[str] = []
    wake(broker(calls, pulls=1, pops=1, notifications=1, lite=1), ARRIVALS)
    assert calls == ["pulls", "pops", "notifications", "lite", "slaves"]


def test_broker_without_replication_wakes_requests() -> None:
    calls: list[str] = []
    alone = broker(calls, pulls=1)
    alone.replication = None
    wake(alone, ARRIVALS)
    assert calls == ["pulls"]
