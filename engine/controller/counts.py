"""Metrics of a controller: elections, and proposed changes.

RocketMQ: `ControllerMetricsManager`.
"""

from __future__ import annotations

from mqgateway.engine.meters import Counter, Histogram

MICROS_BOUNDS = (
    *(1, 3, 5, 10, 30, 50, 100, 300, 500, 1000, 3000, 5000),
    *(10_000, 30_000, 50_000, 100_000, 300_000, 500_000),
    *(1_000_000, 3_000_000, 5_000_000, 10_000_000),
)
"""Microseconds of a request, or of a change until it is agreed."""

NEW_MASTER, SAME_MASTER, NO_MASTER = "new_master_elected", "keep_current_master", "no_master_elected"
AGREED, FAILED = "success", "failed"
_FEW = 10


class ControllerCounts:
    """Counters, each named like its metric."""

    def __init__(self) -> None:
        self.elections = Counter(_FEW)
        self.changes = Counter(_FEW)
        self.change_times = Histogram(MICROS_BOUNDS, _FEW)

    def changed(self, seconds: float, is_agreed: bool) -> None:
        """Count a change, agreed or failed, with its duration in seconds."""
        self.changes.add((AGREED if is_agreed else FAILED,))
        self.change_times.record((), int(seconds * 1_000_000))
