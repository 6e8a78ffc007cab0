"""Record batches of Kafka: appended to queues, and read from several queues at once.

Topics that Kafka's clients made keep a batch whole; in any other topic each of its records becomes a message.
Reads return batches of both. Partitions are queues of this broker: queues of static topics that moved are
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

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
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import messages_of
from mqgateway.engine.record_batches.ordinary import OrdinaryBatch
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.results import GetStatus, PutResult
from mqgateway.engine.store.whole_batches import Span
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.engine.tables.kafka_configs import kafka_config
from mqgateway.engine.tables.retention import deletes_by_age
from mqgateway.engine.tables.topics import PERM_WRITE, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import ROUNDS, once_brought, reading
from mqgateway.gateway.broker.consume.long_polling import HeldFetch
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.batch_producers import BatchProducers, NotInTransaction
from mqgateway.gateway.broker.operations.batch_queues import (
    PUT_OK,
    BatchTooLarge,
    Ends,
    OffsetOutOfRange,
    failure,
)
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner
from mqgateway.gateway.broker.operations.replicas import ReplicaOperations
from mqgateway.gateway.broker.operations.time_search import FirstAt, Latest, SearchRange, TimedOffset
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.runtime.outcomes import resolve

FETCH_GROUP: Final = "KAFKA_FETCH"
"""The group under which statistics count reads: a request of Kafka's names none."""

BUILT_MAX: Final = 2048
"""Messages that become batches for one request, as building them takes long."""
READ_AT_ONCE: Final = 64
"""Queues that a request reads at once; more of them are read as a cooperative task."""


class Appended(NamedTuple):
    """The place of a batch that was appended.

    `log_append_time` is -1: records keep the times of their producer.
    """

    base_offset: int
    log_append_time: int
    log_start_offset: int


NO_ENDS: Final = Ends(-1, -1, -1)
TO_END: Final = -1
"""Stands for the end of a queue whose messages are deleted."""


class ReadPosition(NamedTuple):
    """A queue offset to read from, and the bytes to read."""

    topic: str
    queue_id: int
    offset: int
    max_bytes: int


@dataclass(slots=True)
class ReadBatches:
    """Batches that were read of a queue. `error` is None unless it cannot be read. `aborted` has the aborted
    transactions that may have batches among them, for a reader of committed records.

    The offset of a reader of a slave is ahead if the slave does not have it yet.

    Spans that are borrowed, views of the log's memory, must be used or copied before the caller returns to
    the event loop.
    """

    position: ReadPosition
    ends: Ends = NO_ENDS
    spans: list[Span] = field(default_factory=list)
    size: int = 0
    error: OperationError | None = None
    is_out_of_range: bool = False
    is_ahead: bool = False
    aborted: list[AbortedTransaction] = field(default_factory=list)


class _Fetch:
    """A request to read several queues; see `BatchOperations.fetch`."""

    __slots__ = (
        "follows",
        "group",
        "is_committed",
        "max_bytes",
        "max_wait",
        "min_bytes",
        "permit",
        "positions",
    )

    def __init__(
        self,
        permit: Permit,
        positions: Sequence[ReadPosition],
        min_bytes: int,
        max_bytes: int,
        max_wait: int,
        group: str,
        is_committed: bool,
        follows: bool,
    ) -> None:
        self.permit = permit
        self.positions = positions
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_wait = max_wait
        self.group = group
        self.is_committed = is_committed
        self.follows = follows


class _Read:
    """A read of several queues, as far as it got; `bytes_left` and `built_left` are for the other queues."""

    __slots__ = ("built_left", "bytes_left", "fetch", "found", "may_borrow")

    def __init__(self, fetch: _Fetch) -> None:
        self.fetch = fetch
        self.may_borrow = False
        self.bytes_left = fetch.max_bytes
        self.built_left = BUILT_MAX
        self.found: list[ReadBatches] = []


