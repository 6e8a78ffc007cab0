"""Limits of the tables that clients grow, and how records are delivered that fail again and again.

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


def delivered_together(count: int, size: int, limit: int) -> int:
    """Return how many of `size` records are delivered together that were delivered `count` times."""
    least = throttled_from(limit)
    if count < least:
        return size
    if limit > 2 and count >= limit - 1:
        return 1
    return max(1, size >> (count - least + 1))
