"""Records of groups whose partitions the broker assigns, on their way into the log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.coordinator.assigned_group import AssignedGroup, RecordKey
from mqgateway.gateway.kafka.coordinator.group_records import GroupRecords
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.records_log import Records

G = TypeVar("G", bound=AssignedGroup[Any])

log = logging.getLogger(__name__)

WRITTEN_MAX: Final = 100
BYTES_MAX: Final = 256 * 1024
"""Records and bytes that are written by one batch."""

StepRunner = Callable[[Steps["Deferred[None] | None"]], "Deferred[None]"]
"""Runs cooperative tasks one after another."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """An answer that waits for writes: up to the one of this number, or for more while that is None."""

    done: Deferred[None] = field(default_factory=Deferred)
    until: int | None = None


@dataclass(slots=True, eq=False)
class _GroupWrites:
    """Number of writes of a group that were begun and that have ended, and the answers that wait for them."""

    begun: int = 0
    ended: int = 0
    waiters: list[_Waiter] = field(default_factory=list)


class GroupWriter(Generic[G]):
    """Writes what has changed of groups of one type.

    `is_current` returns True for a group that was not deleted.
    """

    def __init__(
        self,
        clock: Clock,
        journal: RecordJournal,
        run_steps: StepRunner,
        is_current: Callable[[G], bool],
        records: GroupRecords[G],
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._run_steps = run_steps
        self._is_current = is_current
        self._records = records
        self._failed_groups: dict[str, G] = {}
        self._in_flight: dict[G, _GroupWrites] = {}

    def write(self, group: G) -> Deferred[None]:
        """Write all records that have changed; succeed once they and earlier ones of the group are durable.

        Fails with `NotWritten`; the records are then written again later.
        """
        if not group.unwritten and group not in self._in_flight:
            return succeed(None)
        steps = self._writing(group)
        return run(steps) if len(group.unwritten) <= WRITTEN_MAX else self._run_steps(steps)

    def _writing(self, group: G) -> Steps[Deferred[None]]:
        waiter = _Waiter()
        self._writes_of(group).waiters.append(waiter)
        waiting = deque(group.unwritten)
        while waiting and self._is_current(group):
            self._write_some(group, waiting)
            yield
        writes = self._writes_of(group)
        waiter.until = writes.begun
        self._answer(group, writes)
        return waiter.done

    def _writes_of(self, group: G) -> _GroupWrites:
        return self._in_flight.setdefault(group, _GroupWrites())

    def _write_some(self, group: G, waiting: deque[RecordKey]) -> None:
        """Write a batch of the records that wait, except those that another call has written."""
        records = Records()
        keys: list[RecordKey] = []
        while waiting and len(keys) < WRITTEN_MAX and len(records.body) <= BYTES_MAX:
            key = waiting.popleft()
            if key in group.unwritten:
                records.add(self._records.key(group.id, key), self._records.value(group, key))
                keys.append(key)
                del group.unwritten[key]
        if keys:
            writes = self._writes_of(group)
            writes.begun += 1
            self._journal.write(records, self._clock.millis()).addBoth(self._ended, group, writes, keys)

    def _ended(
        self, outcome: Failure | None, group: G, writes: _GroupWrites, keys: Sequence[RecordKey]
    ) -> None:
        """Note that the oldest write in flight has ended: they end in the order in which they were begun."""
        writes.ended += 1
        if isinstance(outcome, Failure):
            group.mark(*(key for key in keys if key not in group.unwritten))
            self._failed_groups[group.id] = group
            failed, writes.waiters = writes.waiters, []
            for waiter in failed:
                waiter.done.errback(outcome)
        self._answer(group, writes)

    def _answer(self, group: G, writes: _GroupWrites) -> None:
        """Answer those whose writes have ended."""
        done = [one for one in writes.waiters if one.until is not None and one.until <= writes.ended]
        writes.waiters = [one for one in writes.waiters if one not in done]
        is_idle = writes.begun == writes.ended and not writes.waiters
        if is_idle and self._in_flight.get(group) is writes:
            del self._in_flight[group]
        for waiter in done:
            waiter.done.callback(None)

    def write_later(self, group: G) -> None:
        """Write what has changed; no client waits for it."""
        self.write(group).addErrback(_log_failure, group.id)

    def repeat(self) -> None:
        """Write again what was not written."""
        groups, self._failed_groups = self._failed_groups, {}
        for group in groups.values():
            if self._is_current(group):
                self.write_later(group)

    def delete(self, group: G) -> None:
        """Write that the log has nothing of a group any more."""
        records = Records((key, None) for key in self._records.tombstones(group))
        self._journal.write(records, self._clock.millis()).addErrback(_log_failure, group.id)

    def clear(self) -> None:
        """Forget what was not written, and what is in flight."""
        self._failed_groups.clear()
        self._in_flight.clear()


def _log_failure(failure: Failure, group_id: str) -> None:
    log.warning("group %s is not written: %s", group_id, failure.getErrorMessage())