class BatchOperations(BatchProducers):
    """Record batches of one broker."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        super().__init__(broker, gate)
        self._runner = runner
        self._replicas = ReplicaOperations(broker)

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
        self._check_not_fenced(config, queue_id)
        logs = self._logs_needed(config) if is_all else 0
        known = self._known(topic, queue_id, batch)
        result = self._put(permit, config, queue_id, batch) if known is None else known
        if result.status is not PUT_OK:
            raise failure(result.status, result.remark)
        if known is None:
            size = result.end_offset - result.physical_offset
            self._broker.stats.put_batch(topic, result.count, size)
        appended = Appended(result.queue_offset, -1, self._broker.store.min_offset(topic, queue_id))
        return self._safe(result, logs, appended)

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
            epoch = self._epoch(config, queue_id)
            return broker.store.batches.put(message, batch.data, batch.count, epoch)
        if isinstance(batch, Batch) and batch.is_transactional:
            raise NotInTransaction(
                Reason.ILLEGAL_OPERATION,
                f"topic {topic} was not made by a Kafka client: it cannot have transactions of Kafka",
            )
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
        is_committed: bool = False,
        follows: bool = False,
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Return batches of several queues, or wait up to `max_wait` ms until there are `min_bytes` of them.

        Queues are read in their order. The first batch of a queue is given whole even if it is larger than
        the limit of the queue; no queue is read once `max_bytes` are reached. An error in a queue, or an
        offset out of its range, is answered at once. Cancel the Deferred to end the wait. With `may_borrow`
        spans of a list may be borrowed; those of a Deferred never are. With `is_committed` no queue is read
        past its last stable offset, and what was read names the transactions that were aborted. With
        `follows` the reader was sent to this slave: an offset that it does not have yet is waited for.
        """
        self._gate.enter(permit, Use.PULL)
        fetch = _Fetch(permit, positions, min_bytes, max_bytes, max_wait, group, is_committed, follows)
        outcome = self._begin(fetch, may_borrow)
        if isinstance(outcome, Deferred):
            return outcome.addCallback(self._answer, fetch)
        return self._answer(outcome, fetch)

    def _begin(self, fetch: _Fetch, may_borrow: bool) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Read queues; many of them as a cooperative task."""
        read = _Read(fetch)

        def attempt_at_once(rounds: int) -> list[ReadBatches]:
            read.may_borrow = may_borrow and rounds == ROUNDS  # later attempts have a Deferred
            return run(self._steps(read, may_wait=not rounds))

        if len(fetch.positions) <= READ_AT_ONCE:
            return reading(self._broker, attempt_at_once)
        lane = f"fetch {fetch.permit.connection.address}"

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
        for part in in_parts(read.fetch.positions[len(read.found) :]):
            for position in part:
                read.found.append(self._read(read, position, may_wait=may_wait))
            yield
        return read.found

    def _answer(
        self, found: list[ReadBatches], fetch: _Fetch
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Return what was read, or wait if it is less than the reader wants."""
        size = 0
        for one in found:
            if one.error is not None or one.is_out_of_range:
                return found
            size += one.size
        if fetch.max_wait <= 0 or not found or size >= fetch.min_bytes:
            return found
        return self._park(fetch) or found

    def _park(self, fetch: _Fetch) -> Deferred[list[ReadBatches]] | None:
        """Park a request; None if there is no room, and it must be answered now."""
        broker = self._broker
        waiting: Deferred[list[ReadBatches]] = Deferred(lambda _: broker.consume.held_pulls.forget(held))

        def resume() -> None:
            try:
                outcome = self._begin(fetch, False)
            except Exception:
                waiting.errback()
                return
            resolve(waiting, outcome)

        places = {
            (one.topic, self._own_queue(one.topic, one.queue_id)): one.offset for one in fetch.positions
        }
        deadline = elapsed_millis(broker.clock) + fetch.max_wait
        bytes_from = partial(broker.store.readable_bytes, uncommitted=not fetch.is_committed)
        held = HeldFetch(fetch.permit.connection, places, fetch.min_bytes, bytes_from, deadline, resume)
        return waiting if broker.consume.held_pulls.hold(held) else None

    def _read(self, read: _Read, position: ReadPosition, *, may_wait: bool) -> ReadBatches:
        """Read one queue. Raises `ColdRead` as long as nothing was read of others."""
        one, is_committed = ReadBatches(position), read.fetch.is_committed
        try:
            queue_id = self._readable(position.topic, position.queue_id, follows=read.fetch.follows)
            one.ends = ends = self._ends(position.topic, queue_id)
            if not ends.log_start <= position.offset <= ends.high_watermark:
                one.is_ahead = read.fetch.follows and position.offset > ends.high_watermark
                if not read.fetch.follows:
                    self._check_leads(position)
                one.is_out_of_range = not one.is_ahead
            elif position.offset < ends.of(is_committed) and read.bytes_left > 0:
                result = self._broker.store.batches.get(
                    position.topic,
                    queue_id,
                    position.offset,
                    min(position.max_bytes, read.bytes_left),
                    most_built=read.built_left,
                    leader_epoch=self._replicas.epoch_at(position.topic, queue_id, position.offset),
                    may_wait=may_wait,
                    may_borrow=read.may_borrow,
                    uncommitted=not is_committed,
                )
                if is_committed:
                    one.aborted = self._aborted(position, queue_id, result.next_offset)
                one.is_out_of_range = result.status is GetStatus.OFFSET_TOO_SMALL
                one.spans, one.size = result.spans, result.size
                read.bytes_left -= result.size
                read.built_left -= result.built
                if result.spans:
                    self._broker.stats.got(read.fetch.group, position.topic, result.count, result.size)
        except OperationError as error:
            one.error = error
        except ColdRead as cold:
            if read.bytes_left == read.fetch.max_bytes:
                raise
            self._broker.store.bring(cold, lambda: None)  # for the next request
        return one

    def _check_leads(self, position: ReadPosition) -> None:
        """Check that an offset which this broker does not have is one that no other broker has.

        A client that hears that it is out of range starts elsewhere. Raises `OperationError`.
        """
        if not self._broker.role.is_master:
            text = f"this broker is not the master, and does not have offset {position.offset}"
            raise OperationError(Reason.NOT_LEADER_FOR_QUEUE, text)

    def _aborted(self, position: ReadPosition, queue_id: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions of what was read from a position up to an offset."""
        return self._broker.store.transactions.aborted(position.topic, queue_id, position.offset, end)

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
        end = self._broker.store.max_offset(topic, own)
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
        if result.status is not PUT_OK:
            raise failure(result.status, result.remark)
        return self._safe(result, logs, start)

    def at_time(
        self, permit: Permit, topic: str, queue_id: int, timestamp: int, is_committed: bool = False
    ) -> Deferred[TimedOffset | None]:
        """Return the first record whose timestamp is `timestamp` (ms) or later, None if there is none.

        With `is_committed` it is looked for before the last stable offset.

        See `time_search` for the cost, and for the records that are not found. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        where = self._range(permit, topic, queue_id, is_committed)
        return FirstAt(self._broker, self._runner, where, timestamp).run()

    def latest_time(
        self, permit: Permit, topic: str, queue_id: int, is_committed: bool = False
    ) -> Deferred[TimedOffset | None]:
        """Return the first of the records with the largest timestamp, None if no record has a timestamp.

        With `is_committed` it is None if the record is not before the last stable offset.

        See `time_search` for the cost, and for the records that are not found. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        where = self._range(permit, topic, queue_id, False)
        found = Latest(self._broker, self._runner, where).run()
        if not is_committed:
            return found
        end = self._ends(topic, where.queue_id).last_stable
        return found.addCallback(lambda one: None if one is None or one.offset >= end else one)

    def _range(self, permit: Permit, topic: str, queue_id: int, is_committed: bool) -> SearchRange:
        own = self._readable(topic, queue_id)
        config = self._broker.tables.topics.get(topic)
        assert config is not None
        ends = self._ends(topic, own)
        lead = int(kafka_config(config.attributes, "message.timestamp.after.max.ms"))
        return SearchRange(permit.connection, topic, own, ends.log_start, ends.of(is_committed), lead)
