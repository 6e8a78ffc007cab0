"""Queries of messages by key or tags, through the index.

The index has hashes of topic and key only. Each record it refers to is therefore read and compared: another
topic or key may have the same hash. RocketMQ: `DefaultMessageStore.queryMessage`, `IndexService.queryOffset`;
there the comparison is left to the client's `MQAdminImpl.queryMessage`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from mqgateway.engine.clock import Clock
from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_TAGS, PROPERTY_UNIQ_KEY
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.cold import ColdRead, ColdRecords
from mqgateway.engine.store.consume_queue import AnyQueue
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.older_messages import KeySearch, NothingYet
from mqgateway.engine.store.older_reading import OlderReading
from mqgateway.engine.store.record import properties_of, topic_of
from mqgateway.engine.store.results import QueryResult

log = logging.getLogger(__name__)

QUERY_MAX: Final = 64
"""Maximum of messages of one query. RocketMQ: maxMsgsNumBatch."""
CANDIDATES_MAX: Final = 512
"""Maximum of records with the hash that one query reads, newest first."""
CANDIDATE_BYTES_MAX: Final = 8 * 1024**2
"""Limit of bytes read of records with another topic or key."""
INDEX_KEY: Final = "K"
INDEX_UNIQUE: Final = "U"
INDEX_TAG: Final = "T"


class KeyQuery:
    """Queries the index.

    `record_at` returns the record at a log offset, or None; its second argument is `may_wait` (for the disk).
    `older` has records that the local log has no longer.
    """

    def __init__(
        self,
        options: StoreOptions,
        clock: Clock,
        index: Index | None,
        commit_log: Log,
        record_at: Callable[[int, bool], bytes | None],
        older: OlderReading | None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._index = index
        self._log = commit_log
        self._record_at = record_at
        self._older = older

    def find(
        self,
        topic: str,
        key: str,
        max_num: int,
        begin: int,
        end: int,
        index_type: str,
        queues: Mapping[int, AnyQueue],
        may_wait: bool,
    ) -> QueryResult:
        """See `MessageStore.query`; `queues` are those of the topic. Raises `NothingYet` if no record is
        found and older ones cannot be read now."""
        index = self._index
        if index is None or not self._options.index_file_read_enable:
            return QueryResult([], 0, 0)
        records: list[bytes] = []
        try:
            index.apply(self._clock.millis())
            hashes = index.hashes
            is_tag = index_type == INDEX_TAG
            key_hash = hashes.of_tags(topic, key) if is_tag else hashes.of_key(topic, key)
            wanted, most = KeyCondition(topic, key, index_type), min(max_num, QUERY_MAX)
            records = self._records(index, key_hash, wanted, most, begin, end, may_wait)
            if len(records) < most and not any(map(wanted.is_unique, records)):
                search = KeySearch(topic, key, index_type, key_hash, most - len(records), begin, end)
                records = self._with_older(search, records, queues, may_wait)
        except OSError as error:
            log.error("the index cannot be read: %s", error)
        if not index.files:
            return QueryResult(records, 0, 0)
        return QueryResult(records, index.files[-1].end_timestamp, index.files[-1].end_offset)

    def _with_older(
        self, search: KeySearch, records: list[bytes], queues: Mapping[int, AnyQueue], may_wait: bool
    ) -> list[bytes]:
        """Return records, after those that the local log has no longer."""
        if self._older is None:
            return records
        try:
            return [*self._older.with_key(search, queues, may_wait), *records]
        except NothingYet:
            if not records:
                raise
            return records

    def _records(
        self,
        index: Index,
        key_hash: int,
        wanted: KeyCondition,
        limit: int,
        begin: int,
        end: int,
        may_wait: bool,
    ) -> list[bytes]:
        """Return the newest `limit` records that match, oldest first.

        The index is queried for `limit` entries, then for twice as many, and so on, since almost always all
        of them have the requested key.
        """
        found: dict[int, bytes] = {}
        read: set[int] = set()
        strange_bytes = 0
        number = limit
        while number > 0:
            offsets = index.find(key_hash, begin, end, number, may_wait)
            # Older ones are not read one by one, but searched for together.
            unread = sorted(offset for offset in set(offsets) - read if offset >= self._log.min_offset)
            for offset, record in zip(unread, self._read(unread, may_wait), strict=True):
                if record is None:
                    continue
                if wanted.matches(record):
                    found[offset] = record
                else:
                    strange_bytes += len(record)
            read.update(unread)
            is_enough = len(found) >= limit or strange_bytes >= CANDIDATE_BYTES_MAX
            if is_enough or len(offsets) < number or number >= CANDIDATES_MAX:
                break
            number = min(2 * number, CANDIDATES_MAX)
        return [found[offset] for offset in sorted(found)[-limit:]] if found else []

    def _read(self, offsets: list[int], may_wait: bool) -> list[bytes | None]:
        try:
            return [self._record_at(offset, may_wait) for offset in offsets]
        except ColdRead as cold:
            rest = [(0, offset, 4) for offset in offsets if offset >= cold.position]
            raise ColdRecords(cold.position, self._log.ranges(rest)) from None


class KeyCondition:
    """The condition of a query."""

    def __init__(self, topic: str, key: str, index_type: str) -> None:
        self._topic = topic.encode("utf-8", "replace")
        self._key = key
        self._index_type = index_type

    def matches(self, record: bytes) -> bool:
        """Return True if a record has the topic, and the key where the index type looks for it.

        A query by key also finds unique keys: the index keeps both under one hash, and a user with an id in
        hand often cannot tell which it is.
        """
        if topic_of(record) != self._topic:
            return False
        properties, key = properties_of(record), self._key
        if self._index_type == INDEX_TAG:
            return properties.get(PROPERTY_TAGS) == key
        if properties.get(PROPERTY_UNIQ_KEY) == key:
            return True
        return self._index_type != INDEX_UNIQUE and key in properties.get(PROPERTY_KEYS, "").split(" ")

    def is_unique(self, record: bytes) -> bool:
        """Return True if the key is a record's unique key, so that no other message has it."""
        return self._index_type != INDEX_TAG and properties_of(record).get(PROPERTY_UNIQ_KEY) == self._key
