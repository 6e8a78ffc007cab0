"""Rate of a connection in bytes per second, and its limit.

RocketMQ: `FlowMonitor`, with haFlowControlEnable and maxHaTransferByteInSecond.
"""

from __future__ import annotations

_WINDOW_MILLIS = 1000


class Flow:
    """Counts bytes in windows of a second; `limit` is the maximum of one window, None for no limit."""

    def __init__(self, now: int, limit: int | None = None) -> None:
        self.limit = limit
        self._began = now
        self._count = 0
        self._last = 0

    def add(self, size: int, now: int) -> None:
        """Count transferred bytes."""
        self._turn(now)
        self._count += size

    def room(self, now: int) -> int | None:
        """Return the bytes that may still be sent in this window; None for any number."""
        if self.limit is None:
            return None
        self._turn(now)
        return max(0, self.limit - self._count)

    def per_second(self, now: int) -> int:
        """Return the bytes of the last whole window."""
        self._turn(now)
        return self._last

    def _turn(self, now: int) -> None:
        passed = (now - self._began) // _WINDOW_MILLIS
        if passed > 0:
            self._last = self._count if passed == 1 else 0
            self._count = 0
            self._began += passed * _WINDOW_MILLIS
