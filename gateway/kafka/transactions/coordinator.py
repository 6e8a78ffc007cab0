"""The coordinator of transactions: requests, time, and what survives a restart.

An answered InitProducerId, AddPartitionsToTxn or EndTxn is a record that is as durable as the broker's flush
and replication settings demand. From the record of a prepared transaction on its outcome is decided: whatever
ends the broker, the next start reads it and writes the markers that are missing. A transaction that was open
stays open, and is aborted once its timeout has passed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Set
from itertools import islice
from typing import Any, Final

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.commits import Runner
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records, RecordsLog
from mqgateway.gateway.kafka.transactions import rules
from mqgateway.gateway.kafka.transactions.completion import MarkerWriter, TxnCompletion
from mqgateway.gateway.kafka.transactions.records import read_id, read_status, txn_key, txn_value
from mqgateway.gateway.kafka.transactions.rules import EndRequest, TxnRefused
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition, TxnState, TxnStatus
from mqgateway.gateway.kafka.transactions.table import TxnEntry, TxnTable, WaitingPartitions

log = logging.getLogger(__name__)

LOAD_STEP: Final = 200
"""Records that are read from the log at a time."""
TICK_STEPS: Final = 100
"""Ids that a tick looks after."""
WAIT_MILLIS: Final = 100
"""Time for which partitions wait for the end of the transaction before theirs, as in Kafka
(`add.partitions.to.txn.retry.backoff.max.ms`); a tick more may pass."""


class TxnCoordinator:
    """Transactional ids and their transactions. `new_id` returns a producer id that no producer has.

    `retention` returns for how long the log keeps its records, ms. `run_steps` runs cooperative tasks one
    after another. Requests are refused with `TxnRefused`, which is raised or the failure of the Deferred.
    """

    def __init__(
        self,
        settings: TxnSettings,
        clock: Clock,
        records: RecordsLog,
        markers: MarkerWriter,
        *,
        new_id: Callable[[], int],
        retention: Callable[[], int],
        run_steps: Runner[None],
    ) -> None:
        self.is_loaded = False
        self.table = TxnTable(settings)
        self._settings = settings
        self._clock = clock
        self._new_id = new_id
        self._retention = retention
        self._journal = RecordJournal(records, "transactional ids")
        self._completion = TxnCompletion(markers, run_steps, self._complete)
        self._works: dict[str, Iterator[None]] = {}
        self._held: dict[str, TxnEntry] = {}
        now = elapsed_millis(clock)
        self._timeout_due = now + settings.timeout_interval
        self._expiry_due = now + settings.expiry_interval

    # Start and end

    def unload(self) -> None:
        """Forget all ids: this broker does not coordinate them, or has to read them again."""
        self.is_loaded = False
        for entry in tuple(self._held.values()):
            waiting, entry.waiting = entry.waiting, []
            for one in waiting:
                one.done.errback(TxnRefused(ErrorCode.NOT_COORDINATOR))
        self._held.clear()
        self.table.clear()
        self._completion.clear()
        self._works.clear()
        self._journal.abandon(NotWritten(ErrorCode.NOT_COORDINATOR, "this broker is not the coordinator"))

    def load(self) -> Iterator[bool]:
        """Read the log in steps; yield True if nothing can be done at once, because the log is not there yet.

        Before it is read, requests are refused. Prepared transactions are completed after it.
        """
        for number, record in enumerate(self._journal.load()):
            if record is None:
                yield True
                continue
            try:
                self._replay(*record)
            except CodecError as error:
                log.warning("a record of a transaction is skipped: %s", error)
            if number % LOAD_STEP == LOAD_STEP - 1:
                yield False
        self.is_loaded = True
        log.info("%d transactional ids were read", len(self.table))
        for entry in tuple(self.table.prepared.values()):
            self._completion.start(entry)
            yield False

    def _replay(self, key: bytes, value: bytes | None) -> None:
        transactional_id = read_id(key)
        if transactional_id is None:
            return
        if value is None:
            self.table.discard(transactional_id)
        else:
            self.table.restore(transactional_id, read_status(value))

    # Requests

    def init(
        self, transactional_id: str, timeout: int, expected: ProducerEpoch | None
    ) -> Deferred[ProducerEpoch]:
        """Return the producer with which a client begins; it ends that of all earlier clients of the id.

        `expected` is what the client has been, None if it is new. An open transaction is aborted, and the
        client has to ask again.
        """
        try:
            return self._init(transactional_id, timeout, expected)
        except TxnRefused as error:
            return fail(error)

    def _init(
        self, transactional_id: str, timeout: int, expected: ProducerEpoch | None
    ) -> Deferred[ProducerEpoch]:
        self._check_loaded()
        id_bytes = len(transactional_id.encode("utf-8", "replace"))
        if not 0 < id_bytes <= self._settings.id_bytes_max:
            raise TxnRefused(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout <= self._settings.timeout_max:
            raise TxnRefused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        entry = self.table.get(transactional_id)
        if entry is None:
            entry = self.table.add(transactional_id)
            first = rules.first_status(self._new_id(), timeout, self._clock.millis())
            return self._write(entry, first).addCallback(rules.answer_of)
        status = self._idle_status(entry)
        after = rules.initialized(status, expected, timeout, self._clock.millis(), self._new_id)
        return self._write(entry, after).addCallback(_initialized)

    def add_partitions(
        self, transactional_id: str, producer: ProducerEpoch, partitions: Set[TopicPartition], version: int
    ) -> Deferred[None]:
        """Add partitions to the producer's transaction, which begins with the first ones.

        Requests that come while one adds others wait for it, and are written together. Those that come
        before the last transaction is complete wait for that for a while.
        """
        try:
            entry = self._entry(transactional_id)
            if not entry.is_adding and not entry.is_ending:
                return self._add(entry, producer, partitions, version)
        except TxnRefused as error:
            return fail(error)
        due = elapsed_millis(self._clock) + WAIT_MILLIS
        waiting = WaitingPartitions(producer, partitions, version, due, Deferred())
        entry.waiting.append(waiting)
        if entry.is_ending:
            self._held[entry.id] = entry
        return waiting.done

    def _add(
        self, entry: TxnEntry, producer: ProducerEpoch, partitions: Set[TopicPartition], version: int
    ) -> Deferred[None]:
        status = self._idle_status(entry)
        after = rules.with_partitions(status, producer, partitions, version, self._clock.millis())
        if after is status:
            return succeed(None)
        self.table.check_room(entry, after)
        return self._write(entry, after, is_adding=True).addCallback(lambda _: None)

    def _add_waiting(self, entry: TxnEntry) -> None:
        """Add the partitions that wait for a record that has been written, or was refused."""
        if entry.is_ending:
            return
        self._held.pop(entry.id, None)
        waiting, entry.waiting = entry.waiting, []
        together: dict[tuple[ProducerEpoch, int], list[WaitingPartitions]] = {}
        for one in waiting:
            together.setdefault((one.producer, one.version), []).append(one)
        for (producer, version), requests in together.items():
            partitions: set[TopicPartition] = set()
            for one in requests:
                partitions |= one.partitions
            added = self.add_partitions(entry.id, producer, partitions, version)
            added.addBoth(_end_all, requests)

    def _refuse_waiting(self, now: int) -> None:
        """Refuse the partitions that have waited long enough for the end of a transaction."""
        for entry in tuple(self._held.values()):
            late = [one for one in entry.waiting if one.due <= now]
            entry.waiting = [one for one in entry.waiting if one.due > now]
            if not entry.waiting:
                del self._held[entry.id]
            for one in late:
                one.done.errback(TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS))

    def check_member(self, transactional_id: str, producer: ProducerEpoch, partition: TopicPartition) -> None:
        """Check that a partition is in the producer's open transaction."""
        entry = self._entry(transactional_id)
        if entry.status is None:
            raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
        rules.check_member(entry.status, producer, partition)

    def end(self, transactional_id: str, request: EndRequest) -> Deferred[ProducerEpoch]:
        """Decide the outcome of a transaction; return the producer with which the client continues.

        The markers are written after that.
        """
        try:
            entry = self._entry(transactional_id)
            status = entry.status
            if status is None:
                raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
            after = rules.prepared(status, request, entry.is_busy, self._clock.millis(), self._new_id)
        except TxnRefused as error:
            return fail(error)
        if after is status:
            return succeed(status.producer)
        return self._write(entry, after).addCallback(rules.answer_of)

    def _check_loaded(self) -> None:
        if not self.is_loaded:
            raise TxnRefused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def _entry(self, transactional_id: str) -> TxnEntry:
        self._check_loaded()
        if not transactional_id:
            raise TxnRefused(ErrorCode.INVALID_REQUEST)
        entry = self.table.get(transactional_id)
        if entry is None:
            raise TxnRefused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return entry

    def _idle_status(self, entry: TxnEntry) -> TxnStatus:
        if entry.status is None or entry.is_busy:
            raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
        return entry.status

    # Records

    def _write(self, entry: TxnEntry, status: TxnStatus, *, is_adding: bool = False) -> Deferred[TxnStatus]:
        """Write the record of a status, which counts once it is durable."""
        records = Records([(txn_key(entry.id), txn_value(status))])
        if records.is_too_large:
            return fail(TxnRefused(ErrorCode.POLICY_VIOLATION, "the partitions do not fit into a record"))
        entry.is_writing = True
        entry.is_adding = is_adding
        written: Deferred[Any] = self._journal.write(records, self._clock.millis())
        written.addCallbacks(
            self._written, self._not_written, callbackArgs=(entry, status), errbackArgs=(entry,)
        )
        return written

    def _written(self, _: None, entry: TxnEntry, status: TxnStatus) -> TxnStatus:
        entry.is_writing = entry.is_adding = False
        self.table.put(entry, status)
        if status.state.is_prepared:
            self._completion.start(entry)
        self._add_waiting(entry)
        return status

    def _not_written(self, failure: Failure, entry: TxnEntry) -> None:
        """Refuse a request whose record may be in the log or not; a later record decides."""
        entry.is_writing = entry.is_adding = False
        if entry.status is None and self.table.get(entry.id) is entry:
            self.table.discard(entry.id)
        self._add_waiting(entry)
        error = failure.value
        if not isinstance(error, NotWritten):
            failure.raiseException()
        raise TxnRefused(error.code, str(error)) from error

    def _complete(self, entry: TxnEntry) -> Deferred[None]:
        """End a transaction whose markers are written."""
        assert entry.status is not None
        after = rules.completed(entry.status, self._clock.millis())
        return self._write(entry, after).addCallback(lambda _: None)

    # Time

    def tick(self) -> None:
        """Do what is due."""
        if not self.is_loaded:
            return
        now = elapsed_millis(self._clock)
        self._completion.retry()
        self._refuse_waiting(now)
        self._journal.refresh(self._clock.millis(), self._retention() // 2)
        if now >= self._timeout_due:
            self._timeout_due = now + self._settings.timeout_interval
            self._works.setdefault("timeouts", self._abort_timed_out())
        if now >= self._expiry_due:
            self._expiry_due = now + self._settings.expiry_interval
            self._works.setdefault("expiry", self._expire())
        for name, work in tuple(self._works.items()):
            if sum(1 for _ in islice(work, TICK_STEPS)) < TICK_STEPS:
                self._works.pop(name, None)

    def _abort_timed_out(self) -> Iterator[None]:
        """Abort the transactions that are open for too long; their producers are fenced."""
        now = self._clock.millis()
        for entry in tuple(self.table.open.values()):
            status = entry.status
            if status is not None and not entry.is_busy and rules.is_timed_out(status, now):
                log.info("the transaction of %r is aborted after %d ms", entry.id, status.timeout)
                self._write(entry, rules.fenced(status, now)).addErrback(_log_refused, entry.id)
            yield

    def _expire(self) -> Iterator[None]:
        """Forget the ids that have not been used for long."""
        now = self._clock.millis()
        for entry in self.table:
            status = entry.status
            if (
                status is not None
                and not entry.is_busy
                and rules.is_expired(status, now, self._settings.id_retention)
            ):
                self._forget(entry)
            yield

    def _forget(self, entry: TxnEntry) -> None:
        entry.is_writing = True
        written: Deferred[Any] = self._journal.write(
            Records([(txn_key(entry.id), None)]), self._clock.millis()
        )
        written.addCallbacks(self._forgotten, self._not_written, callbackArgs=(entry,), errbackArgs=(entry,))
        written.addErrback(_log_refused, entry.id)

    def _forgotten(self, _: None, entry: TxnEntry) -> None:
        if self.table.get(entry.id) is entry:
            self.table.discard(entry.id)


def _initialized(status: TxnStatus) -> ProducerEpoch:
    """Return the producer of an id, unless its open transaction was aborted first."""
    if status.state is not TxnState.EMPTY:
        raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
    return status.producer


def _end_all(outcome: Failure | None, requests: list[WaitingPartitions]) -> None:
    for one in requests:
        if isinstance(outcome, Failure):
            one.done.errback(outcome)
        else:
            one.done.callback(None)


def _log_refused(failure: Failure, transactional_id: str) -> None:
    log.warning("the record of %r is not written: %s", transactional_id, failure.getErrorMessage())
