"""Search of a tier for records with a key, by the hashes in the indexes of ranges (`format/keys`).

Ranges are searched one after the other, the newest first; for a unique key the oldest first, as clients begin
the window of such a query at the time that is in the key. A search ends with enough records, or after
`REQUESTS_MAX` requests. It waits for the object store, so it runs on a worker's thread.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.key_query import INDEX_UNIQUE, KeyCondition
from mqgateway.engine.store.older_messages import KeySearch
from mqgateway.engine.store.record import decode, store_timestamp
from mqgateway.engine.tier.directory import SavedRange, TierDirectory
from mqgateway.engine.tier.format.keys import place_of_key_page
from mqgateway.engine.tier.loading import (
    GoneBlock,
    LoadedBlock,
    LoadedHead,
    PlacesPage,
    load_head,
    load_page,
    load_run,
)
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.part_cache import PartCache

log = logging.getLogger(__name__)

REQUESTS_MAX: Final = 128
"""Requests to the store after which a search ends."""
_CACHE_BYTES: Final = 8 << 20
_HITS_WEIGHT: Final = 200


class KeyHits(NamedTuple):
    """Records that a search has found, by their positions in the log."""

    records: tuple[bytes, ...]

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""
        return _HITS_WEIGHT + sum(map(len, self.records))


def may_have(ranges: Iterable[SavedRange], search: KeySearch, before: int) -> bool:
    """Return True if a range that begins before a position of the log has hashes and messages of the search's
    time."""
    return any(_is_wanted(each, search, before) for each in ranges)


def _is_wanted(found: SavedRange, search: KeySearch, before: int) -> bool:
    header = found.header
    return (
        found.key.begin < before
        and header.keys_size > 0
        and header.first_time <= search.end
        and header.last_time >= search.begin
    )


def search_keys(store: ObjectStore, directory: TierDirectory, search: KeySearch, before: int) -> KeyHits:
    """Return the records before a position of the log that match. Raises `ObjectStoreUnavailable`.

    Ranges that cannot be read are skipped and reported.
    """
    return _Search(store, directory, search, before).run()


class _Search:
    """One search. `requests` is the number of requests that were made."""

    def __init__(self, store: ObjectStore, directory: TierDirectory, search: KeySearch, before: int) -> None:
        self._store = store
        self._directory = directory
        self._search = search
        self._before = before
        self._condition = KeyCondition(search.topic, search.key, search.kind)
        self._cache = PartCache(_CACHE_BYTES)
        self._hits: dict[int, bytes] = {}
        self.requests = 0

    def run(self) -> KeyHits:
        search = self._search
        ranges = [
            each for each in self._directory.ranges_of(search.topic) if _is_wanted(each, search, self._before)
        ]
        if search.kind != INDEX_UNIQUE:
            ranges.reverse()
        for number, found in enumerate(ranges):
            if self._is_over():
                self._report(len(ranges) - number)
                break
            try:
                self._search_range(found)
            except (CorruptFile, ObjectMissing) as error:
                log.error("a range of the tier is left out of a query by key: %s", error)
        return KeyHits(tuple(self._hits[position] for position in sorted(self._hits)))

    def _is_over(self) -> bool:
        return len(self._hits) >= self._search.most or self.requests >= REQUESTS_MAX

    def _report(self, left: int) -> None:
        if len(self._hits) < self._search.most:
            log.info(
                "a query for key %s of %s ended after %d requests, with %d ranges left",
                self._search.key,
                self._search.topic,
                self.requests,
                left,
            )

    def _search_range(self, found: SavedRange) -> None:
        begin = found.key.begin
        head: LoadedHead | None = None
        for distance in self._distances(found):
            if begin + distance >= self._before:
                continue
            if head is None:
                self.requests += 1
                head = load_head(self._store, found)
            record = self._record(head, begin + distance)
            if record is not None and self._matches(record, begin):
                self._hits[begin + distance] = record
            if self._is_over():
                return

    def _distances(self, found: SavedRange) -> Iterator[int]:
        """Yield the distances of records with the hash from the range's begin, the newest first."""
        header, key_hash = found.header, self._search.key_hash
        for page in reversed(found.key_pages.pages_with(key_hash)):
            if self.requests >= REQUESTS_MAX:
                return
            at, size = place_of_key_page(header.keys_size, page)
            self.requests += 1
            data = self._store.get_range(found.name, header.keys_at + at, size)
            yield from reversed(found.key_pages.distances(page, data, key_hash, found.name))

    def _record(self, head: LoadedHead, position: int) -> bytes | None:
        """Return the record at a position of the log, or None if its block is gone."""
        page = head.page_at(position)
        if page < 0:
            return None
        places = self._cache.get((head.range.key, page))
        if not isinstance(places, PlacesPage):
            self.requests += 1
            places = load_page(self._store, head, page)
            self._cache.put((head.range.key, page), places)
        place = places.find(position - head.range.key.begin)
        if place is None or place[0] >= len(head.head.queues):
            return None
        queue, unit = head.head.queues[place[0]], place[1]
        number = bisect_right(queue.blocks, unit, key=lambda block: block.first_unit) - 1
        key = head.range.key, place[0], number
        block = self._cache.get(key)
        if block is None:
            self.requests += 2
            run = range(number, number + 1)
            [loaded] = load_run(self._store, self._directory.names, head, queue, run)
            if isinstance(loaded, GoneBlock):
                log.error("a block of the tier is left out of a query by key: %s", loaded.reason)
            self._cache.put(key, loaded)
            block = loaded
        inside = unit - queue.blocks[number].first_unit
        if not isinstance(block, LoadedBlock) or inside >= len(block) or block.unit(inside)[0] != position:
            return None
        return block.record(inside)

    def _matches(self, record: bytes, begin: int) -> bool:
        """Return True if a record of the range that begins there has the key and the time, and its queue
        still has it."""
        search = self._search
        if not search.begin <= store_timestamp(record) <= search.end or not self._condition.matches(record):
            return False
        message = decode(record)
        base, _ = inner_batch(message.properties) or (message.queue_offset, 1)
        history = self._directory.history(message.topic, message.queue_id)
        span = None if history is None else history.find(base)
        return span is not None and span.begin == begin and span.first_offset <= base
