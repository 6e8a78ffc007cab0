"""The share partitions of one broker: their log, where they begin, and their time."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.message import KAFKA_SHARE_TOPIC
from mqgateway.gateway.broker.operations import OperationError, Operations, TimedOffset, Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, RecordsLog
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.coordinator_queue import coordinator_log, log_retention
from mqgateway.gateway.kafka.dead_letters import DeadLetterWriter
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionOffset
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import DeadLetters
from mqgateway.gateway.kafka.share_partitions.partition import SharePartition
from mqgateway.gateway.kafka.share_partitions.records import LEADER_EPOCH, ShareKey
from mqgateway.gateway.kafka.share_partitions.sessions import MemberKey
from mqgateway.gateway.kafka.share_partitions.settings import BY_DURATION, EARLIEST
from mqgateway.gateway.kafka.share_partitions.table import ShareTable, log_not_written
from mqgateway.gateway.kafka.topics import Topic, Topics

log = logging.getLogger(__name__)

_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d+))?S)?)?")
_PART_SECONDS: Final = (86400, 3600, 60, 1)
_NOT_LOADED: Final = NotWritten(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "share partitions are being read")


class ShareCoordination:
    """The share partitions of one broker. `coordinator` has its share groups.

    It is their `SharePartitionStates` too.
    """

    def __init__(
        self,
        operations: Operations,
        topics: Topics,
        coordinator: Coordinator,
        records: RecordsLog | None = None,
    ) -> None:
        self._operations = operations
        self._clock = operations.clock
        self._topics = topics
        self._coordinator = coordinator
        self._searches: dict[ShareKey, Deferred[None]] = {}
        self._dead_letters = DeadLetterWriter(operations, topics, self.settings)
        self.table = ShareTable(
            operations.clock,
            coordinator_log(operations, KAFKA_SHARE_TOPIC, "share partitions")
            if records is None
            else records,
            self,
            retention=log_retention(operations),
            max_sessions=operations.options.kafka_group_share_max_share_sessions,
        )
        partitions = CoordinatorPartitions(operations, topics.everywhere, KAFKA_SHARE_TOPIC)
        self._coordinated = Coordinated(operations, self.table, partitions.coordinates)
        coordinator.shares.attach(self)
        self.tick()

    def tick(self) -> None:
        """Do what is due."""
        self._coordinated.tick()
        self._dead_letters.tick()
        self.table.waiters.run(elapsed_millis(self._clock))

    def stop(self) -> None:
        """Answer the fetches that wait: the broker stops, and nothing is due any more."""
        self.table.waiters.close()

    def settings(self, group: str) -> ShareGroupSettings:
        """See `ShareGroupSource`."""
        return self._coordinator.shares.settings(group)

    def is_gone(self, key: ShareKey) -> bool:
        """See `ShareGroupSource`."""
        coordinator = self._coordinator
        has_no_group = coordinator.is_loaded and not coordinator.shares.is_share_group(key.group)
        return has_no_group or self._topics.by_id(key.topic_id) is None

    def write_dead_letters(self, key: ShareKey, letters: Sequence[DeadLetters]) -> Deferred[None]:
        """See `ShareGroupSource`."""
        return self._dead_letters.write(key, letters)

    # The states of share groups

    def describe(self, group_id: str) -> dict[TopicPartition, SharePartitionOffset]:
        """See `SharePartitionStates`."""
        return {(key.topic_id, key.partition): self._offset(key) for key in self.table.of_group(group_id)}

    def _offset(self, key: ShareKey) -> SharePartitionOffset:
        state, topic = self.table.get(key), self._topics.by_id(key.topic_id)
        assert state is not None
        lag = None
        if topic is not None:
            with suppress(OperationError):
                permit = self._operations.gate.internal(Use.PULL)
                ends = self._operations.batches.ends(permit, topic.store_name, key.partition)
                lag = max(0, ends.high_watermark - state.start - state.done)
        return SharePartitionOffset(state.start, LEADER_EPOCH, lag)

    def alter(self, group_id: str, topic_id: bytes, partition: int, start_offset: int) -> Deferred[None]:
        """See `SharePartitionStates`."""
        if not self.table.is_loaded:
            return fail(_NOT_LOADED)
        return self.table.set_start(ShareKey(group_id, topic_id, partition), start_offset)

    def delete(self, group_id: str, topic_id: bytes | None) -> Deferred[None]:
        """See `SharePartitionStates`."""
        if not self.table.is_loaded:
            return fail(_NOT_LOADED)
        keys = self.table.of_group(group_id)
        return self.table.discard(key for key in keys if topic_id in (None, key.topic_id))

    def release(self, group_id: str, member_id: str) -> None:
        """See `SharePartitionStates`."""
        self.table.close_session(MemberKey(group_id, member_id)).addErrback(log_not_written)

    # Share partitions

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
