"""Limits of the tables that clients grow, and the delivery counts from which on deliveries are limited.

Standard: `ShareGroupConfig`, `SharePartition`.
"""

from __future__ import annotations

from typing import Final

SESSION_PARTITIONS_MAX: Final = 2000
"""Partitions of one session: a request looks at all of them at once."""
ALL_SESSION_PARTITIONS_MAX: Final = 200_000
"""Partitions of all sessions together."""
PARTITIONS_MAX: Final = 100_000
"""Share partitions of a broker."""
EARLIEST: Final = "earliest"
BY_DURATION: Final = "by_duration:"
"""Values of `share.auto.offset.reset`; a duration follows the second one. The third value is `latest`."""


def throttled_from(limit: int) -> int:
    """Return the delivery count from which on records are delivered in ever smaller numbers.

    So one that cannot be processed is soon delivered alone. `limit` is `share.delivery.count.limit`.
    """
    return max(2, (limit + 1) // 2)


def is_last_attempt(deliveries: int, limit: int) -> bool:
    """Return True if a record that was delivered so often is delivered for the last time, and so alone."""
    return limit > 2 and deliveries >= limit - 1
