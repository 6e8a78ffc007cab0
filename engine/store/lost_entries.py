"""Repair of an index that lost a file, from the log.

Entries are in the order of the log. So there is no message with a key between the last message of one file
and the first of the next, before the first file, or after the last one; otherwise a file is missing. The log
is then read from there, and its entries are inserted again. The files after the gap are rebuilt, as entries
can only be appended. Consume queues are not touched. RocketMQ starts with the remaining files instead.
"""

from __future__ import annotations

import logging
from itertools import pairwise

from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_UNIQ_KEY, StoredMessage, SysFlag
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.index_file import INDEX_GROUP
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.scan import RECORDS_A_STEP, Progress, Scan

log = logging.getLogger(__name__)


def has_entries(message: StoredMessage) -> bool:
    """Return True if a message must have entries in the index."""
    if message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK:
        return False
    return bool(message.properties.get(PROPERTY_UNIQ_KEY) or message.properties.get(PROPERTY_KEYS))


class LostEntries:
    """Finds messages without entries, up to a log offset, and inserts these. `found` counts messages."""

    def __init__(
        self, files: FileQueue, index: Index, check_crc: bool, progress: Progress | None = None
    ) -> None:
        self._files = files
        self._index = index
        self._check_crc = check_crc
        self._progress = progress
        self.found = 0

    def look(self, until: int, *, at_end: bool) -> Steps[None]:
        """Insert the missing entries of messages up to the log offset `until`. Raises `OSError`.

        The end after the last file is checked only with `at_end`.
        """
        hole = yield from self._hole(until, at_end)
        if hole is None:
            return
        log.warning("index files are missing: messages are indexed again from offset %d of the log", hole)
        self._index.drop_after(hole)
        known = self._index.files[-1].count_at_end() if self._index.files else 0
        begin = max(self._index.end_offset, self._files.starts[0])
        self._index.pending.clear()
        scan = Scan(self._files, begin, self._check_crc, self._progress)
        for number, (data, at, position, _size) in enumerate(scan.records()):
            if number % RECORDS_A_STEP == 0:
                yield
            if position > until:
                break
            self._enter(decode(data, at), known if position == self._index.end_offset else 0)
        self._index.apply(self._last)
        log.warning("%d messages were indexed again", self.found)

    _last = 0
    """Store time in ms of the newest message inserted."""

    def _enter(self, message: StoredMessage, known: int) -> None:
        """Queue the entries of a message, except the first `known`, which exist."""
        if message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK:
            return
        pending = self._index.pending
        count = len(pending)
        self._index.note(message.topic, message.properties, message.physical_offset, message.store_timestamp)
        del pending[count : count + known]
        self.found += len(pending) > count
        self._last = message.store_timestamp
        if len(pending) >= INDEX_GROUP:
            self._index.apply(self._last)

    def _hole(self, until: int, at_end: bool) -> Steps[int | None]:
        """Return the offset up to which the index is complete; None if nothing is missing."""
        files, oldest = self._index.files, self._files.starts[0]
        first = files[0].begin_offset if files else until + 1
        if (files or at_end) and (yield from self._has_keys_between(oldest - 1, min(first, until + 1))):
            return oldest - 1
        for one, following in pairwise(files):
            if (yield from self._has_keys_between(one.end_offset, min(following.begin_offset, until + 1))):
                return one.end_offset
        if at_end and files and (yield from self._has_keys_between(files[-1].end_offset, until + 1)):
            return files[-1].end_offset
        return None

    def _has_keys_between(self, after: int, end: int) -> Steps[bool]:
        """Return True if a message after the one at `after`, and before `end`, must have entries."""
        begin = max(after, self._files.starts[0])
        if begin >= end:
            return False
        records = Scan(self._files, begin, self._check_crc).records()
        for number, (data, at, position, _size) in enumerate(records):
            if number % RECORDS_A_STEP == 0:
                yield
            if position >= end:
                return False
            if position > after and has_entries(decode(data, at)):
                return True
        return False
