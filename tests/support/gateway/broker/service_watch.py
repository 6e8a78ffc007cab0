"""Which services of a broker run: each begins when it is loaded, and ends when it stands by."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from mqgateway.gateway.broker.broker import Broker


class Watched:
    """Counts the services of a broker that has just started; `running` says of each whether it runs."""

    def __init__(self, broker: Broker) -> None:
        self.running = dict.fromkeys(("timers", "transactions", "delays"), broker.role.is_master)
        self._begins_steps(broker.timers, "loading", "timers")
        self._begins_steps(broker.timers, "take_over", "timers")
        self._ends(broker.timers, "hand_back", "timers")
        self._begins_steps(broker.delays, "take_over", "delays")
        self._ends(broker.delays, "stand_by", "delays")
        self._begins(broker.transactions, "load", "transactions")
        self._ends(broker.transactions, "stand_by", "transactions")

    def _begin(self, name: str) -> None:
        assert not self.running[name], f"{name} run twice"
        self.running[name] = True

    def _begins(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[[], None] = getattr(owner, method)

        def begin() -> None:
            inner()
            self._begin(name)

        setattr(owner, method, begin)

    def _begins_steps(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[..., Generator[None, None, None]] = getattr(owner, method)

        def begin(*given: Any) -> Generator[None, None, None]:
            yield from inner(*given)
            self._begin(name)

        setattr(owner, method, begin)

    def _ends(self, owner: Any, method: str, name: str) -> None:
        inner: Callable[[], None] = getattr(owner, method)

        def end() -> None:
            self.running[name] = False
            inner()

        setattr(owner, method, end)
