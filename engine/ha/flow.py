"""How many bytes went over a connection in the last second, and how many more may in this one.

Standard: `FlowMonitor`, with haFlowControlEnable and maxHaTransferByteInSecond.
"""

from __future__ import annotations

_WINDOW_MILLIS = 1000


class Flow:
    """Counts bytes in windows of a second; `limit` is what one window may have, None for no limit."""

    def __init__(self, now: int, limit: int | None = None) -> None:
        self.limit = limit
        self._began = now
        self._count = 0
        self._last = 0

    def add(self, size: int, now: int) -> None:
        """Note that `size` bytes went."""
        self._turn(now)
        self._count += size

    def room(self, now: int) -> int | None:
        """How many bytes may still go in this window; None for any number."""
        if self.limit is None:
            return None
        self._turn(now)
        return max(0, self.limit - self._count)

    def per_second(self, now: int) -> int:
        """Bytes of the last whole window."""
        self._turn(now)
        return self._last

    def _turn(self, now: int) -> None:
        passed = (now - self._began) // _WINDOW_MILLIS
        if passed > 0:
            self._last = self._count if passed == 1 else 0
            self._count = 0
            self._began += passed * _WINDOW_MILLIS
