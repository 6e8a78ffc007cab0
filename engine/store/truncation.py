"""Truncation of a log that is in use, as when the log of a new master continues otherwise.

Every view is truncated with it, and the checkpoint, which must not promise anything of records that were
removed. Everything before the new end is dispatched first. The bytes behind it are zeroed, and that is synced
before anything else may be written there: removed records must not come back with a power cut. RocketMQ:
`DefaultMessageStore.truncateFiles`, which leaves the bytes.
"""

from __future__ import annotations

import logging

from mqgateway.engine.errors import StoreError
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.flush import LogFlusher
from mqgateway.engine.store.log import Log, store_time
from mqgateway.engine.store.lost_units import rewind
from mqgateway.engine.store.record import BLANK_MAGIC, START
from mqgateway.engine.store.scan import valid_at

log = logging.getLogger(__name__)


class Truncation:
    """Truncates one store."""

    def __init__(
        self,
        commit_log: Log,
        dispatch: Dispatch,
        durability: LogFlusher,
        checkpoint: Checkpoint,
    ) -> None:
        self._log = commit_log
        self._dispatch = dispatch
        self._durability = durability
        self._checkpoint = checkpoint

    def cut(self, offset: int) -> bool:
        """See `MessageStore.cut`."""
        end = self._log.end_offset
        if offset >= end:
            return True
        if not self._ends_a_record(offset):
            raise StoreError(f"no record ends at {offset}, where the log would have to be truncated")
        if self._log.dirty_tail is not None or self._durability.commit.failure:
            raise StoreError("the log cannot be truncated while the disk fails")
        if not self._durability.is_idle:
            return False
        log.warning(
            "the log ended at %d and is truncated at %d: the new master does not have the rest", end, offset
        )
        self._dispatch.apply(offset, None)
        self._dispatch.waiting.clear()
        promised = self._checkpoint.logics_physical_offset
        first = max(self._log.files.start_of(max(offset - 1, 0)), self._log.min_offset)
        self._promise_only(first, offset)
        newest = max([first, *[view.truncate(offset) for view in self._dispatch.views]])
        if promised > newest > first:
            rewind(self._checkpoint, self._log.files, newest)
        self._log.cut(offset)
        for file in self._log.files.between(offset, offset + 1):
            file.sync()
        self._log.files.disk.sync_dir(self._log.files.directory)
        self._dispatch.offset = offset
        self._dispatch.last_start = newest
        self._dispatch.last_timestamp = max(store_time(self._log, newest), 0)
        self._log.last_timestamp = self._dispatch.last_timestamp
        self._durability.rewind(offset, newest, self._dispatch.last_timestamp)
        return True

    def _promise_only(self, first: int, offset: int) -> None:
        """Let the checkpoint promise nothing behind the first record of the last file that is kept, before
        anything is removed: a start after a power cut then neither misses units that were removed nor takes
        what is left of removed records for damage that later records follow."""
        checkpoint, files = self._checkpoint, self._log.files
        record = first if first % files.file_size else first + files.framing.lead
        stored = max(store_time(self._log, record), 0) if record < offset else 0
        checkpoint.physic_msg_timestamp = min(checkpoint.physic_msg_timestamp, stored)
        if checkpoint.logics_physical_offset > first:
            rewind(checkpoint, files, first)
        else:
            checkpoint.save().sync()

    def _ends_a_record(self, offset: int) -> bool:
        """Return True if a record may begin there."""
        files = self._log.files
        if not offset or offset % self._log.file_size == 0 or offset == self._log.min_offset:
            return True
        start = files.read(offset, START.size)
        if len(start) == START.size and START.unpack(start)[1] == BLANK_MAGIC:
            return True
        return bool(valid_at(files, offset, False))
