"""The end of a log that is in use is cut off: a new master's log goes on otherwise.

What is derived goes back with it: units of consume queues, entries that wait for the index, the checkpoint,
which must not promise anything of records that were cut. Everything before the cut is dispatched first. The
bytes behind the cut are zero, and that is synced before anything else may be written there: records that were
cut must not come back with a power cut. Standard: `DefaultMessageStore.truncateFiles`, which leaves them.
"""

from __future__ import annotations

import logging

from mqgateway.engine.errors import StoreError
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.flush import Durability
from mqgateway.engine.store.index_file import Index
from mqgateway.engine.store.log import Log, store_time
from mqgateway.engine.store.lost_units import rewind
from mqgateway.engine.store.record import BLANK_MAGIC, START
from mqgateway.engine.store.scan import valid_at

log = logging.getLogger(__name__)


class Truncation:
    """Cuts one store."""

    def __init__(
        self,
        commit_log: Log,
        queues: ConsumeQueues,
        index: Index | None,
        dispatch: Dispatch,
        durability: Durability,
        checkpoint: Checkpoint,
    ) -> None:
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._dispatch = dispatch
        self._durability = durability
        self._checkpoint = checkpoint

    def cut(self, offset: int) -> bool:
        """See `MessageStore.cut`."""
        end = self._log.end_offset
        if offset >= end:
            return True
        if not self._ends_a_record(offset):
            raise StoreError(f"no record ends at {offset}, where the log would have to be cut")
        if self._log.dirty_tail is not None or self._durability.commit.failure:
            raise StoreError("the log cannot be cut while the disk is sick")
        if not self._durability.is_idle:
            return False
        log.warning(
            "the log ended at %d and is truncated at %d: the new master does not have the rest", end, offset
        )
        self._dispatch.apply(offset, None)
        self._dispatch.waiting.clear()
        newest = self._cut_queues(offset)
        if self._checkpoint.logics_physical_offset > newest:
            rewind(self._checkpoint, self._log.files, newest)
        self._log.cut(offset)
        for file in self._log.files.between(offset, offset + 1):
            file.sync()
        self._log.files.disk.sync_dir(self._log.files.directory)
        if self._index is not None:
            self._index.forget_from(offset)
        self._dispatch.offset = offset
        self._dispatch.last_start = newest
        self._dispatch.last_timestamp = max(store_time(self._log, newest), 0)
        self._log.last_timestamp = self._dispatch.last_timestamp
        self._durability.retreat(offset, newest, self._dispatch.last_timestamp)
        return True

    def _ends_a_record(self, offset: int) -> bool:
        """Whether one may begin there."""
        files = self._log.files
        if not offset or offset % self._log.file_size == 0 or offset == self._log.min_offset:
            return True
        start = files.read(offset, START.size)
        if len(start) == START.size and START.unpack(start)[1] == BLANK_MAGIC:
            return True
        return bool(valid_at(files, offset, False))

    def _cut_queues(self, offset: int) -> int:
        """Where a record lies, up to which all are in their queues: the newest one with a unit, or the first
        of a file."""
        newest = max(self._log.files.start_of(max(offset - 1, 0)), self._log.min_offset)
        for queue in self._queues:
            before = queue.end
            queue.cut_places_from(offset)
            if queue.was_cut and queue.end < before:
                self._queues.written.update((queue.directory, start) for start in queue.touched(queue.end))
                queue.was_cut = False
            queue.next_offset = queue.max_offset
            queue.opened_at = min(queue.opened_at, queue.next_offset)
            place = queue.place(queue.end - 1) if queue.end > queue.first else None
            if place is not None and place[0] > newest:
                newest = place[0]
        return newest
