"""Records of consumer groups on their way into the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from twisted.internet.defer import Deferred, gatherResults, succeed
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

    def write(self, group: ModernGroup) -> Deferred[None]:
        """Write all records that have changed. Fails with `NotWritten`; they are then written again later."""
        if not group.unwritten:
            return succeed(None)
        steps = self._writing(group)
        return run(steps) if len(group.unwritten) <= WRITTEN_MAX else self._run_steps(steps)

    def _writing(self, group: ModernGroup) -> Steps[Deferred[None]]:
        writes: list[Deferred[None]] = []
        while group.unwritten and self._is_current(group):
            records = Records()
            keys: list[RecordKey] = []
            for key in list(islice(group.unwritten, WRITTEN_MAX)):
                records.add(record_key(group.id, key), record_value(group, key))
                keys.append(key)
                del group.unwritten[key]
                if len(records.body) > BYTES_MAX:
                    break
            written = self._journal.write(records, self._clock.millis())
            writes.append(written.addErrback(self._not_written, group, keys))
            yield
        done = gatherResults(writes, consumeErrors=True)
        return done.addCallbacks(lambda _: None, lambda failure: failure.value.subFailure)

    def _not_written(self, failure: Failure, group: ModernGroup, keys: Sequence[RecordKey]) -> Failure:
        group.mark(*(key for key in keys if key not in group.unwritten))
        self._failed_groups[group.id] = group
        return failure

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
        """Forget what was not written."""
        self._failed_groups.clear()


def _log_failure(failure: Failure, group_id: str) -> None:
    log.warning("consumer group %s is not written: %s", group_id, failure.getErrorMessage())
