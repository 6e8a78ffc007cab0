"""Fault avoidance: brokers to avoid, and for how long; no I/O, times in ms.

Without `sendLatencyEnable`, only the broker that has just failed is avoided. With it, the latency of every
send grades its broker:

| latency at least (ms) | 50 | 100 | 550  | 1800 | 3000 | 5000  | 15000 |
|-----------------------|----|-----|------|------|------|-------|-------|
| avoided for (ms)      | 0  | 0   | 2000 | 5000 | 6000 | 10000 | 30000 |

A failed connection counts as 10 s. A queue is chosen on an available broker other than the one that failed,
else on a reachable one, else on any, so that one is always found. A detector can probe unreachable brokers.

RocketMQ: `MQFaultStrategy`, `LatencyFaultToleranceImpl`.
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
"""Pairs of minimum latency and resulting avoidance time, in ms."""
ISOLATED_LATENCY: Final = 10_000
"""Latency assumed for a failed connection, in ms."""


def avoided_for(latency: int) -> int:
    """Return how long a broker with a latency is avoided; both in ms."""
    return next((duration for least, duration in GRADES if latency >= least), 0)


class _Fault:
    __slots__ = ("available_from", "check_at", "is_reachable")

    def __init__(self) -> None:
        self.available_from = 0
        self.check_at = 0
        self.is_reachable = True


class FaultTable:
    """Faults by broker name. `is_grading` is `sendLatencyEnable`, `is_detecting` is `startDetectorEnable`."""

    def __init__(self, *, is_grading: bool, is_detecting: bool = False, detect_interval: int = 2_000) -> None:
        self._is_grading = is_grading
        self._is_detecting = is_detecting
        self._detect_interval = detect_interval
        self._faults: dict[str, _Fault] = {}

    def succeeded(self, broker: str, latency: int, now: int) -> None:
        """Record an answer, or a failure that was not the broker's."""
        self._note(broker, latency, now, is_reachable=True)

    def refused(self, broker: str, now: int) -> None:
        """Record that the broker refused a request."""
        self._note(broker, ISOLATED_LATENCY, now, is_reachable=False)

    def failed(self, broker: str, now: int) -> None:
        """Record that no answer arrived. The broker is unreachable only if a detector will probe it again."""
        self._note(broker, ISOLATED_LATENCY, now, is_reachable=not self._is_detecting)

    def is_available(self, broker: str, now: int) -> bool:
        """Return True if the broker is not avoided."""
        fault = self._faults.get(broker)
        return fault is None or now >= fault.available_from

    def is_reachable(self, broker: str) -> bool:
        """Return True unless the broker is recorded as unreachable."""
        fault = self._faults.get(broker)
        return fault is None or fault.is_reachable

    def due(self, now: int) -> list[str]:
        """Return the brokers to probe now and schedule their next probe."""
        if not self._is_detecting:
            return []
        names = [name for name, fault in self._faults.items() if now >= fault.check_at]
        for name in names:
            self._faults[name].check_at = now + self._detect_interval
        return names

    def reached(self, broker: str) -> None:
        """Record a successful probe."""
        if broker in self._faults:
            self._faults[broker].is_reachable = True

    def forget(self, broker: str) -> None:
        """Remove a broker that is no longer in any route."""
        self._faults.pop(broker, None)

    def choose(
        self, info: PublishInfo, last_broker: str | None, now: int, restart: Callable[[], int] | None = None
    ) -> MessageQueue | None:
        """Return the queue to send to next; `last_broker` is the one that has just failed.

        When grading, `restart` returns a new start for the round-robin order, so that retries spread.
        """
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
