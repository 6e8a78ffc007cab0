"""Copies of queues of batches, for partitions that move between broker groups.

A copy has the batches of its queue at the same offsets, with the same epochs and bytes. So the state of
idempotent producers and of transactions, which is a function of the log, is the same.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.message import Message
from mqgateway.engine.record_batches.batches import batches
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.retention import deletes_by_age, policies
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.batch_fences import BatchFences
from mqgateway.gateway.broker.operations.batch_queues import PUT_OK, Ends, failure
from mqgateway.gateway.broker.operations.gate import Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.runtime.outcomes import as_deferred


class NotCopied(OperationError):
    """A queue, or a part of one, that cannot be copied."""


class CopiedPart(NamedTuple):
    """Batches of a queue, one after the other, and its ends when they were read."""

    ends: Ends
    data: bytes


class BatchCopies(BatchFences):
    """Copies from and to the queues of one broker."""

    def read_part(
        self, permit: Permit, topic: str, queue_id: int, offset: int, max_bytes: int
    ) -> Deferred[CopiedPart]:
        """Return batches of a queue from an offset on: at least one, if there is any, else as many as
        `max_bytes` allow.

        Fails with `NotCopied` for a queue that has something else than whole batches in its log, and for an
        offset after its end; with other `OperationError`.
        """
        self._gate.enter(permit, Use.PULL)
        config, own = self._found(topic, queue_id), self._own_queue(topic, queue_id)
        problem = copy_problem(config)
        if problem is None and self._broker.clients.groups_subscribed_to(topic):
            problem = f"topic {topic} has consumers that are RocketMQ clients: its partitions cannot move"
        ends, store = self._ends(topic, own), self._broker.store
        begin = max(offset, ends.log_start)
        if problem is None and begin > ends.high_watermark:
            problem = f"queue {queue_id} of topic {topic} ends at {ends.high_watermark}, not at {offset}"
        if problem is None and begin < store.offset_at_position(topic, own, store.min_physical_offset):
            problem = f"topic {topic} has messages that are in an object store only"
        if problem is not None:
            raise NotCopied(Reason.ILLEGAL_OPERATION, problem)
        if begin == ends.high_watermark:
            return as_deferred(CopiedPart(ends, b""))
        attempt = partial(self._read_part, topic, own, begin, max_bytes, ends)
        return as_deferred(reading(self._broker, attempt))

    def _read_part(
        self, topic: str, queue_id: int, begin: int, max_bytes: int, ends: Ends, rounds: int
    ) -> CopiedPart:
        """Read batches; see `reading` for `rounds`. Raises `ColdRead`, `NotCopied`."""
        result = self._broker.store.batches.get(
            topic, queue_id, begin, max_bytes, may_wait=not rounds, uncommitted=True
        )
        if result.built:
            text = f"topic {topic} has messages of RocketMQ's producers: its partitions cannot move"
            raise NotCopied(Reason.ILLEGAL_OPERATION, text)
        return CopiedPart(ends, b"".join(result.spans))

    def append_part(self, permit: Permit, topic: str, queue_id: int, data: bytes) -> int:
        """Append batches that were read elsewhere to a queue that takes no others; return its end then.

        Raises `NotCopied` for bytes that are no such batches; other `OperationError`, also for batches that
        the queue has.
        """
        self._gate.enter(permit, Use.SEND)
        self._found(topic, queue_id)
        broker, end = self._broker, -1
        self._open.discard((topic, queue_id))  # the last one may be a fence
        try:
            for batch in batches(data):
                batch.check_crc()
                count = batch.last_offset_delta + 1
                born = permit.now if batch.max_timestamp < 0 else batch.max_timestamp
                message = Message(topic, queue_id, b"", {}, born, broker.store_host, broker.store_host)
                result = broker.store.batches.put_copy(message, batch.data, batch.base_offset, count)
                if result.status is not PUT_OK:
                    raise failure(result.status, result.remark)
                end = batch.base_offset + count
        except CodecError as error:
            raise NotCopied(Reason.MESSAGE_ILLEGAL, f"a batch of topic {topic}: {error}") from error
        return self._gate.leave(end)

    def settled(self, permit: Permit, topic: str, queue_id: int) -> Deferred[int]:
        """Return the end of a queue once all replicas in sync have it and it is on disk. Fails with
        `OperationError`."""
        self._gate.enter(permit, Use.SEND)
        return self._settled(topic, queue_id)


def copy_problem(config: TopicConfig) -> str | None:
    """Return why the queues of a topic cannot be copied, None if they can."""
    name = config.topic_name
    if config.attributes.get(MESSAGE_FORMAT) != KAFKA_FORMAT:
        return f"topic {name} was not made by a Kafka client: its partitions cannot move"
    if not deletes_by_age(config) or "compact" in policies(config.attributes):
        return f"topic {name} is compacted (cleanup.policy): its partitions cannot move"
    return None
