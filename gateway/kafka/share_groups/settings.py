"""Settings of a share group, and those that all of them have. Standard: `GroupConfig`, `ShareGroupConfig`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    """Settings of one group. Times in ms.

    `auto_offset_reset` is `latest`, `earliest` or `by_duration:` and a duration of ISO 8601.
    `dead_letter_topic` is empty for none; `copies_dead_letters` is true if dead letters have the records too.
    """

    session_timeout: int = 45_000
    heartbeat_interval: int = 5000
    assignment_interval: int = 1000
    record_lock_duration: int = 30_000
    delivery_count_limit: int = 5
    partition_max_record_locks: int = 2000
    auto_offset_reset: str = "latest"
    is_read_committed: bool = False
    can_renew: bool = True
    dead_letter_topic: str = ""
    copies_dead_letters: bool = False
