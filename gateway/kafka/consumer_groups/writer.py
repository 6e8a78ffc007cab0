"""Records of consumer groups on their way into the log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup, RecordKey
from mqgateway.gateway.kafka.consumer_groups.records import record_key, record_value
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.records_log import Records

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


class GroupWriter:
    """Writes what has changed. `is_current` returns True for a group that was not deleted."""

    def __init__(
        self,
        clock: Clock,
        journal: RecordJournal,
        run_steps: StepRunner,
        is_current: Callable[[ModernGroup], bool],
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._run_steps = run_steps
        self._is_current = is_current
        self._failed_groups: dict[str, ModernGroup] = {}
        self._in_flight: dict[ModernGroup, _GroupWrites] = {}

    def write(self, group: ModernGroup) -> Deferred[None]:
        """Write all records that have changed; succeed once they and earlier ones of the group are durable.

        Fails with `NotWritten`; the records are then written again later.
        """
        if not group.unwritten and group not in self._in_flight:
            return succeed(None)
        steps = self._writing(group)
        return run(steps) if len(group.unwritten) <= WRITTEN_MAX else self._run_steps(steps)

    def _writing(self, group: ModernGroup) -> Steps[Deferred[None]]:
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

    def _writes_of(self, group: ModernGroup) -> _GroupWrites:
        return self._in_flight.setdefault(group, _GroupWrites())

    def _write_some(self, group: ModernGroup, waiting: deque[RecordKey]) -> None:
        """Write a batch of the records that wait, except those that another call has written."""
        records = Records()
        keys: list[RecordKey] = []
        while waiting and len(keys) < WRITTEN_MAX and len(records.body) <= BYTES_MAX:
            key = waiting.popleft()
            if key in group.unwritten:
                records.add(record_key(group.id, key), record_value(group, key))
                keys.append(key)
                del group.unwritten[key]
        if keys:
            writes = self._writes_of(group)
            writes.begun += 1
            self._journal.write(records, self._clock.millis()).addBoth(self._ended, group, writes, keys)

    def _ended(
        self, outcome: Failure | None, group: ModernGroup, writes: _GroupWrites, keys: Sequence[RecordKey]
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

    def _answer(self, group: ModernGroup, writes: _GroupWrites) -> None:
        """Answer those whose writes have ended."""
        done = [one for one in writes.waiters if one.until is not None and one.until <= writes.ended]
        writes.waiters = [one for one in writes.waiters if one not in done]
        is_idle = writes.begun == writes.ended and not writes.waiters
        if is_idle and self._in_flight.get(group) is writes:
            del self._in_flight[group]
        for waiter in done:
            waiter.done.callback(None)

    def write_later(self, group: ModernGroup) -> None:
        """Write what has changed; no client waits for it."""
        self.write(group).addErrback(_log_failure, group.id)

    def repeat(self) -> None:
        """Write again what was not written."""
        groups, self._failed_groups = self._failed_groups, {}
        for group in groups.values():
            if self._is_current(group):
                self.write_later(group)

    def delete(self, group: ModernGroup) -> None:
        """Write that the log has nothing of a group any more."""
        keys = group.tombstones()
        records = Records((record_key(group.id, key), None) for key in keys)
        self._journal.write(records, self._clock.millis()).addErrback(_log_failure, group.id)

    def clear(self) -> None:
        """Forget what was not written, and what is in flight."""
        self._failed_groups.clear()
        self._in_flight.clear()


def _log_failure(failure: Failure, group_id: str) -> None:
    log.warning("consumer group %s is not written: %s", group_id, failure.getErrorMessage())
