"""Offsets that are committed in transactions.

A pending offset is a record of its own kind in the log of groups and offsets. When its transaction is
complete, batches of records delete such offsets and, if the transaction is committed, record them as any
other commit does. So an offset of a transaction is as durable as other commits are: TxnOffsetCommit is
answered once the pending record is durable, and the transaction is complete only once those batches are.
After a restart pending and committed offsets are those of the log.

A later commit of the same partition without a transaction prevails over a pending offset, and deletes it.

Kafka: `OffsetMetadataManager`, where pending offsets are transactional batches, and markers end them. Here
the log is not compacted: its records are written again one by one, which such batches do not allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from twisted.internet.defer import Deferred, fail, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.commits import SLICE, Commits, OffsetBatch, Runner
from mqgateway.gateway.kafka.coordinator.pending import PendingOffsets
from mqgateway.gateway.kafka.coordinator.records import (
    Committed,
    OffsetKey,
    Pending,
    PendingKey,
    offset_key,
    offset_value,
    pending_key,
    pending_value,
)
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records

WRITTEN_MAX: Final = SLICE
"""Pending offsets that are ended by one batch of records, whatever metadata they have."""

T = TypeVar("T")


class PendingBatch(OffsetBatch):
    """Offsets that a producer commits together in a transaction: all of them or none become pending."""

    __slots__ = ("epoch", "producer_id")

    def __init__(self, producer_id: int, epoch: int) -> None:
        super().__init__()
        self.producer_id = producer_id
        self.epoch = epoch

    def add(self, key: OffsetKey, committed: Committed) -> None:
        """See `OffsetBatch`."""
        self.offsets.append((key, committed))
        place = PendingKey(self.producer_id, key)
        self.records.add(pending_key(place), pending_value(Pending(self.epoch, committed)))


class TransactionalCommits:
    """Pending offsets of the groups of one coordinator. `is_loaded` says that the log was read."""

    def __init__(
        self,
        commits: Commits,
        pending: PendingOffsets,
        run_steps: Runner[None],
        is_loaded: Callable[[], bool],
    ) -> None:
        self._commits = commits
        self._pending = pending
        self._run_steps = run_steps
        self._is_loaded = is_loaded
        self._in_flight: Counter[int] = Counter()
        self._waiting: dict[int, list[Deferred[None]]] = {}

    def has_pending(self, key: OffsetKey) -> bool:
        """Return True if a partition has a pending offset, so that its offset may soon be another one."""
        return bool(self._pending.at(key))

    def producers(self) -> tuple[int, ...]:
        """Return the producers that have pending offsets."""
        return self._pending.producers()

    def add(self, batch: PendingBatch) -> Deferred[None]:
        """Record pending offsets once their records are durable. Fails with `NotWritten`."""
        if not batch.offsets:
            return succeed(None)
        if batch.records.is_too_large:
            return fail(
                NotWritten(ErrorCode.INVALID_COMMIT_OFFSET_SIZE, f"{len(batch.offsets)} offsets are too many")
            )
        self._in_flight[batch.producer_id] += 1
        written = self._commits.write(batch.records, self._entering(batch))
        return written.addErrback(self._doubt, batch).addBoth(self._landed, batch.producer_id)

    def _entering(self, batch: PendingBatch) -> Steps[None]:
        for part in in_parts(batch.offsets, SLICE):
            for key, committed in part:
                place = PendingKey(batch.producer_id, key)
                self._pending.put(place, Pending(batch.epoch, committed))
            yield

    def _doubt(self, failure: Failure, batch: PendingBatch) -> Failure:
        """Take note of records that may be in the log or not."""
        if self._is_loaded():
            for key, _ in batch.offsets:
                self._pending.put(PendingKey(batch.producer_id, key), None)
        return failure

    def _landed(self, outcome: T, producer_id: int) -> T:
        self._in_flight -= Counter((producer_id,))
        if producer_id not in self._in_flight:
            for waiting in self._waiting.pop(producer_id, ()):
                waiting.callback(None)
        return outcome

    def complete(
        self, producer_id: int, epoch: int, is_commit: bool, *, epoch_max: int | None = None
    ) -> Deferred[None]:
        """Commit or drop the offsets that are pending for a producer, up to an epoch.

        It may be repeated. Fails with `NotWritten`; a part of them may then be complete. If an offset is
        pending with an epoch above `epoch_max`, all of them stay: the code is INVALID_PRODUCER_EPOCH.
        """
        if not self._is_loaded():
            return fail(NotWritten(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "groups are not read yet"))
        if producer_id in self._in_flight:
            waiting: Deferred[None] = Deferred()
            self._waiting.setdefault(producer_id, []).append(waiting)
            return waiting.addCallback(
                lambda _: self.complete(producer_id, epoch, is_commit, epoch_max=epoch_max)
            )
        pendings = self._pending.of(producer_id)
        if epoch_max is not None and any(
            one.epoch > epoch_max for one in pendings.values() if one is not None
        ):
            text = f"epoch {epoch} of producer {producer_id} is not newer than that of its offsets"
            return fail(NotWritten(ErrorCode.INVALID_PRODUCER_EPOCH, text))
        ended = [
            (key, pending if is_commit else None)
            for key, pending in pendings.items()
            if pending is None or pending.epoch <= epoch
        ]
        steps = self._completing(producer_id, ended)
        return run(steps) if len(ended) <= SLICE else self._run_steps(steps)

    def _completing(
        self, producer_id: int, ended: Sequence[tuple[OffsetKey, Pending | None]]
    ) -> Steps[Deferred[None]]:
        writes: list[Deferred[None]] = []
        for part in in_parts(ended, WRITTEN_MAX):
            records = Records()
            offsets: list[tuple[OffsetKey, Committed]] = []
            for key, pending in part:
                records.add(pending_key(PendingKey(producer_id, key)), None)
                if pending is not None and self._commits.is_current(key.topic, pending.committed):
                    offsets.append((key, pending.committed))
                    records.add(offset_key(key), offset_value(pending.committed))
            places = [PendingKey(producer_id, key) for key, _ in part]
            writes.append(self._commits.write(records, self._ending(offsets, places)))
            yield
        done = gatherResults(writes, consumeErrors=True)
        return done.addCallbacks(lambda _: None, lambda failure: failure.value.subFailure)

    def _ending(
        self, offsets: Sequence[tuple[OffsetKey, Committed]], places: Sequence[PendingKey]
    ) -> Steps[None]:
        """Commit offsets, and then remove what was pending."""
        yield from self._commits.entering(offsets)
        for place in places:
            self._pending.remove(place)
