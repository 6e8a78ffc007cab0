"""Which brokers to avoid, and for how long; pure, times in ms.

Without `sendLatencyEnable` only the broker is avoided that has just failed. With it, every send grades its
broker by how long the answer took:

| took at least (ms) | 50 | 100 | 550  | 1800 | 3000 | 5000  | 15000 |
|--------------------|----|-----|------|------|------|-------|-------|
| avoided for (ms)   | 0  | 0   | 2000 | 5000 | 6000 | 10000 | 30000 |

A connection that failed counts as 10 s. A queue is looked for on a broker that is available and is not
the one that failed; then on one that can be reached; then on any: at least one is picked. A detector may look
whether brokers that could not be reached can be again.
Standard: `MQFaultStrategy`, `LatencyFaultToleranceImpl`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqgateway.gateway.client.publishing import PublishInfo
from mqgateway.gateway.codec.bodies import MessageQueue

GRADES: Final = (
    (15_000, 30_000),
    (5_000, 10_000),
    (3_000, 6_000),
    (1_800, 5_000),
    (550, 2_000),
    (100, 0),
    (50, 0),
)
"""Latency from which on, and the time that a broker is then avoided; in ms."""
ISOLATED_LATENCY: Final = 10_000
"""What a failed connection counts as, in ms."""


def avoided_for(latency: int) -> int:
    """How long a broker is avoided whose answer took so long; both in ms."""
    return next((duration for least, duration in GRADES if latency >= least), 0)


class _Fault:
    __slots__ = ("available_from", "check_at", "is_reachable")

    def __init__(self) -> None:
        self.available_from = 0
        self.check_at = 0
        self.is_reachable = True


class FaultTable:
    """What is known of brokers by name. `is_grading` is `sendLatencyEnable`, `is_detecting`
    `startDetectorEnable`."""

    def __init__(self, *, is_grading: bool, is_detecting: bool = False, detect_interval: int = 2_000) -> None:
        self._is_grading = is_grading
        self._is_detecting = is_detecting
        self._detect_interval = detect_interval
        self._faults: dict[str, _Fault] = {}

    def succeeded(self, broker: str, latency: int, now: int) -> None:
        """An answer came, or there was nothing wrong with the broker."""
        self._note(broker, latency, now, is_reachable=True)

    def refused(self, broker: str, now: int) -> None:
        """The broker answered that it cannot do what was asked."""
        self._note(broker, ISOLATED_LATENCY, now, is_reachable=False)

    def failed(self, broker: str, now: int) -> None:
        """No answer came. It counts as unreachable only if somebody looks whether it can be reached again."""
        self._note(broker, ISOLATED_LATENCY, now, is_reachable=not self._is_detecting)

    def is_available(self, broker: str, now: int) -> bool:
        """Whether it is not avoided."""
        fault = self._faults.get(broker)
        return fault is None or now >= fault.available_from

    def is_reachable(self, broker: str) -> bool:
        """Whether nothing says that it cannot be reached."""
        fault = self._faults.get(broker)
        return fault is None or fault.is_reachable

    def due(self, now: int) -> list[str]:
        """Brokers to look at now; they are due again after the interval."""
        if not self._is_detecting:
            return []
        names = [name for name, fault in self._faults.items() if now >= fault.check_at]
        for name in names:
            self._faults[name].check_at = now + self._detect_interval
        return names

    def reached(self, broker: str) -> None:
        """The detector got through."""
        if broker in self._faults:
            self._faults[broker].is_reachable = True

    def forget(self, broker: str) -> None:
        """It is in no route any more."""
        self._faults.pop(broker, None)

    def choose(
        self, info: PublishInfo, last_broker: str | None, now: int, restart: Callable[[], int] | None = None
    ) -> MessageQueue | None:
        """The queue to send to next; `last_broker` is the one that has just failed. With `restart`, which
        gives a number, turns go on elsewhere when grading, so that retries spread."""
        if last_broker is None and not self._is_grading:
            return info.choose()

        def is_other(queue: MessageQueue) -> bool:
            return queue.broker_name != last_broker

        if not self._is_grading:
            return info.choose(is_other) or info.choose()
        if restart is not None:
            info.restart(restart())
        return (
            info.choose(lambda queue: self.is_available(queue.broker_name, now), is_other)
            or info.choose(lambda queue: self.is_reachable(queue.broker_name), is_other)
            or info.choose()
        )

    def _note(self, broker: str, latency: int, now: int, *, is_reachable: bool) -> None:
        if not self._is_grading:
            return
        fault = self._faults.setdefault(broker, _Fault())
        duration = avoided_for(latency)
        if duration:
            fault.available_from = max(fault.available_from, now + duration)
        fault.is_reachable = is_reachable
