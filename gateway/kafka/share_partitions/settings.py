"""Settings of the state of share groups, and limits of the tables that clients grow.

Standard: `ShareGroupConfig`, `ShareCoordinatorConfig`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SESSIONS_MAX: Final = 2000
"""Share sessions of a broker (`group.share.max.share.sessions`)."""
SESSION_PARTITIONS_MAX: Final = 2000
"""Partitions of one session: a request looks at all of them at once."""
ALL_SESSION_PARTITIONS_MAX: Final = 200_000
"""Partitions of all sessions together."""
PARTITIONS_MAX: Final = 100_000
"""Share partitions of a broker."""


LATEST: Final = "latest"
EARLIEST: Final = "earliest"
BY_DURATION: Final = "by_duration:"


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """Settings of a group that the delivery of records needs. Times in ms.

    `deliveries_max` is `share.delivery.count.limit`, `locks_max` is `share.partition.max.record.locks`,
    `offset_reset` is `share.auto.offset.reset`, `can_renew` is `share.renew.acknowledge.enable`.
    """

    deliveries_max: int = 5
    locks_max: int = 2000
    lock_duration: int = 30_000
    offset_reset: str = LATEST
    is_read_committed: bool = False
    can_renew: bool = True

    @property
    def throttled_from(self) -> int:
        """The delivery count from which on records are delivered in ever smaller numbers.

        So one that cannot be processed is soon delivered alone.
        """
        return max(2, (self.deliveries_max + 1) // 2)

    def together(self, count: int, size: int) -> int:
        """Return how many of `size` records are delivered together that were delivered `count` times."""
        if count < self.throttled_from:
            return size
        if self.deliveries_max > 2 and count >= self.deliveries_max - 1:
            return 1
        return max(1, size >> (count - self.throttled_from + 1))
