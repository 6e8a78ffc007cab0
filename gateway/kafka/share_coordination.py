"""The share partitions of one broker: their log, where they begin, and their time."""

from __future__ import annotations

import logging
import re
from typing import Final, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.message import KAFKA_SHARE_TOPIC
from mqgateway.gateway.broker.operations import Operations, TimedOffset, Use
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator.records_log import RecordsLog
from mqgateway.gateway.kafka.coordinator_queue import CoordinatorQueue
from mqgateway.gateway.kafka.coordinator_topic import CoordinatorTopic
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.partition import SharePartition
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.share_partitions.settings import BY_DURATION, EARLIEST
from mqgateway.gateway.kafka.share_partitions.table import ShareTable
from mqgateway.gateway.kafka.topics import Topic, Topics

log = logging.getLogger(__name__)

HOUR: Final = 3600 * 1000
_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d+))?S)?)?")
_PART_SECONDS: Final = (86400, 3600, 60, 1)


class ShareGroupNames(Protocol):
    """The share groups of a broker."""

    def settings(self, group: str) -> ShareGroupSettings:
        """Return the settings of a group, whether it exists or not."""
        ...

    def is_gone(self, group: str) -> bool:
        """Return True if it is known that there is no such share group."""
        ...


class ShareCoordination:
    """The share partitions of one broker."""

    def __init__(
        self,
        operations: Operations,
        topics: Topics,
        groups: ShareGroupNames,
        records: RecordsLog | None = None,
    ) -> None:
        options = operations.store_options
        self._operations = operations
        self._clock = operations.clock
        self._topics = topics
        self._groups = groups
        self._searches: dict[ShareKey, Deferred[None]] = {}
        self.table = ShareTable(
            operations.clock,
            _share_log(operations) if records is None else records,
            self,
            retention=lambda: options.file_reserved_time * HOUR,
        )
        self._coordinated = Coordinated(operations, self.table)
        self.tick()

    def tick(self) -> None:
        """Do what is due."""
        self._coordinated.tick()
        self.table.waiters.run(elapsed_millis(self._clock))

    def settings(self, group: str) -> ShareGroupSettings:
        """See `ShareGroupSource`."""
        return self._groups.settings(group)

    def is_gone(self, key: ShareKey) -> bool:
        """See `ShareGroupSource`."""
        return self._topics.by_id(key.topic_id) is None or self._groups.is_gone(key.group)

    def partition(self, key: ShareKey, topic: Topic) -> SharePartition | None:
        """Return a share partition, which begins where the settings of its group say if it is new.

        None if it cannot be used: share partitions are not read yet or too many, or its first offset is being
        searched. Raises `OperationError`.
        """
        known = self.table.get(key)
        if known is not None or key in self._searches or not self.table.is_loaded:
            return known
        reset = self.settings(key.group).auto_offset_reset
        batches, permit = self._operations.batches, self._operations.gate.internal(Use.PULL)
        ends = batches.ends(permit, topic.store_name, key.partition)
        if not reset.startswith(BY_DURATION):
            return self.table.begin(key, ends.log_start if reset == EARLIEST else ends.high_watermark)
        since = self._clock.millis() - duration_millis(reset.removeprefix(BY_DURATION))
        found = batches.at_time(permit, topic.store_name, key.partition, since)
        searching = self._searches[key] = found.addCallbacks(
            self._begin, self._not_found, callbackArgs=(key, ends.high_watermark), errbackArgs=(key,)
        )
        if searching.called:
            self._searches.pop(key, None)
        return self.table.get(key)

    def _begin(self, found: TimedOffset | None, key: ShareKey, end: int) -> None:
        self._searches.pop(key, None)
        if self.table.is_loaded:
            self.table.begin(key, end if found is None else found.offset)
            self.table.waiters.wake(key)

    def _not_found(self, failure: Failure, key: ShareKey) -> None:
        self._searches.pop(key, None)
        log.warning("the start of share partition %s was not found: %s", key, failure.getErrorMessage())


def duration_millis(text: str) -> int:
    """Return the ms of a duration of ISO 8601 in days, hours, minutes and seconds; 0 for another text."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return 0
    *parts, fraction = found.groups()
    seconds = sum(int(part or 0) * size for part, size in zip(parts, _PART_SECONDS, strict=True))
    return seconds * 1000 + int((fraction or "0").ljust(3, "0")[:3])


def _share_log(operations: Operations) -> RecordsLog:
    queue = CoordinatorQueue(operations, KAFKA_SHARE_TOPIC)
    return CoordinatorTopic(queue, operations.clock.millis, "share partitions")
