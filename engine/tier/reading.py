"""Messages of a tier, for readers of queues: what the local log has no longer.

Units, blocks and records are those of the log, so an answer differs in nothing from one of the local log. An
answer ends where the local log begins; the next one continues there.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Final, NamedTuple

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.consume_queue import AnyQueue
from mqgateway.engine.store.older_messages import KeySearch, NothingYet
from mqgateway.engine.store.record import store_timestamp
from mqgateway.engine.tier.directory import QueueHistory, SavedRange, TierDirectory
from mqgateway.engine.tier.format.index import SavedQueue
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.key_search import KeyHits, may_have, search_keys
from mqgateway.engine.tier.loading import (
    GoneBlock,
    LoadedBlock,
    LoadedHead,
    PlacesPage,
    load_head,
    load_page,
    load_run,
    run_of,
)
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.parts import Part, TierParts
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

REFRESH_MILLIS: Final = 60_000
"""Interval at which the ranges are listed."""
AHEAD_MAX: Final = 8
"""Maximum of blocks that are loaded together for a reader who reads on."""
READERS_MAX: Final = 4096
"""Queues whose readers are remembered to load ahead of them."""


class Spot(NamedTuple):
    """A block of a queue, with its number and the entry of the queue in the head of a range."""

    head: LoadedHead
    queue: SavedQueue
    number: int

    @property
    def key(self) -> Hashable:
        """The key of the block among the parts."""
        begin = self.head.range.key.begin
        return begin, self.queue.topic, self.queue.queue_id, self.queue.first_offset, self.number

    @property
    def end_offset(self) -> int:
        """The queue offset after the block."""
        blocks, after = self.queue.blocks, self.number + 1
        return blocks[after].first_offset if after < len(blocks) else self.queue.end_offset


class TierReading:
    """Reads the tier of one broker. Loads run on `worker`, whose threads are the tier's own; `cache_bytes` is
    the memory for what was loaded."""

    def __init__(
        self, store: ObjectStore, names: TierNames, *, worker: Worker, clock: Clock, cache_bytes: int
    ) -> None:
        self._store = store
        self._names = names
        self._worker = worker
        self._clock = clock
        self.parts = TierParts(worker, clock, cache_bytes)
        self.directory: TierDirectory | None = None
        """The ranges; None until the store has listed them."""
        self._is_refreshing = False
        self._refresh_at = 0
        self._wanted = self._listed_for = 0
        self._ahead: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()

    def tick(self) -> None:
        """List the ranges from time to time, and release readers that have waited long enough. Called every
        second or so."""
        self.parts.tick()
        now = elapsed_millis(self._clock)
        if now < self._refresh_at or self._is_refreshing or self.parts.is_paused:
            return
        self._is_refreshing = True
        known = TierDirectory(self._names) if self.directory is None else self.directory
        wanted = self._wanted

        def done(outcome: TierDirectory | Exception) -> None:
            self._is_refreshing = False
            if isinstance(outcome, Exception):
                self.parts.fail(outcome)
                return
            self.parts.succeed()
            self.directory, self._listed_for = outcome, wanted
            self._refresh_at = 0 if self._wanted > wanted else elapsed_millis(self._clock) + REFRESH_MILLIS

        self._worker.run(lambda: known.updated(self._store), done)

    def is_known(self, position: int) -> bool:
        """Return True if the ranges of the log before a position are known: they reach it, or they were
        listed since it was first asked for."""
        if self.directory is not None and max(self.directory.end_offset, self._listed_for) >= position:
            return True
        if position > self._wanted:
            self._wanted = position
            self._refresh_at = 0
        return False

    def has(self, queue: AnyQueue) -> bool:
        """Return True if it is known that the tier has messages of a queue."""
        return self.history(queue.topic, queue.queue_id) is not None

    @property
    def end_offset(self) -> int:
        """The end of what is saved of the log; 0 without ranges, or before they are known."""
        return 0 if self.directory is None else self.directory.end_offset

    def history(self, topic: str, queue_id: int) -> QueueHistory | None:
        """Return the history of a queue; None if it has none, or before the ranges are known."""
        return None if self.directory is None else self.directory.history(topic, queue_id)

    def min_offset(self, queue: AnyQueue) -> int:
        """Return the first offset of a queue, in the tier or in the log."""
        history = self.history(queue.topic, queue.queue_id)
        if history is None:
            return queue.min_offset
        return min(queue.min_offset, max(history[0].first_offset, queue.start))

    def blocks(
        self, queue: AnyQueue, offset: int, end: int, may_wait: bool
    ) -> Iterator[tuple[int, LoadedBlock | None]]:
        """Yield the blocks of a queue; see `blocks_of`."""
        return self.blocks_of(queue.topic, queue.queue_id, offset, end, may_wait)

    def blocks_of(
        self, topic: str, queue_id: int, offset: int, end: int, may_wait: bool
    ) -> Iterator[tuple[int, LoadedBlock | None]]:
        """Yield the blocks of a queue from an offset on and before `end`, each with the offset at which to
        read it. Messages that are gone are None, with the offset after them; it ends where the ranges do.

        Raises `NothingYet`, and `TierRead` unless `may_wait`.
        """
        directory = self.directory
        if directory is None:
            raise NothingYet(self.parts.missing)
        history = directory.history(topic, queue_id)
        while offset < end:
            span = None if history is None else history.find(offset)
            if span is None:
                return
            if span.first_offset > offset:
                offset = min(span.first_offset, end)
                yield offset, None
                continue
            spot = self._spot(directory.ranges[span.begin], topic, queue_id, offset, may_wait)
            if spot is None:
                offset = min(span.end_offset, end)
                yield offset, None
                continue
            block = self.parts.get(spot.key, partial(self._load_run, spot, 1), may_wait, span.begin)
            if isinstance(block, LoadedBlock):
                yield offset, block
            else:
                yield min(spot.end_offset, end), None
            offset = spot.end_offset

    def load_ahead(self, queue: AnyQueue, offset: int, next_offset: int) -> None:
        """Have the blocks loaded that a reader asks for next, who has read from `offset` to `next_offset`: as
        many more as the reader has read on, up to `AHEAD_MAX`."""
        topic, queue_id = key = queue.topic, queue.queue_id
        directory = self.directory
        expected, count = self._ahead.pop(key, (-1, 0))
        count = min(max(count, 1), AHEAD_MAX) if expected == offset else 0
        history = None if directory is None else directory.history(topic, queue_id)
        if directory is None or history is None:
            return
        self._ahead[key] = next_offset, count or 1
        if len(self._ahead) > READERS_MAX:
            self._ahead.popitem(last=False)
        if not count:
            return
        try:
            spot = self._ahead_of(directory, history, topic, queue_id, next_offset)
        except NothingYet:
            return
        if spot is not None and spot.key not in self.parts.cache:
            run = run_of(spot.queue, spot.number, count)
            keys = [spot._replace(number=number).key for number in run]
            if self.parts.begin(keys, partial(self._load_run, spot, len(run))) is not None:
                self._ahead[key] = next_offset, 2 * count

    def _ahead_of(
        self, directory: TierDirectory, history: QueueHistory, topic: str, queue_id: int, offset: int
    ) -> Spot | None:
        """Return the first block after the one with an offset; None at the end. Raises `NothingYet`."""
        span = history.find(offset)
        if span is None:
            return None
        found = directory.ranges[span.begin]
        spot = self._spot(found, topic, queue_id, max(offset, span.first_offset), True)
        if spot is None or spot.key not in self.parts.cache:
            return spot
        if spot.number + 1 < len(spot.queue.blocks):
            return spot._replace(number=spot.number + 1)
        after = history.find(span.end_offset)
        if after is None:
            return None
        return self._spot(directory.ranges[after.begin], topic, queue_id, after.first_offset, True)

    def record_at(self, position: int, may_wait: bool) -> bytes | None:
        """Return the record at a position in the log, or None. Raises `NothingYet`, and `TierRead` unless
        `may_wait`."""
        if self.directory is None:
            raise NothingYet(self.parts.missing)
        found = self.directory.range_at(position)
        loaded = None if found is None else self._head(found, may_wait)
        page = -1 if loaded is None else loaded.page_at(position)
        if found is None or loaded is None or page < 0:
            return None
        key = found.key.begin, "places", page
        places = self.parts.get(key, partial(self._load_page, key, loaded, page), may_wait, position)
        place = places.find(position - found.key.begin) if isinstance(places, PlacesPage) else None
        if place is None or place[0] >= len(loaded.head.queues):
            return None
        queue, unit = loaded.head.queues[place[0]], place[1]
        number = bisect_right(queue.blocks, unit, key=lambda block: block.first_unit) - 1
        if queue.blocks[number].segment in self.directory.expired_in(found.key):
            return None
        spot = Spot(loaded, queue, number)
        block = self.parts.get(spot.key, partial(self._load_run, spot, 1), may_wait, position)
        inside = unit - queue.blocks[number].first_unit
        if not isinstance(block, LoadedBlock) or inside >= len(block) or block.unit(inside)[0] != position:
            return None
        return block.record(inside)

    def with_key(self, search: KeySearch, before: int, may_wait: bool) -> tuple[bytes, ...]:
        """Return the records before a position in the log that match a search, in the order of the log.
        Raises `NothingYet`, and `TierRead` unless `may_wait`. Ranges without hashes of keys have none."""
        directory = self.directory
        if directory is None:
            raise NothingYet(self.parts.missing)
        if not may_have(directory.ranges.values(), search, before):
            return ()
        key = "keys", search, before, directory.end_offset
        load = partial(self._search_keys, key, directory, search, before)
        hits = self.parts.get(key, load, may_wait, before)
        return hits.records if isinstance(hits, KeyHits) else ()

    def first_stored_at(self, queue: AnyQueue, time: int, may_wait: bool) -> int | None:
        """Return the offset of the first message of a queue before its local ones that was stored at or after
        a time in ms; None if there is none. Raises `NothingYet`, and `TierRead` unless `may_wait`."""
        if self.directory is None:
            raise NothingYet(self.parts.missing)
        history = self.directory.history(queue.topic, queue.queue_id)
        span = None if history is None else history.find_time(time)
        if span is None or span.first_offset >= queue.min_offset:
            return None
        offset = span.first_offset
        spot = self._spot(self.directory.ranges[span.begin], queue.topic, queue.queue_id, offset, may_wait)
        if spot is not None:
            # The last block that begins before the time, as it may have the message.
            number = bisect_right(spot.queue.blocks, time - 1, key=lambda block: block.first_time) - 1
            offset = spot.queue.blocks[max(number, 0)].first_offset
        for begin, block in self.blocks(queue, offset, queue.min_offset, may_wait):
            if block is None:
                continue
            for unit in range(block.unit_at(begin), len(block)):
                if store_timestamp(block.record(unit)) >= time:
                    found = max(block.offset_of(unit), queue.start)
                    return found if found < queue.min_offset else None
        return None

    def store_time(self, queue: AnyQueue, offset: int, may_wait: bool) -> int:
        """Return when a message was stored, in ms; -1 if it is gone. Raises `NothingYet`, and `TierRead`
        unless `may_wait`."""
        for begin, block in self.blocks(queue, offset, offset + 1, may_wait):
            if block is not None and begin == offset:
                return store_timestamp(block.record(block.unit_at(offset)))
        return -1

    def _spot(self, found: SavedRange, topic: str, queue_id: int, offset: int, may_wait: bool) -> Spot | None:
        """Return the block with an offset; None if the index of the range is gone. Raises `NothingYet`, and
        `TierRead` unless `may_wait`."""
        loaded = self._head(found, may_wait)
        queue = None if loaded is None else loaded.queue(topic, queue_id, offset)
        if loaded is None or queue is None:
            return None
        number = bisect_right(queue.blocks, offset, key=lambda block: block.first_offset) - 1
        return Spot(loaded, queue, number)

    def _head(self, found: SavedRange, may_wait: bool) -> LoadedHead | None:
        key = found.key, "head"
        head = self.parts.get(key, partial(self._load_head, key, found), may_wait, found.key.begin)
        return head if isinstance(head, LoadedHead) else None

    # Loads, on a worker's thread.

    def _load_head(self, key: Hashable, found: SavedRange) -> list[Part]:
        try:
            return [(key, load_head(self._store, found))]
        except (CorruptFile, ObjectMissing) as error:
            return [(key, _gone(error))]

    def _search_keys(
        self, key: Hashable, directory: TierDirectory, search: KeySearch, before: int
    ) -> list[Part]:
        return [(key, search_keys(self._store, directory, search, before))]

    def _load_page(self, key: Hashable, loaded: LoadedHead, page: int) -> list[Part]:
        try:
            return [(key, load_page(self._store, loaded, page))]
        except (CorruptFile, ObjectMissing) as error:
            return [(key, _gone(error))]

    def _load_run(self, spot: Spot, most: int) -> list[Part]:
        run = run_of(spot.queue, spot.number, most)
        blocks = load_run(self._store, self._names, spot.head, spot.queue, run)
        for block in blocks:
            if isinstance(block, GoneBlock):
                log.error("messages of the tier are skipped, since they cannot be read: %s", block.reason)
        return [(spot._replace(number=number).key, block) for number, block in zip(run, blocks, strict=True)]


def _gone(error: Exception) -> GoneBlock:
    log.error("messages of the tier are skipped, since they cannot be read: %s", error)
    return GoneBlock(str(error))
