"""Record batches of Kafka: appended to queues, and read from several queues at once.

Topics that Kafka's clients made keep a batch whole; in any other topic each of its records becomes a message.
Reads return batches of both. Partitions are queues of this broker: queues of static topics that moved are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.message import (
    PROPERTY_CLUSTER,
    PROPERTY_KAFKA_PRODUCER,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_UNIQ_KEY,
    Message,
)
from mqgateway.engine.names import SEND_FORBIDDEN_TOPICS
from mqgateway.engine.producers.batch import of_header
from mqgateway.engine.producers.state import BatchRefusal, Duplicate, ProducerFigures
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import messages_of
from mqgateway.engine.record_batches.ordinary import OrdinaryBatch
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.results import GetStatus, PutResult, PutStatus
from mqgateway.engine.store.whole_batches import Span
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.kafka_configs import MIN_IN_SYNC, PREFIX, kafka_config
from mqgateway.engine.tables.retention import deletes_by_age
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import ROUNDS, once_brought, reading
from mqgateway.gateway.broker.consume.long_polling import HeldFetch
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.flow_control import OVERLOAD
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner
from mqgateway.gateway.broker.operations.time_search import FirstAt, Latest, SearchRange, TimedOffset
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.produce.send import FAILED, WAITING_FOR_FLUSH
from mqgateway.gateway.broker.static_topics.state import led_queue

LEADER_EPOCH: Final = 0
FETCH_GROUP: Final = "KAFKA_FETCH"
"""The group under which statistics count reads: a request of Kafka's names none."""
T = TypeVar("T")

BUILT_MAX: Final = 2048
"""Messages that become batches for one request, as building them takes long."""
READ_AT_ONCE: Final = 64
"""Queues that a request reads at once; more of them are read as a cooperative task."""
_PUT_OK: Final = PutStatus.PUT_OK


class NotEnoughReplicas(OperationError):
    """Too few replicas are in sync; nothing was stored."""


class BatchTooLarge(OperationError):
    """A batch that the store or the queue cannot hold."""


class OffsetOutOfRange(OperationError):
    """An offset that is beyond the end of its queue, or is none."""


class OutOfOrder(OperationError):
    """A batch of an idempotent producer that does not follow its last one; nothing was stored."""


class OldEpoch(OperationError):
    """A batch of an idempotent producer that has a newer epoch; nothing was stored."""


class Appended(NamedTuple):
    """The place of a batch that was appended.

    `log_append_time` is -1: records keep the times of their producer.
    """

    base_offset: int
    log_append_time: int
    log_start_offset: int


class Ends(NamedTuple):
    """Offsets of a queue: its first message, its end, and the end of what may be read."""

    log_start: int
    high_watermark: int
    last_stable: int


NO_ENDS: Final = Ends(-1, -1, -1)
TO_END: Final = -1
"""Stands for the end of what may be read, of a queue whose messages are deleted."""


class ReadPosition(NamedTuple):
    """A queue offset to read from, and the bytes to read."""

    topic: str
    queue_id: int
    offset: int
    max_bytes: int


@dataclass(slots=True)
class ReadBatches:
    """Batches that were read of a queue. `error` is None unless it cannot be read.

    Spans that are borrowed, views of the log's memory, must be used or copied before the caller returns to
    the event loop.
    """

    position: ReadPosition
    ends: Ends = NO_ENDS
    spans: list[Span] = field(default_factory=list)
    size: int = 0
    error: OperationError | None = None
    is_out_of_range: bool = False


class _Read:
    """A read of several queues, as far as it got; `bytes_left` and `built_left` are for the other queues."""

    __slots__ = ("built_left", "bytes_left", "found", "group", "max_bytes", "may_borrow", "positions")

    def __init__(self, positions: Sequence[ReadPosition], max_bytes: int, group: str) -> None:
        self.positions = positions
        self.may_borrow = False
        self.max_bytes = self.bytes_left = max_bytes
        self.built_left = BUILT_MAX
        self.group = group
        self.found: list[ReadBatches] = []


