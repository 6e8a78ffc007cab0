"""Checks of the offsets that a request commits: what is wrong with one does not concern the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mqgateway.engine.steps import Steps, in_parts
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.call import KafkaCall
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.commits import SLICE, Commits, OffsetBatch
from mqgateway.gateway.kafka.coordinator.records import NEVER, Committed, OffsetKey
from mqgateway.gateway.kafka.rights import READING
from mqgateway.gateway.kafka.topics import Topic, Topics


def readable_topic(
    topics: Topics, call: KafkaCall, name: str, topic_id: bytes | None = None
) -> Topic | ErrorCode:
    """Return a topic that the client may read, or the reason why not. See `Topics.admitted`."""
    place = topics.admitted(call, Use.QUERY, READING, name, topic_id)
    return place if isinstance(place, ErrorCode) else place[0]


class PartitionOffset(Protocol):
    """The offset of a partition, in a request of any API that commits offsets."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


class TopicOffsets(Protocol):
    """Offsets of a topic."""

    @property
    def partitions(self) -> Sequence[PartitionOffset]:
        """The offsets."""
        ...


class CheckedOffsets:
    """Error codes of the offsets of a request, by topic and partition. `batch` has the offsets without one.

    `now` is the time of the commit, ms; `expires` is `NEVER` or the time at which its offsets expire.
    """

    def __init__(
        self, commits: Commits, group_id: str, batch: OffsetBatch, now: int, expires: int = NEVER
    ) -> None:
        self.batch = batch
        self.errors: list[list[ErrorCode]] = []
        self._commits = commits
        self._group_id = group_id
        self._now = now
        self._expires = expires
        self._checked: list[tuple[int, int, ErrorCode]] = []

    @property
    def has_any(self) -> bool:
        """True if there are offsets of partitions that exist and that the client may read."""
        return bool(self._checked)

    def check(
        self,
        wanted: Sequence[TopicOffsets],
        topics: Sequence[Topic | ErrorCode],
        refused: ErrorCode = ErrorCode.NONE,
    ) -> Steps[None]:
        """Check some offsets at a time; with `refused` none gets into the batch."""
        self.errors = [[] for _ in topics]
        places = [(row, partition) for row, one in enumerate(wanted) for partition in one.partitions]
        for part in in_parts(places, SLICE):
            for row, partition in part:
                self._check(row, partition, topics[row], refused)
            yield

    def _check(
        self, row: int, partition: PartitionOffset, topic: Topic | ErrorCode, refused: ErrorCode
    ) -> None:
        errors = self.errors[row]
        if isinstance(topic, ErrorCode):
            errors.append(topic)
        elif not 0 <= partition.partition_index < topic.partitions:
            errors.append(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            code = refused or self._add(topic, partition)
            self._checked.append((row, len(errors), code))
            errors.append(code)

    def _add(self, topic: Topic, partition: PartitionOffset) -> ErrorCode:
        """Add the offset of a partition, or return what is wrong with it."""
        offset, metadata = partition.committed_offset, partition.committed_metadata
        if self._commits.is_too_large(metadata):
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        if offset < 0:
            return ErrorCode.INVALID_REQUEST
        key = OffsetKey(self._group_id, topic.name, partition.partition_index)
        epoch = partition.committed_leader_epoch
        self.batch.add(key, Committed(offset, epoch, metadata or "", self._now, self._expires, topic.id))
        return ErrorCode.NONE

    def settle(self, error: ErrorCode, *, is_general: bool) -> None:
        """Give the offsets of the batch the code with which they ended; a general error is that of all
        offsets that were checked."""
        for row, column, code in self._checked:
            self.errors[row][column] = code if code and not is_general else error
