"""The view of the index: entries of each message under its keys. RocketMQ: `CommitLogDispatcherBuildIndex`,
`IndexService`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, repeat
from typing import Final

from mqgateway.engine.message import StoredMessage, SysFlag
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.dispatch_request import DispatchRequest, KeyedBatch, QueuedRun
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.index_file import INDEX_GROUP, Header, IndexFile
from mqgateway.engine.store.lost_entries import LostEntries, has_entries
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.scan import record_of, valid_at
from mqgateway.engine.store.views.view import NOTHING, StoreStart, UnsyncedFiles, View, ViewCoverage

_MASK: Final = int(SysFlag.TRANSACTION_MASK)
_ROLLBACK: Final = int(SysFlag.TRANSACTION_ROLLBACK)


class _IndexUnsynced(UnsyncedFiles):
    """Index files, whose headers may say no more than a checkpoint covers."""

    def __init__(self, index: Index, headers: list[tuple[IndexFile, Header]]) -> None:
        super().__init__()
        self._headers = headers
        self.open_files = [file.file for file, _ in headers]
        if index.files:
            self.open_directories = [index.directory, index.directory.rpartition("/")[0]]

    def note(self, checkpoint: Checkpoint) -> None:
        """Enter the store time of the last entry."""
        for _, header in self._headers:
            checkpoint.index_msg_timestamp = max(checkpoint.index_msg_timestamp, header[1])

    def confirm(self) -> None:
        """Write the headers."""
        for file, header in self._headers:
            file.write_header(header)


class IndexView(View):
    """Fills the index."""

    def __init__(self, index: Index) -> None:
        self._index = index

    # Following the log.

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        """See `View`."""
        index = self._index
        for request in run:
            properties = request.properties
            if isinstance(properties, dict):
                if request.sys_flag & _MASK != _ROLLBACK:
                    index.note(request.topic, properties, request.physical_offset, request.store_timestamp)
            elif isinstance(properties, KeyedBatch):
                self._append_keyed(request, properties)
            else:
                assert isinstance(properties, QueuedRun)
                index.pending += properties.pending
        self.is_full = len(index.pending) >= INDEX_GROUP

    def _append_keyed(self, request: DispatchRequest, batch: KeyedBatch) -> None:
        topic, keys, hashes = request.topic, batch.keys, self._index.hashes
        if batch.is_even:
            hashed = hashes.of_unique_keys(topic, keys)
        else:
            hashed = [hashes.of_bytes(topic, key) for key in keys]
        positions = accumulate(batch.sizes, initial=request.physical_offset)
        self._index.pending += zip(hashed, positions, repeat(request.store_timestamp), strict=False)

    def settle(self, now: int) -> None:
        """Enter a full group. Raises `OSError`; what was not entered stays in memory."""
        if len(self._index.pending) >= INDEX_GROUP:
            self._index.apply(now)
        self.is_full = False

    # Starting.

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Load the files; after an unclean stop those that may be torn are rebuilt from their entries."""
        if start.is_clean:
            self._index.load(True, 0, 0)
        else:
            self._index.load(False, start.checkpoint.index_msg_timestamp, start.point)
        yield from ()
        return None

    def mend(self, start: StoreStart, until: int) -> Steps[None]:
        """Restore entries that were lost. Those after the last entry are looked for only if the newest
        message has keys, or the checkpoint knows of a later entry."""
        is_lost = start.is_clean and not valid_at(start.files, until, start.check_crc)
        if not start.files.starts or is_lost:
            return
        files, known = self._index.files, start.checkpoint.index_msg_timestamp
        newest = until if start.is_clean else until + 1
        at_end = known > (files[-1].end_timestamp if files else 0)
        if not at_end and valid_at(start.files, newest, False):
            at_end = has_entries(decode(record_of(start.files, newest)))
        if at_end or files:
            lost = LostEntries(start.files, self._index, start.check_crc, start.progress)
            yield from lost.look(until, at_end=at_end)

    def repeat(self, message: StoredMessage) -> bool:
        """See `View`."""
        if message.sys_flag & _MASK != _ROLLBACK:
            index, position = self._index, message.physical_offset
            index.note(message.topic, message.properties, position, message.store_timestamp)
            self.is_full = len(index.pending) >= INDEX_GROUP
        return True

    def begin_again(self) -> None:
        """Drop what waits: entries that are in the files are not entered twice."""
        self._index.pending.clear()

    # Being open.

    def truncate(self, offset: int) -> int:
        """Remove the entries of records at or after `offset`."""
        self._index.forget_from(offset)
        return NOTHING

    def delete_before(self, oldest: int) -> Steps[None]:
        """Delete files whose records have all left the log."""
        self._index.drop_before(oldest)
        yield from ()

    # Flushing.

    def write(self, now: int, time_is_up: Callable[[], bool] | None) -> bool:
        """Enter what waits."""
        self._index.apply(now)
        return False

    def take_unsynced(self) -> UnsyncedFiles:
        """See `View`."""
        self._index.forget_when_idle()
        return _IndexUnsynced(self._index, self._index.headers())

    def close(self) -> None:
        """Close the window."""
        self._index.close()

    def state(self, oldest: int) -> object:
        """Return hash and position of each entry, in files or waiting, of records at `oldest` or later."""
        index = self._index
        found = {(hashed, position) for hashed, position, _ in index.pending}
        found.update(entry for file in index.files for entry in file.entries())
        return sorted(entry for entry in found if entry[1] >= oldest)
