"""Settings of a consumer group, and those that all of them have. Standard: `GroupConfig`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """Settings of one group. Times in ms."""

    session_timeout: int = 45_000
    heartbeat_interval: int = 5000
    assignment_interval: int = 1000
