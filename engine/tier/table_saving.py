"""Saves the tables of a broker beside its log: topics, groups, offsets, settings.

They are read as a backup reads them, from the files of a store that a broker may have open. A table refers to
nothing that its log lacks, but the tier has less: offsets are limited when they are restored (`restoring`).

An object is written when a table has changed, and at times without a change, which shows that a master lives.
Only the writer of the last epoch writes and deletes: the new object first, then all but the newest
`TABLES_KEPT`. Of the objects that are there the newest of the last epoch counts.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.format.tables import TierTables, decode_tables
from mqgateway.engine.tier.object_store import ObjectExists, ObjectMissing, ObjectStore
from mqgateway.engine.tier.saving import TierWriter
from mqgateway.engine.tier.survey import tables_in
from mqgateway.engine.upkeep.backup import ends_of, still_tables, table_states
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.table_check import BACKUP

log = logging.getLogger(__name__)

TABLES_SECONDS: Final = 60.0
"""Time between looks at the tables."""
ALIVE_SECONDS: Final = 300.0
"""Time after which tables are saved although none has changed, and the ends of queues are read again."""
TABLES_KEPT: Final = 2

Claim = Callable[[], TierWriter]
"""Returns a writer with an epoch of its own."""


class TableSaver:
    """Saves the tables of one store."""

    def __init__(self, layout: Layout, names: TierNames, clock: Clock) -> None:
        self._layout = layout
        self._names = names
        self._clock = clock
        self._states: dict[str, tuple[int, int]] = {}
        self._newest: TierTables | None = None
        self._objects: list[tuple[int, int]] | None = None
        self._next_look = 0.0
        self._next_sign = 0.0
        self._next_ends = 0.0

    def look(self, store: ObjectStore, log_file_size: int, claim: Claim, *, has_epoch: bool) -> None:
        """Save the tables if it is time and they have changed, or to show that the broker lives, which a
        writer that `has_epoch` does. Raises `StoreError`, `ObjectStoreError`, `OSError`.
        """
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        self.save(store, log_file_size, claim, is_forced=has_epoch and now >= self._next_sign)
        self._next_look = now + TABLES_SECONDS

    def save(self, store: ObjectStore, log_file_size: int, claim: Claim, *, is_forced: bool = False) -> bool:
        """Save the tables, if one has changed or it is `is_forced`; return True if they were saved.

        A store without tables has nothing to save.
        """
        states = self._table_states()
        if not states or (states == self._states and not is_forced):
            return False
        if self._objects is None:
            self._objects = tables_in(store, self._names)
            self._newest = newest_tables(store, self._names)
        files = {**still_tables(self._layout, True), **still_tables(self._layout, False)}
        files = {path: data for path, data in files.items() if path in states}
        newest = self._newest
        is_changed = newest is None or (newest.files, newest.log_file_size) != (files, log_file_size)
        if is_changed or is_forced:
            self._write(store, log_file_size, files, claim(), is_forced)
        self._states = states
        return is_changed or is_forced

    def _table_states(self) -> dict[str, tuple[int, int]]:
        states = {**table_states(self._layout, True), **table_states(self._layout, False)}
        return {path: state for path, state in states.items() if not path.endswith(BACKUP)}

    def _write(
        self,
        store: ObjectStore,
        log_file_size: int,
        files: dict[str, bytes],
        writer: TierWriter,
        is_forced: bool,
    ) -> None:
        assert self._objects is not None
        monotonic = self._clock.monotonic()
        newest = self._newest
        if newest is None or is_forced or monotonic >= self._next_ends:
            found = ends_of(self._layout)
            self._next_ends = monotonic + ALIVE_SECONDS
            newest = TierTables(self._layout.root, 0, log_file_size, found[1], found[0], files)
        # A clock that was set back must not make these the older ones.
        now = max([self._clock.millis(), *(time + 1 for _, time in self._objects)])
        tables = newest._replace(made=now, log_file_size=log_file_size, files=files)
        writer.check_epoch()
        with contextlib.suppress(ObjectExists):  # the answer was lost, and the request repeated
            store.create(self._names.tables_at(writer.report.epoch, now), tables.encode())
        self._objects.append((writer.report.epoch, now))
        self._newest = tables
        self._next_sign = monotonic + ALIVE_SECONDS
        while len(self._objects) > TABLES_KEPT:
            store.delete(self._names.tables_at(*self._objects[0]))
            del self._objects[0]


def newest_tables(store: ObjectStore, names: TierNames) -> TierTables | None:
    """Return the newest tables that can be read; None if none were saved. Raises `CorruptFile` if all are
    damaged, and `ObjectStoreUnavailable`."""
    damaged: CorruptFile | None = None
    for key in reversed(tables_in(store, names)):
        name = names.tables_at(*key)
        try:
            return decode_tables(store.get_range(name, 0, store.head(name) or 0), name)
        except ObjectMissing:
            continue
        except CorruptFile as error:
            log.error("older tables are used: %s", error)
            damaged = error
    if damaged is not None:
        raise damaged
    return None
