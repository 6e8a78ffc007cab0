"""Finding messages by key or tags, through the index.

The index compares hashes and times only, so the reader must compare keys. Standard:
`DefaultMessageStore.queryMessage`, `IndexService.queryOffset`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.clock import Clock
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.cold import ColdRead, ColdRecords
from mqgateway.engine.store.index_file import Index
from mqgateway.engine.store.log import Log, store_time
from mqgateway.engine.store.results import QueryResult

log = logging.getLogger(__name__)

QUERY_MAX = 64
"""Messages of one query. Standard: maxMsgsNumBatch."""
_ROUNDS = 3


class KeyQuery:
    """Asks the index; `record_at` gives the record at a log offset, or None where there is none, and is told
    whether it may wait for the disk.
    """

    def __init__(
        self,
        options: StoreOptions,
        clock: Clock,
        index: Index | None,
        commit_log: Log,
        record_at: Callable[[int, bool], bytes | None],
    ) -> None:
        self._options = options
        self._clock = clock
        self._index = index
        self._log = commit_log
        self._record_at = record_at

    def find(
        self, topic: str, key: str, max_num: int, begin: int, end: int, index_type: str, may_wait: bool
    ) -> QueryResult:
        """See `MessageStore.query`."""
        index = self._index
        if index is None or not self._options.index_file_read_enable:
            return QueryResult([], 0, 0)
        records: list[bytes] = []
        try:
            index.apply(self._clock.millis())
            hashes = index.hashes
            key_hash = hashes.of_tags(topic, key) if index_type == "T" else hashes.of_key(topic, key)
            records = self._records(index, key_hash, min(max_num, QUERY_MAX), begin, end, may_wait)
        except OSError as error:
            log.error("the index cannot be read: %s", error)
        if not index.files:
            return QueryResult(records, 0, 0)
        return QueryResult(records, index.files[-1].end_timestamp, index.files[-1].end_offset)

    def _records(
        self, index: Index, key_hash: int, limit: int, begin: int, end: int, may_wait: bool
    ) -> list[bytes]:
        for _ in range(_ROUNDS):
            offsets = sorted(set(index.find(key_hash, begin, end, limit, may_wait)))
            try:
                found = [self._record_at(offset, may_wait) for offset in offsets]
            except ColdRead as cold:
                rest = [(0, offset, 4) for offset in offsets if offset >= cold.position]
                raise ColdRecords(cold.position, self._log.pieces(rest)) from None
            records = [record for record in found if record is not None]
            if records or not offsets:
                return records
            # All of these have gone from the log; older ones cannot be there, newer ones may.
            end = min(end, store_time(self._log, offsets[0], may_wait))
            if end < begin:
                break
        return []
