"""The queue of a coordinator's topic in the broker's store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.engine.record_batches.batches import Batch
from mqgateway.gateway.broker.operations import (
    Appended,
    OperationError,
    Operations,
    ReadBatches,
    ReadPosition,
    Reason,
    Use,
)
from mqgateway.gateway.kafka.coordinator_topic import CoordinatorTopic, NotReadable, Span
from mqgateway.gateway.kafka.creation import COORDINATOR_CONFIGS, new_topic
from mqgateway.gateway.runtime.outcomes import then

log = logging.getLogger(__name__)

QUEUE = 0
PARTITIONS = 1
"""Partitions of the topic, if there is only this broker's group."""
RELEASED_TOGETHER = 1000
"""Records that are released together, as each release writes a record to the log."""
READ_BYTES = 512 * 1024
"""Bytes that are read at a time."""
HOUR = 3600 * 1000


def make_topic(operations: Operations, topic: str) -> None:
    """Make the topic of a coordinator, unless it is there. Raises `OperationError`.

    It can be written to at once; name servers learn of it in their time. One of several broker groups is made
    at the controller (`CoordinatorTopics`), for all of them.
    """
    if operations.topics.get(topic) is not None:
        return
    if operations.peers is not None:
        raise OperationError(Reason.SERVICE_NOT_AVAILABLE, f"topic {topic} is not made yet")
    permit = operations.gate.internal(Use.ADMINISTER)
    operations.administration.put_topic(permit, new_topic(topic, PARTITIONS, COORDINATOR_CONFIGS))


class CoordinatorQueue:
    """See `coordinator_topic.BatchQueue`. The topic is made when it is first written to, if not before."""

    def __init__(self, operations: Operations, topic: str) -> None:
        self._operations = operations
        self._topic = topic

    def start(self) -> int:
        """See `BatchQueue`."""
        if self._operations.topics.get(self._topic) is None:
            return 0
        permit = self._operations.gate.internal(Use.PULL)
        return self._operations.batches.ends(permit, self._topic, QUEUE).log_start

    def append(self, batch: bytearray) -> Deferred[int] | int:
        """See `BatchQueue`."""
        operations = self._operations
        permit = operations.gate.internal(Use.SEND)
        make_topic(operations, self._topic)
        appended = operations.batches.append(
            permit, self._topic, QUEUE, Batch(memoryview(batch)), is_all=True
        )
        return then(appended, _base_offset)

    def read(self, offset: int) -> Sequence[Span] | Deferred[Sequence[Span]]:
        """See `BatchQueue`. What is not in memory is brought there by a worker."""
        permit = self._operations.gate.internal(Use.PULL)
        position = ReadPosition(self._topic, QUEUE, offset, READ_BYTES)
        found = self._operations.batches.fetch(permit, [position], 0, READ_BYTES, 0)
        return then(found, self._spans)

    def _spans(self, found: list[ReadBatches]) -> Sequence[Span]:
        [one] = found
        if one.error is not None:
            if one.error.reason is Reason.TOPIC_NOT_EXIST:
                return ()
            raise one.error
        if one.is_out_of_range and one.position.offset < one.ends.high_watermark:
            raise NotReadable(f"records before offset {one.ends.log_start} were removed meanwhile")
        if not one.spans and one.position.offset < one.ends.high_watermark > one.ends.last_stable:
            raise NotReadable("the last records are not on enough replicas yet")
        return one.spans

    def release(self, before: int) -> None:
        """See `BatchQueue`. A release that fails is made good by the next one, whose offset is later."""
        if before - self.start() < RELEASED_TOGETHER:
            return
        permit = self._operations.gate.internal(Use.DELETE_RECORDS)
        released = maybeDeferred(self._operations.batches.delete_before, permit, self._topic, QUEUE, before)
        released.addErrback(
            lambda failure: log.warning(
                "old records of %s are kept: %s", self._topic, failure.getErrorMessage()
            )
        )


def _base_offset(appended: Appended) -> int:
    return appended.base_offset


def coordinator_log(operations: Operations, topic: str, subject: str) -> CoordinatorTopic:
    """Return the log of a coordinator in a topic. `subject` says what its records are about."""
    return CoordinatorTopic(CoordinatorQueue(operations, topic), operations.clock.millis, subject)


def log_retention(operations: Operations) -> Callable[[], int]:
    """Return a function that returns for how long the log keeps its records, ms."""
    return lambda: operations.store_options.file_reserved_time * HOUR
