"""Counters for puts and gets of the broker itself, without a request.

RocketMQ: the calls of `PopReviveService` and `TransactionalMessageBridge` to `BrokerStatsManager`.
"""

from typing import Protocol

from mqgateway.engine.meters import Meters


class Counting(Protocol):
    """Counts messages put and read; sizes are those of records, in bytes.

    `meters` is None if no metrics are exported.
    """

    meters: Meters | None

    def put(self, topic: str, messages: int, size: int) -> None:
        """Count one put of messages and bytes."""

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """Count one read of messages and bytes by a group."""


class Uncounted:
    """Counts nothing."""

    meters: Meters | None = None

    def put(self, topic: str, messages: int, size: int) -> None:
        """Do nothing."""

    def got(self, group: str, topic: str, messages: int, size: int) -> None:
        """Do nothing."""


UNCOUNTED = Uncounted()
