"""The groups of a coordinator, within limits.

Standard: `GroupMetadataManager.getOrMaybeCreateClassicGroup`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.gateway.kafka.coordinator.group import Group, MemberTally
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings

log = logging.getLogger(__name__)


class KafkaGroupTable:
    """Groups by id."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._groups: dict[str, Group] = {}
        self.tally = MemberTally()

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(tuple(self._groups.values()))

    def get(self, group_id: str) -> Group | None:
        """Return a group, None for an unknown one."""
        return self._groups.get(group_id)

    def find_or_create(self, group_id: str, now: int) -> Group | None:
        """Return a group, created if there is none; None if there are as many as are allowed."""
        group = self._groups.get(group_id)
        if group is None:
            if len(self._groups) >= self._settings.groups_max:
                log.warning("group %s is refused: there are %d groups already", group_id, len(self._groups))
                return None
            group = self._groups[group_id] = Group(group_id, now, self.tally)
        return group

    def put(self, group: Group) -> None:
        """Put a group that was read from the log in the place of one of its name."""
        self.discard(group.id)
        self._groups[group.id] = group

    def discard(self, group_id: str) -> None:
        """Remove a group, if there is one."""
        group = self._groups.pop(group_id, None)
        if group is not None:
            group.clear()

    def clear(self) -> None:
        """Remove all groups."""
        for group_id in tuple(self._groups):
            self.discard(group_id)

    def has_room(self, size: int) -> bool:
        """Return True if one more member may be added, who sent `size` bytes."""
        settings, tally = self._settings, self.tally
        if tally.members < settings.members_max and tally.bytes + size <= settings.member_bytes_max:
            return True
        log.warning(
            "a member is refused: all groups have %d members, which sent %d bytes", tally.members, tally.bytes
        )
        return False
