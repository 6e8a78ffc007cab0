"""The groups of a coordinator, of all types, within limits.

Standard: `GroupMetadataManager.getOrMaybeCreateClassicGroup`, `getOrMaybeCreateConsumerGroup`,
`getOrMaybeCreateShareGroup`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.group import Group
from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.share_groups.group import ShareGroup

log = logging.getLogger(__name__)

AnyGroup = Group | ModernGroup | ShareGroup


class KafkaGroupTable:
    """Groups by id."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._groups: dict[str, AnyGroup] = {}
        self.tally = MemberTally()

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[AnyGroup]:
        return iter(tuple(self._groups.values()))

    def get(self, group_id: str) -> AnyGroup | None:
        """Return a group, None for an unknown one."""
        return self._groups.get(group_id)

    def classic(self, group_id: str) -> Group | None:
        """Return a classic group, None for an unknown one or one of another type."""
        group = self._groups.get(group_id)
        return group if isinstance(group, Group) else None

    def create(self, group_id: str, now: int) -> Group | None:
        """Create a classic group; None if there are as many groups as are allowed."""
        if not self._has_room_for_group(group_id):
            return None
        group = self._groups[group_id] = Group(group_id, now, self.tally)
        return group

    def create_consumer_group(self, group_id: str) -> ModernGroup | None:
        """Create a consumer group; None if there are as many groups as are allowed."""
        if not self._has_room_for_group(group_id):
            return None
        group = self._groups[group_id] = ModernGroup(group_id, self.tally)
        return group

    def create_share_group(self, group_id: str) -> ShareGroup | None:
        """Create a share group; None if there are as many groups as are allowed."""
        if not self._has_room_for_group(group_id):
            return None
        group = self._groups[group_id] = ShareGroup(group_id, self.tally)
        return group

    def find_or_create(self, group_id: str, now: int) -> AnyGroup | None:
        """Return a group, created as a classic one if there is none; None if there are as many as are
        allowed."""
        return self._groups.get(group_id) or self.create(group_id, now)

    def _has_room_for_group(self, group_id: str) -> bool:
        if len(self._groups) < self._settings.groups_max:
            return True
        log.warning("group %s is refused: there are %d groups already", group_id, len(self._groups))
        return False

    def put(self, group: AnyGroup) -> None:
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
