"""Queues of this broker that have record batches, and how safe a write to one of them is.

Partitions are queues of this broker: queues of static topics that moved are refused.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.store.results import PutResult, PutStatus
from mqgateway.engine.tables.kafka_configs import MIN_IN_SYNC, PREFIX
from mqgateway.engine.tables.topics import PERM_READ, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.flow_control import OVERLOAD
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.produce.put import FAILED, WAITING_FOR_FLUSH
from mqgateway.gateway.broker.static_topics.state import led_queue

T = TypeVar("T")
PUT_OK: Final = PutStatus.PUT_OK


class NotEnoughReplicas(OperationError):
    """Too few replicas are in sync; nothing was stored."""


class BatchTooLarge(OperationError):
    """A batch that the store or the queue cannot hold."""


class OffsetOutOfRange(OperationError):
    """An offset that is beyond the end of its queue, or is none."""


class Ends(NamedTuple):
    """Offsets of a queue: its first message, its end, and the end of committed records."""

    log_start: int
    high_watermark: int
    last_stable: int

    def of(self, is_committed: bool) -> int:
        """Return the end of what a reader may read."""
        return self.last_stable if is_committed else self.high_watermark


class BatchQueues:
    """Queues of one broker with record batches."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def ends(self, permit: Permit, topic: str, queue_id: int) -> Ends:
        """Return the ends of a queue. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        return self._ends(topic, self._readable(topic, queue_id))

    def is_in_log(self, permit: Permit, topic: str, queue_id: int, offset: int, begin: int) -> bool:
        """Return True if a log that begins at `begin` has a queue from an offset on, as this log has.

        Compacted parts, and ranges in an object store, are in no log. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.PULL)
        store, own = self._broker.store, self._readable(topic, queue_id)
        first = store.offset_at_position(topic, own, max(begin, store.min_physical_offset))
        return first <= offset <= store.max_offset(topic, own)

    def _logs_needed(self, config: TopicConfig) -> int:
        """Return how many logs must have a write of a topic before it is answered; 0 if it does not wait.

        Raises `OperationError` if it must not be made: too few replicas are in sync, or too many writes wait.
        """
        durability, least = self._broker.produce.durability, self._least_in_sync(config)
        if least <= 1 and not durability.is_awaited:
            return 0
        topic = config.topic_name
        if durability.is_full:
            raise self._broker.flow_control.refusal(WAITING_FOR_FLUSH, OVERLOAD, topic)
        if durability.lacks_replicas({}, least):
            in_sync = durability.replicas.in_sync()
            text = f"too few replicas are in sync: {in_sync} (min.insync.replicas of topic {topic}: {least})"
            raise NotEnoughReplicas(Reason.SYSTEM_ERROR, text)
        return least

    def _least_in_sync(self, config: TopicConfig) -> int:
        """Return how many replicas must be in sync: the topic's setting, or `minInSyncReplicas`."""
        text = config.attributes.get(PREFIX + MIN_IN_SYNC)
        return self._broker.store_options.min_in_sync_replicas if text is None else int(text)

    def _safe(self, result: PutResult, logs: int, outcome: T) -> T | Deferred[T]:
        """Return the outcome of a write once as many logs have it as `_logs_needed` returned."""
        if not logs:
            return self._gate.leave(outcome)
        waiting = self._broker.produce.durability.wait(result, logs)
        return self._gate.leave(waiting.addCallback(_waited, outcome))

    def _ends(self, topic: str, queue_id: int) -> Ends:
        store = self._broker.store
        end = store.max_offset(topic, queue_id)
        return Ends(store.min_offset(topic, queue_id), end, store.readable_end(topic, queue_id))

    def _readable(self, topic: str, queue_id: int, *, follows: bool = False) -> int:
        """Return this broker's number of a queue that may be read, of a slave by readers that were sent to it
        (`follows`), or by all with `slaveReadEnable`. Raises `OperationError`.
        """
        if self._broker.role.is_slave and not (follows or self._broker.options.slave_read_enable):
            raise OperationError(Reason.NOT_LEADER_FOR_QUEUE, "this broker is a slave that serves no reads")
        self._checked(topic, queue_id, PERM_READ)
        return self._own_queue(topic, queue_id)

    def _found(self, topic: str, queue_id: int) -> TopicConfig:
        config = self._broker.tables.topics.get(topic)
        if config is None or not 0 <= queue_id < max(config.read_queue_nums, config.write_queue_nums):
            raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic {topic} has no queue {queue_id}")
        return config

    def _checked(self, topic: str, queue_id: int, perm: int) -> TopicConfig:
        config = self._found(topic, queue_id)
        if not (config.perm & perm and self._broker.options.broker_permission & perm):
            raise OperationError(Reason.NO_PERMISSION, f"topic or broker do not permit this of topic {topic}")
        return config

    def _own_queue(self, topic: str, queue_id: int) -> int:
        """Return this broker's number of a queue. Raises `OperationError` for one that moved."""
        mappings = self._broker.tables.mappings
        queue = led_queue(mappings, topic, queue_id) if mappings.table else None
        if queue is None:
            return queue_id
        if not queue.is_plain:
            raise OperationError(
                Reason.ILLEGAL_OPERATION,
                f"queue {queue_id} of static topic {topic} has moved: Kafka clients cannot use it",
            )
        return queue.leader.queue_id


def _waited(status: PutStatus, outcome: T) -> T:
    """Return the outcome of a write that had to become safe. Raises `OperationError`."""
    if status is not PUT_OK:
        raise failure(status, "")
    return outcome


def failure(status: PutStatus, remark: str) -> OperationError:
    """Return the error of a write that was refused, or that did not become safe."""
    if status is PutStatus.MESSAGE_ILLEGAL:
        return BatchTooLarge(Reason.MESSAGE_ILLEGAL, remark)
    if status is PutStatus.PROPERTIES_SIZE_EXCEEDED:
        return OperationError(Reason.PROPERTIES_TOO_LARGE, remark)
    if status is PutStatus.SERVICE_NOT_AVAILABLE:
        return OperationError(Reason.SERVICE_NOT_AVAILABLE, remark)
    if status is PutStatus.SLAVE_NOT_AVAILABLE:
        return OperationError(Reason.SLAVE_NOT_AVAILABLE, "no slave has the batch")
    if status in (PutStatus.FLUSH_SLAVE_TIMEOUT, PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH):
        return OperationError(Reason.SLAVE_NOT_AVAILABLE, "too few replicas had the batch in time")
    if status is PutStatus.FLUSH_DISK_TIMEOUT:
        return OperationError(Reason.SYSTEM_BUSY, "the batch was not on disk in time")
    reason, text = FAILED.get(status, (Reason.SYSTEM_ERROR, remark))
    return OperationError(reason, text)
