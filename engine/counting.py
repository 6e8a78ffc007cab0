"""By what is counted that the broker itself puts and gets, without a request.

Standard: what `PopReviveService` and `TransactionalMessageBridge` call of `BrokerStatsManager`.
"""

from typing import Protocol

from mqgateway.engine.meters import Meters


class Counting(Protocol):
    """Counts of what went in and out; sizes are those of records, in bytes.

    `meters` is None while nobody exports metrics.
    """

    meters: Meters | None

    def put(self, topic: str, messages: int, size: int) -> None:
        """Count one put of so many messages and bytes."""

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """Count one read that gave a group so many messages and bytes."""


class Uncounted:
    """Counts nothing."""

    meters: Meters | None = None

    def put(self, topic: str, messages: int, size: int) -> None:
        """Nothing is counted."""

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """Nothing is counted."""


UNCOUNTED = Uncounted()
