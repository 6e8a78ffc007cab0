from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mqgateway.engine.message import PROPERTY_TAGS
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop import OrderKey
from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.consume.long_polling import HeldPull, HeldPulls
from mqgateway.gateway.broker.parked_pops import ParkedPop, ParkedPops
from mqgateway.gateway.broker.waking import wake
from tests.support.gateway.broker.helpers import FakePeer

ARRIVALS = [Arrival("T", 0, 1, 0, 0, {PROPERTY_TAGS: "a"})]
LATER = 60_000


class Waiting:
    """Waiting requests of a broker without replication; `calls` has their kinds as they were woken."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.pulls = HeldPulls(BrokerOptions())
        self.pops = ParkedPops(lambda: 9, lambda: 9, last_first=False)
        self.notifications = ParkedPops(lambda: 9, lambda: 9, last_first=False)
        self.broker: Any = SimpleNamespace(
            consume=SimpleNamespace(held_pulls=self.pulls),
            pop=SimpleNamespace(parked=self.pops, parked_notifications=self.notifications),
            lite=SimpleNamespace(
                subscriptions=SimpleNamespace(count=0), arrived=lambda _: self.calls.append("lite")
            ),
            replication=None,
        )

    def park(self, kind: str) -> None:
        """Have a request wait for any message of the topic."""

        def resume(_: bool = False) -> bool:
            self.calls.append(kind)
            return True

        peer = FakePeer()
        if kind == "pull":
            assert self.pulls.hold(HeldPull(peer, "T", 0, 0, None, LATER, lambda: self.calls.append(kind)))
        elif kind == "lite":
            self.broker.lite.subscriptions.count += 1
        else:
            table = self.pops if kind == "pop" else self.notifications
            assert table.hold(ParkedPop(peer, OrderKey("T", "G", 0), None, LATER, resume))


@pytest.mark.parametrize("kind", ["pull", "pop", "notification", "lite"])
def test_waiting_request_is_woken(kind: str) -> None:
    waiting = Waiting()
    wake(waiting.broker, ARRIVALS)
    assert not waiting.calls
    waiting.park(kind)
    wake(waiting.broker, ARRIVALS)
    assert waiting.calls == [kind]


def test_slaves_get_records_after_requests_were_woken() -> None:
    waiting = Waiting()
    waiting.broker.replication = SimpleNamespace(arrived=lambda: waiting.calls.append("slaves"))
    wake(waiting.broker, ARRIVALS)
    assert waiting.calls == ["slaves"]
    for kind in ("pull", "pop", "notification", "lite"):
        waiting.park(kind)
    wake(waiting.broker, ARRIVALS)
    assert waiting.calls == ["slaves", "pull", "pop", "notification", "lite", "slaves"]
