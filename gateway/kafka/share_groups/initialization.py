"""Partitions that share groups may assign: those of which a group has a start offset, or will find one.

A new topic of a group starts where the group's settings say, when its partitions are fetched first.
Partitions that are added to a topic later start at offset 0, so that no record is left out. Standard:
`GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog, TopicInfo
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionStates

log = logging.getLogger(__name__)

AT_ONCE: Final = 50
"""Added partitions that one heartbeat initializes."""


class Initialization:
    """Initialization of the partitions of one coordinator's groups.

    `partitions` returns their states. A group has `partitions_max` at most.
    """

    def __init__(
        self,
        catalog: TopicCatalog,
        partitions: Callable[[], SharePartitionStates],
        writer: GroupWriter[ShareGroup],
        partitions_max: int,
    ) -> None:
        self._catalog = catalog
        self._partitions = partitions
        self._writer = writer
        self._partitions_max = partitions_max
        self._in_flight: set[tuple[str, bytes, int]] = set()

    def update(self, group: ShareGroup) -> bool:
        """Initialize partitions of subscribed topics; return True if that changed which may be assigned."""
        has_changed = self._forget_deleted(group)
        room = self._partitions_max - sum(len(one.partitions) for one in group.initialized.values())
        for name, topic in group.topics.items():
            known = group.initialized.get(topic.id)
            count = topic.partitions - (0 if known is None else len(known.partitions))
            if count <= 0:
                continue
            if count > room:
                log.warning("group %s has too many partitions: those of %s are left out", group.id, name)
                continue
            room -= count
            if known is None:
                group.initialize(topic.id, name, range(topic.partitions))
                has_changed = True
            else:
                has_changed |= self._add(group, name, topic, known.partitions)
        return has_changed

    def release(self, group_id: str, member_id: str) -> None:
        """Free the records of a member that is no longer in its group."""
        self._partitions().release(group_id, member_id)

    def _forget_deleted(self, group: ShareGroup) -> bool:
        """Forget topics that are no more; return True if there were any."""
        if group.initialized_version == self._catalog.version:
            return False
        group.initialized_version = self._catalog.version
        deleted = [
            topic_id
            for topic_id, one in group.initialized.items()
            if (topic := self._catalog.topic(one.name)) is None or topic.id != topic_id
        ]
        for topic_id in deleted:
            group.forget_topic(topic_id)
        return bool(deleted)

    def _add(self, group: ShareGroup, name: str, topic: TopicInfo, known: set[int]) -> bool:
        """Let partitions of a known topic start at offset 0; return True if any does so at once."""
        added = [index for index in range(topic.partitions) if index not in known]
        for index in added[:AT_ONCE]:
            place = group.id, topic.id, index
            if place in self._in_flight:
                continue
            self._in_flight.add(place)
            outcome = self._partitions().alter(*place, 0)
            if outcome is None:
                self._done(None, group, name, place)
            else:
                self._await(outcome, group, name, place)
        return not known.isdisjoint(added)

    def _await(
        self, outcome: Deferred[None], group: ShareGroup, name: str, place: tuple[str, bytes, int]
    ) -> None:
        def end(result: Failure | None) -> None:
            if self._done(result, group, name, place):
                group.bump()
                self._writer.write_later(group)

        outcome.addBoth(end)

    def _done(
        self, result: Failure | None, group: ShareGroup, name: str, place: tuple[str, bytes, int]
    ) -> bool:
        """Note the end of an initialization; return True if it has changed the group."""
        self._in_flight.discard(place)
        if isinstance(result, Failure):
            log.warning("a partition of group %s is not initialized: %s", group.id, result.getErrorMessage())
            return False
        _, topic_id, index = place
        if topic_id not in group.initialized:
            return False
        group.initialize(topic_id, name, (index,))
        return True

    def clear(self) -> None:
        """Forget what is in flight."""
        self._in_flight.clear()
