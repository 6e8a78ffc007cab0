"""The latency of calls, by method and status. RocketMQ's proxy has no such metric."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from mqgateway.engine.meters import LATENCY_BOUNDS, Distribution, Histogram
from mqgateway.gateway.grpc.call import Status

WAITING: Final = ("ReceiveMessage", "PullMessage")
"""Methods that may wait for messages."""
SUCCESS: Final = "success"
CANCELLED: Final = "cancelled"


class CallTimes:
    """Records calls as `metrics.rpc` records requests; the response codes are gRPC's statuses."""

    def __init__(self, latency: Histogram) -> None:
        self._latency = latency
        self._known: dict[tuple[str, Status], Distribution] = {}

    def noted(self, path: str, status: Status, seconds: float) -> None:
        """Record the end of a call; the path is empty if there is no such method."""
        distribution = self._known.get((path, status)) or self._distribution_of(path, status)
        millis = int(seconds * 1000)
        distribution.counts[bisect_left(LATENCY_BOUNDS, millis)] += 1
        distribution.sum += millis

    def _distribution_of(self, path: str, status: Status) -> Distribution:
        method = path.rpartition("/")[2]
        result = CANCELLED if status is Status.CANCELLED else SUCCESS
        name = "_".join(re.findall("[A-Z][^A-Z]*", method)).lower()
        labels = (name or "unknown", status.name.lower(), str(method in WAITING).lower(), result)
        distribution = self._known[path, status] = self._latency.of(labels)
        return distribution
