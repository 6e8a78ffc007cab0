"""Saves the log of a running broker range by range, in the process that the broker starts for it.

The caller looks again and again. A range is saved if it reaches the end of a log file, or if its oldest
message has a certain age. A broker that is no master saves nothing, and looks how far the master has saved.

A master marks what has expired every `EXPIRY_SECONDS`, and deletes that and orphans every `DELETION_SECONDS`
(`expiry`, `removal`), and saves tables that have changed (`table_saving`). Else the tier is not asked while
nothing is due.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.tier.collect import Collector
from mqgateway.engine.tier.expiry import Expiry
from mqgateway.engine.tier.format.epochs import TierEpoch
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.local_log import LocalLog, batch_topics_in, classes_in, limits_in, open_log
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.removal import TierDeletions, TierRemoval
from mqgateway.engine.tier.saving import TierWriter, WriterFenced
from mqgateway.engine.tier.survey import read_header, survey
from mqgateway.engine.tier.table_saving import TableSaver
from mqgateway.engine.upkeep.backup import store_time_at
from mqgateway.engine.upkeep.layout import Layout

RETRY_SECONDS = 5.0
RETRY_SECONDS_MAX = 60.0
SURVEY_SECONDS = 60.0
"""Pauses after a failure, which double, and between looks of a broker that does not save."""
EXPIRY_SECONDS = 300.0
DELETION_SECONDS = 3600.0


class SavingRules(NamedTuple):
    """State of the broker: True for a master, the offset up to which its log is confirmed, the settings
    tieredRangeTime (ms) and tieredMayLose, tieredStoreFileReservedTime in ms, and the time in ms by which
    messages expire, which is not that of a clock that was set forward.
    """

    saves: bool
    confirmed: int
    range_millis: int
    may_lose: bool
    reserved_millis: int
    now: int


class SavingState(NamedTuple):
    """The log offset up to which the log is saved, -1 while unknown; the store time in ms of the oldest
    message that is not saved, 0 if all are; ranges saved by this process; and the failure of the last look,
    or empty. Then what this process has deleted, see `TierDeletions`, with the bytes of all objects.
    """

    saved_to: int
    oldest: int
    ranges: int
    failure: str
    expired_segments: int = 0
    orphans: int = 0
    deleted_bytes: int = 0


class ContinuousSaver:
    """The saver of one broker. `open_store` opens its object store when it is needed first."""

    def __init__(
        self, layout: Layout, names: TierNames, open_store: Callable[[], ObjectStore], clock: Clock
    ) -> None:
        self._layout = layout
        self._names = names
        self._open_store = open_store
        self._clock = clock
        self._store: ObjectStore | None = None
        self._writer: TierWriter | None = None
        self._was_saving = False
        self._saved_to = -1
        self.ranges = 0
        """Ranges that this process has saved."""
        self._epochs: dict[int, TierEpoch] = {}
        self._expiry: Expiry | None = None
        self._tables = TableSaver(layout, names, clock)
        self._deleted = TierDeletions()
        self._next_look = 0.0
        self._next_expiry = clock.monotonic() + EXPIRY_SECONDS
        self._next_deletion = self._next_expiry
        self._pause = RETRY_SECONDS
        self._state = SavingState(-1, 0, 0, "")

    def look(self, rules: SavingRules) -> SavingState:
        """Save the next range if it is due, and return how far the log is saved. A failure is part of the
        state; looks during the pause after it do nothing.
        """
        now = self._clock.monotonic()
        if now < self._next_look:
            return self._state
        try:
            oldest = self._look(rules)
        except (EngineError, OSError) as error:
            self._writer = None
            self._next_look = now + self._pause
            self._pause = min(2 * self._pause, RETRY_SECONDS_MAX)
            if isinstance(error, WriterFenced):
                self._next_look = now + RETRY_SECONDS_MAX
            self._state = self._state._replace(failure=f"saving the log failed: {error}")
            return self._state
        self._pause = RETRY_SECONDS
        deleted = self._deleted
        total = deleted.segment_bytes + deleted.orphan_bytes + deleted.index_bytes
        self._state = SavingState(
            self._saved_to, oldest, self.ranges, "", deleted.segments, deleted.orphans, total
        )
        return self._state

    def _look(self, rules: SavingRules) -> int:
        """Save the next range if it is due; return the store time of the oldest message that is not saved, 0
        if all are.
        """
        if self._store is None:
            self._store = self._open_store()
        local = open_log(self._layout)
        local = local._replace(limit=min(local.limit, rules.confirmed))
        if not rules.saves:
            self._writer, self._was_saving = None, False
            self._tables = TableSaver(self._layout, self._names, self._clock)
            self._saved_to = self._end_of_tier(self._store)
            self._next_look = self._clock.monotonic() + SURVEY_SECONDS
            return self._oldest(local)
        if not self._was_saving:
            self._saved_to = self._new_writer(self._store, rules).position(local)
            self._was_saving = True
        if self._is_due(local, rules):
            self._save_range(local, rules, self._store)
        if self._clock.monotonic() >= self._next_expiry:
            self._expire(local, rules, self._store)
        claim, has_epoch = partial(self._claimed, local, rules, self._store), self._writer is not None
        self._tables.look(self._store, local.files.file_size, claim, has_epoch=has_epoch)
        return self._oldest(local)

    def _expire(self, local: LocalLog, rules: SavingRules, store: ObjectStore) -> None:
        """Mark what has expired, and delete what was marked before and orphans, if it is time."""
        now = self._clock.monotonic()
        found = survey(store, self._names, self._epochs)
        self._epochs = found.epochs
        removal = TierRemoval(store, self._names, lambda: self._claimed(local, rules, store).check_epoch())
        self._expiry = self._expiry or Expiry(store, self._names)
        limits = limits_in(self._layout, rules.reserved_millis)
        for key, numbers in self._expiry.look(found, limits, rules.now):
            removal.mark(key, numbers, rules.now)
        self._next_expiry = now + EXPIRY_SECONDS
        if now >= self._next_deletion:
            done = removal.delete(found, rules.now)
            self._deleted = TierDeletions(*map(sum, zip(self._deleted, done, strict=True)))
            self._next_deletion = now + DELETION_SECONDS

    def _claimed(self, local: LocalLog, rules: SavingRules, store: ObjectStore) -> TierWriter:
        """Return the writer of an epoch of this process, which is begun if there is none."""
        if self._writer is None:
            writer = self._new_writer(store, rules)
            self._saved_to = writer.claim(local)
            self._writer = writer
        return self._writer

    def _end_of_tier(self, store: ObjectStore) -> int:
        """Return the end of the last range that counts, 0 without any."""
        found = survey(store, self._names)
        return read_header(store, self._names, found.ranges[-1]).end if found.ranges else 0

    def _new_writer(self, store: ObjectStore, rules: SavingRules) -> TierWriter:
        writer, now = secrets.token_hex(8), self._clock.millis()
        return TierWriter(store, self._names, writer, now, accepts_gap=rules.may_lose)

    def _oldest(self, local: LocalLog) -> int:
        """Return the store time in ms of the oldest message that is not saved, flushed or not; 0 if all are
        saved."""
        return store_time_at(local.files, max(self._saved_to, local.start))

    def _is_due(self, local: LocalLog, rules: SavingRules) -> bool:
        begin = max(self._saved_to, local.start)
        if local.files.start_of(begin) + local.files.file_size <= local.limit:
            return True
        oldest = self._oldest(local) if begin < local.limit else 0
        return bool(oldest) and self._clock.millis() - oldest >= rules.range_millis

    def _save_range(self, local: LocalLog, rules: SavingRules, store: ObjectStore) -> None:
        """Save the next range, if there is one, as the writer of an epoch of this process."""
        if self._writer is None or self._saved_to < local.start:
            writer = self._new_writer(store, rules)
            begin = writer.begin(local)
            self._saved_to = writer.report.saved_to
            if begin is None:
                return
            self._writer = writer
        collector = Collector(
            local.files,
            batch_topics_in(self._layout),
            classes_in(self._layout, rules.reserved_millis),
            lambda *_: None,
        )
        found = collector.collect(self._saved_to, local.limit)
        if found.end > self._saved_to:
            self._writer.save_range(found, local)
            self._saved_to = found.end
            self.ranges += 1
