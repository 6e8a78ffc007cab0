"""Requests that are refused because there is too much to do: counted by cause, and reported with it.

Nothing is refused for having waited: requests are answered in the order they come, and who sends faster
than it is answered is slowed down by its own connection. What has a limit says so here: one line in the log
when a cause begins to refuse and one a minute while it lasts, with how many it refused; the counts are in
the figures of the broker (request 28) and in its statistics. Standard: `BrokerFastFailure` and
`NettyRemotingAbstract`, for codes and texts.
"""

import logging

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.stats import BrokerStats

log = logging.getLogger(__name__)

OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
REPORT_MILLIS = 60_000


class FlowControl:
    """Refusals by cause. `totals` are those since the start."""

    def __init__(self, clock: Clock, stats: BrokerStats) -> None:
        self._clock = clock
        self._stats = stats
        self._reported: dict[str, tuple[int, int]] = {}
        self.totals: dict[str, int] = {}

    def refusal(self, cause: str, remark: str, details: object = "") -> OperationError:
        """The error to raise: SYSTEM_BUSY with the standard's text.

        `cause` is one of a few words, `details` are for the log.
        """
        self.count(cause, details)
        return OperationError(Reason.SYSTEM_BUSY, remark)

    def count(self, cause: str, details: object = "") -> None:
        """Count a request that somebody else refuses."""
        total = self.totals[cause] = self.totals.get(cause, 0) + 1
        self._stats.refused(cause)
        now = elapsed_millis(self._clock)
        reported = self._reported.get(cause)
        if reported is None or now - reported[0] >= REPORT_MILLIS:
            since = total - (0 if reported is None else reported[1])
            self._reported[cause] = now, total
            log.warning("flow control, %s: %d requests refused, the last for %s", cause, since, details)