class BatchOperations:
    """Record batches of one broker."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        self._broker = broker
        self._gate = gate
        self._runner = runner

    def append(
        self, permit: Permit, topic: str, queue_id: int, batch: Batch | OrdinaryBatch, *, is_all: bool
    ) -> Appended | Deferred[Appended]:
        """Append a batch that the caller has checked; with `is_all` the outcome waits until the batch is as
        safe as the broker's settings ask for. Raises `OperationError` and `CodecError`."""
        self._gate.enter(permit, Use.SEND)
        config = self._checked(topic, queue_id, PERM_WRITE)
        if topic in SEND_FORBIDDEN_TOPICS and not permit.is_internal:
            raise OperationError(Reason.NO_PERMISSION, f"sending to topic {topic} is forbidden")
        queue_id = self._own_queue(topic, queue_id)
        logs = self._logs_needed(config) if is_all else 0
        known = self._known(topic, queue_id, batch)
        result = self._put(permit, config, queue_id, batch) if known is None else known
        if result.status is not _PUT_OK:
            raise _failure(result.status, result.remark)
        if known is None:
            self._broker.stats.put(topic, result.count, result.end_offset - result.physical_offset, {})
        appended = Appended(result.queue_offset, -1, self._broker.store.min_offset(topic, queue_id))
        return self._safe(result, logs, appended)

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

    def _known(self, topic: str, queue_id: int, batch: Batch | OrdinaryBatch) -> PutResult | None:
        """Return where an idempotent producer's batch is if the queue has it. Raises `OperationError`."""
        producer = None if batch.producer_id < 0 else of_header(batch.data)
        if producer is None:
            return None
        verdict = self._broker.store.producers.check(topic, queue_id, producer)
        if verdict is None:
            return None
        if verdict is BatchRefusal.OUT_OF_ORDER:
            raise OutOfOrder(
                Reason.ILLEGAL_OPERATION,
                f"Out of order sequence number for producer {producer.producer_id} in queue {queue_id} of "
                f"topic {topic}: {producer.first_sequence}",
            )
        if verdict is BatchRefusal.OLD_EPOCH:
            raise OldEpoch(
                Reason.ILLEGAL_OPERATION,
                f"Epoch {producer.epoch} of producer {producer.producer_id} is older than its last one",
            )
        assert isinstance(verdict, Duplicate)
        end = verdict.stored.end
        return PutResult(_PUT_OK, queue_offset=verdict.base_offset, physical_offset=end, end_offset=end)

    def _put(
        self, permit: Permit, config: TopicConfig, queue_id: int, batch: Batch | OrdinaryBatch
    ) -> PutResult:
        broker, topic = self._broker, config.topic_name
        limit = broker.store_options.max_message_size
        if len(batch.data) > limit or batch.count > BATCH_COUNT_MAX:
            raise BatchTooLarge(
                Reason.MESSAGE_ILLEGAL,
                f"the batch has {len(batch.data)} bytes and {batch.count} records; at most {limit} bytes "
                f"(maxMessageSize) and {BATCH_COUNT_MAX} records are allowed",
            )
        host, store_host = permit.connection.host_bytes, broker.store_host
        if config.attributes.get(MESSAGE_FORMAT) == KAFKA_FORMAT:
            born = permit.now if batch.max_timestamp < 0 else batch.max_timestamp
            message = Message(topic, queue_id, b"", {}, born, host, store_host)
            return broker.store.batches.put(message, batch.data, batch.count, LEADER_EPOCH)
        options = broker.options
        added = {
            PROPERTY_MSG_REGION: options.region_id,
            PROPERTY_TRACE_SWITCH: "true" if options.trace_on else "false",
            PROPERTY_CLUSTER: options.broker_cluster_name,
        }
        messages: list[Message] = []
        whole = batch if isinstance(batch, Batch) else Batch(batch.data)
        for one in messages_of(whole, permit.now):
            unique = {PROPERTY_UNIQ_KEY: broker.produce.unique_keys.next(permit.now)}
            properties = {**one.properties, **added, **unique}
            messages.append(
                Message(topic, queue_id, one.body, properties, one.born_timestamp, host, store_host)
            )
        if not messages:
            raise CodecError("the batch has no records")
        producer = of_header(batch.data)
        if producer is not None:
            messages[-1].properties[PROPERTY_KAFKA_PRODUCER] = producer.text
        return broker.store.batches.put_messages(messages)

    def fetch(
        self,
        permit: Permit,
        positions: Sequence[ReadPosition],
        min_bytes: int,
        max_bytes: int,
        max_wait: int,
        *,
        group: str = FETCH_GROUP,
        may_borrow: bool = False,
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Return batches of several queues, or wait up to `max_wait` ms until there are `min_bytes` of them.

        Queues are read in their order. The first batch of a queue is given whole even if it is larger than
        the limit of the queue; no queue is read once `max_bytes` are reached. An error in a queue, or an
        offset out of its range, is answered at once. Cancel the Deferred to end the wait. With `may_borrow`
        spans of a list may be borrowed; those of a Deferred never are.
        """
        self._gate.enter(permit, Use.PULL)
        outcome = self._begin(permit, positions, max_bytes, group, may_borrow)
        limits = positions, min_bytes, max_bytes, max_wait, group
        if isinstance(outcome, Deferred):
            return outcome.addCallback(self._answer, permit, *limits)
        return self._answer(outcome, permit, *limits)

    def _begin(
        self, permit: Permit, positions: Sequence[ReadPosition], max_bytes: int, group: str, may_borrow: bool
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Read queues; many of them as a cooperative task."""
        read = _Read(positions, max_bytes, group)

        def attempt_at_once(rounds: int) -> list[ReadBatches]:
            read.may_borrow = may_borrow and rounds == ROUNDS  # later attempts have a Deferred
            return run(self._steps(read, may_wait=not rounds))

        if len(positions) <= READ_AT_ONCE:
            return reading(self._broker, attempt_at_once)
        lane = f"fetch {permit.connection.address}"

        def attempt(rounds: int) -> Deferred[list[ReadBatches]]:
            return self._runner.run(lane, steps(rounds))

        def steps(rounds: int) -> Steps[list[ReadBatches] | Deferred[list[ReadBatches]]]:
            try:
                return (yield from self._steps(read, may_wait=not rounds))
            except ColdRead as cold:
                return once_brought(self._broker, cold, attempt, rounds - 1)

        return attempt(ROUNDS)

    def _steps(self, read: _Read, *, may_wait: bool) -> Steps[list[ReadBatches]]:
        """Read the queues that were not read yet. Raises `ColdRead`."""
        for part in in_parts(read.positions[len(read.found) :]):
            for position in part:
                read.found.append(self._read(read, position, may_wait=may_wait))
            yield
        return read.found

    def _answer(
        self,
        found: list[ReadBatches],
        permit: Permit,
        positions: Sequence[ReadPosition],
        min_bytes: int,
        max_bytes: int,
        max_wait: int,
        group: str,
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Return what was read, or wait if it is less than the reader wants."""
        size = 0
        for one in found:
            if one.error is not None or one.is_out_of_range:
                return found
            size += one.size
        if max_wait <= 0 or not found or size >= min_bytes:
            return found
        return self._park(permit, positions, min_bytes, max_bytes, max_wait, group) or found

    def _park(
        self,
        permit: Permit,
        positions: Sequence[ReadPosition],
        min_bytes: int,
        max_bytes: int,
        max_wait: int,
        group: str,
    ) -> Deferred[list[ReadBatches]] | None:
        """Park a request; None if there is no room, and it must be answered now."""
        broker = self._broker
        waiting: Deferred[list[ReadBatches]] = Deferred(lambda _: broker.consume.held_pulls.forget(held))

        def resume() -> None:
            try:
                outcome = self._begin(permit, positions, max_bytes, group, False)
            except Exception:
                waiting.errback()
                return
            if isinstance(outcome, Deferred):
                outcome.addBoth(lambda result: None if waiting.called else waiting.callback(result))
            else:
                waiting.callback(outcome)

        places = {(one.topic, self._own_queue(one.topic, one.queue_id)): one.offset for one in positions}
        deadline = elapsed_millis(broker.clock) + max_wait
        bytes_from = broker.store.readable_bytes
        held = HeldFetch(permit.connection, places, min_bytes, bytes_from, deadline, resume)
        return waiting if broker.consume.held_pulls.hold(held) else None

    def _read(self, read: _Read, position: ReadPosition, *, may_wait: bool) -> ReadBatches:
        """Read one queue. Raises `ColdRead` as long as nothing was read of others."""
        one = ReadBatches(position)
        try:
            queue_id = self._readable(position.topic, position.queue_id)
            one.ends = ends = self._ends(position.topic, queue_id)
            if not ends.log_start <= position.offset <= ends.high_watermark:
                one.is_out_of_range = True
            elif position.offset < ends.last_stable and read.bytes_left > 0:
                result = self._broker.store.batches.get(
                    position.topic,
                    queue_id,
                    position.offset,
                    min(position.max_bytes, read.bytes_left),
                    most_built=read.built_left,
                    leader_epoch=LEADER_EPOCH,
                    may_wait=may_wait,
                    may_borrow=read.may_borrow,
                )
                one.is_out_of_range = result.status is GetStatus.OFFSET_TOO_SMALL
                one.spans, one.size = result.spans, result.size
                read.bytes_left -= result.size
                read.built_left -= result.built
                if result.spans:
                    self._broker.stats.got(read.group, position.topic, result.count, result.size)
        except OperationError as error:
            one.error = error
        except ColdRead as cold:
            if read.bytes_left == read.max_bytes:
                raise
            self._broker.store.bring(cold, lambda: None)  # for the next request
        return one

    def ends(self, permit: Permit, topic: str, queue_id: int) -> Ends:
        """Return the ends of a queue. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        return self._ends(topic, self._readable(topic, queue_id))

    def delete_before(self, permit: Permit, topic: str, queue_id: int, offset: int) -> int | Deferred[int]:
        """Delete the messages of a queue before an offset, or all with `TO_END`.

        Return where the queue begins then, once that is as safe as the broker's settings ask for. Compacted
        topics are left alone, except by the broker itself. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.DELETE_RECORDS)
        config = self._found(topic, queue_id)
        if not permit.is_internal and not deletes_by_age(config):
            raise OperationError(Reason.NO_PERMISSION, f"topic {topic} is compacted: its keys decide")
        own = self._own_queue(topic, queue_id)
        end = self._broker.store.readable_end(topic, own)
        start = end if offset == TO_END else offset
        if not 0 <= start <= end:
            text = f"offset {offset} is not between 0 and {end}, the end of queue {queue_id} of topic {topic}"
            raise OffsetOutOfRange(Reason.INVALID_PARAMETER, text)
        return self._move_start(config, own, start)

    def _move_start(self, config: TopicConfig, queue_id: int, start: int) -> int | Deferred[int]:
        store, topic = self._broker.store, config.topic_name
        logs = self._logs_needed(config)
        result = store.move_start(topic, queue_id, start)
        start = max(start, store.min_offset(topic, queue_id))
        if result is None:
            return start
        if result.status is not _PUT_OK:
            raise _failure(result.status, result.remark)
        return self._safe(result, logs, start)

    def producers(self, permit: Permit, topic: str) -> Mapping[int, list[ProducerFigures]]:
        """Return the idempotent producers of each queue of a topic that has any."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.store.producers.figures(topic)

    def at_time(
        self, permit: Permit, topic: str, queue_id: int, timestamp: int
    ) -> Deferred[TimedOffset | None]:
        """Return the first record whose timestamp is `timestamp` (ms) or later, None if there is none.

        See `time_search` for the cost, and for the records that are not found. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        where = self._range(permit, topic, queue_id)
        return FirstAt(self._broker, self._runner, where, timestamp).run()

    def latest_time(self, permit: Permit, topic: str, queue_id: int) -> Deferred[TimedOffset | None]:
        """Return the first of the records with the largest timestamp, None if no record has a timestamp.

        See `time_search` for the cost, and for the records that are not found. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        return Latest(self._broker, self._runner, self._range(permit, topic, queue_id)).run()

    def _range(self, permit: Permit, topic: str, queue_id: int) -> SearchRange:
        own = self._readable(topic, queue_id)
        config = self._broker.tables.topics.get(topic)
        assert config is not None
        ends = self._ends(topic, own)
        lead = int(kafka_config(config.attributes, "message.timestamp.after.max.ms"))
        return SearchRange(permit.connection, topic, own, ends.log_start, ends.last_stable, lead)

    def _ends(self, topic: str, queue_id: int) -> Ends:
        store = self._broker.store
        end = store.max_offset(topic, queue_id)
        return Ends(store.min_offset(topic, queue_id), end, store.readable_end(topic, queue_id))

    def _readable(self, topic: str, queue_id: int) -> int:
        """Return this broker's number of a queue that may be read. Raises `OperationError`."""
        if self._broker.role.is_slave and not self._broker.options.slave_read_enable:
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
    if status is not _PUT_OK:
        raise _failure(status, "")
    return outcome


def _failure(status: PutStatus, remark: str) -> OperationError:
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
