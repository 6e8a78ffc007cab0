"""Timeouts of groups, and limits of the tables that clients grow. Standard: `GroupCoordinatorConfig`.

Apache Kafka has no limit of groups, of members that are pending, and of what members send.
"""

from __future__ import annotations

from dataclasses import dataclass

DAY = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Settings of the coordinator. Times in ms.

    `max_size` limits the members of a group, and those that asked for an id. `members_max` and
    `member_bytes_max` limit all members together, and what they sent of themselves. The members of a group
    whose partitions the broker assigns subscribe to `group_partitions_max` topics and partitions at most, by
    `group_regexes_max` regular expressions. The topics of a regular expression are searched again
    `regex_refresh_interval` after topics have changed. `share_max_size` limits the members of a share group.
    """

    min_session_timeout: int = 6000
    max_session_timeout: int = 1_800_000
    initial_rebalance_delay: int = 3000
    new_member_timeout: int = 300_000
    max_size: int = 10_000
    groups_max: int = 100_000
    members_max: int = 100_000
    protocols_max: int = 100
    metadata_max: int = 1024**2
    member_bytes_max: int = 256 * 1024**2

    group_partitions_max: int = 10_000
    group_regexes_max: int = 50
    regex_refresh_interval: int = 10_000
    share_max_size: int = 200
    offset_metadata_max: int = 4096
    offsets_max: int = 1_000_000
    offsets_retention: int = 7 * DAY
    expiry_interval: int = 600_000
