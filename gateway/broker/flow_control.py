"""Requests refused because of overload: counted by cause, logged and reported.

No request is refused for having waited: requests are answered in order of arrival, and backpressure of its
connection slows a client that sends faster than it is answered. Every other limit reports its refusals here:
one line in the log when a cause begins to refuse and one a minute while it lasts, with the number of
refusals. The counts are in the broker's figures (request 28) and in its statistics. RocketMQ:
`BrokerFastFailure` and `NettyRemotingAbstract`, for codes and texts.
"""

import logging

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.stats import BrokerStats

log = logging.getLogger(__name__)

OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
REPORT_MILLIS = 60_000


class FlowControl:
    """Refusals by cause. `totals` are the counts since the start."""

    def __init__(self, clock: Clock, stats: BrokerStats) -> None:
        self._clock = clock
        self._stats = stats
        self._reported: dict[str, tuple[int, int]] = {}
        self.totals: dict[str, int] = {}

    def refusal(self, cause: str, remark: str, details: object = "") -> OperationError:
        """Count a refusal and return the error to raise: SYSTEM_BUSY with RocketMQ's text.

        `cause` is one of a few words; `details` is for the log.
        """
        self.count(cause, details)
        return OperationError(Reason.SYSTEM_BUSY, remark)

    def count(self, cause: str, details: object = "") -> None:
        """Count a request that the caller refuses."""
        total = self.totals[cause] = self.totals.get(cause, 0) + 1
        self._stats.refused(cause)
        now = elapsed_millis(self._clock)
        reported = self._reported.get(cause)
        if reported is None or now - reported[0] >= REPORT_MILLIS:
            since = total - (0 if reported is None else reported[1])
            self._reported[cause] = now, total
            log.warning("flow control, %s: %d requests refused, the last for %s", cause, since, details)
