"""The directory of a tier: which range has which messages of a queue, by the heads of the ranges.

A directory never changes: `updated` returns another one, and runs on a worker's thread. In memory it takes 32
bytes for each queue of each range, and 8 for each page of its keys.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.index import (
    QueueKind,
    RangeHead,
    RangeHeader,
    SavedQueue,
    decode_head,
    decode_header,
)
from mqgateway.engine.tier.format.keys import KeyPages
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.ranges import RangeKey, ranges_that_count
from mqgateway.engine.tier.survey import list_ranges, read_listed_epoch

log = logging.getLogger(__name__)

FIRST_READ: Final = 64 << 10
"""Bytes of an index that are read at once: they have the whole head unless the range has many queues."""
Key = tuple[str, int]
"""Topic and queue id."""


class QueueSpan(NamedTuple):
    """The messages [first_offset, end_offset) of a queue in the range that begins at `begin` in the log, and
    the newest store time of them in ms."""

    first_offset: int
    end_offset: int
    last_time: int
    begin: int


class QueueHistory:
    """The spans of a queue in the order of the log. Offsets ascend: what was saved before a topic was deleted
    is no part of it. `kind` is that of the last one."""

    __slots__ = ("_begins", "_ends", "_firsts", "_times", "kind")

    def __init__(self, spans: Iterable[QueueSpan] = (), kind: QueueKind = QueueKind.MESSAGES) -> None:
        self.kind = kind
        self._firsts, self._ends = array("q"), array("q")
        self._times, self._begins = array("q"), array("q")
        for span in spans:
            self.append(span)

    def append(self, span: QueueSpan) -> None:
        """Add the span of a later range."""
        if self._ends and span.first_offset < self._ends[-1]:
            for values in (self._firsts, self._ends, self._times, self._begins):
                del values[:]
        self._firsts.append(span.first_offset)
        self._ends.append(span.end_offset)
        self._times.append(span.last_time)
        self._begins.append(span.begin)

    def __len__(self) -> int:
        return len(self._firsts)

    def __getitem__(self, number: int) -> QueueSpan:
        return QueueSpan(self._firsts[number], self._ends[number], self._times[number], self._begins[number])

    @property
    def begins(self) -> Iterable[int]:
        """The begins of the ranges in the log, ascending."""
        return self._begins

    @property
    def end_offset(self) -> int:
        """The offset after the last span, of which there is one."""
        return self._ends[-1]

    @property
    def last_time(self) -> int:
        """The newest store time in ms of the last span, of which there is one."""
        return self._times[-1]

    def find(self, offset: int) -> QueueSpan | None:
        """Return the span with an offset, or the next one; None if there is none."""
        number = bisect_right(self._ends, offset)
        return self[number] if number < len(self) else None

    def find_time(self, time: int) -> QueueSpan | None:
        """Return the first span with a message that was stored at or after a time in ms; None without one."""
        for number, last_time in enumerate(self._times):
            if last_time >= time:
                return self[number]
        return None

    def only(self, begins: Mapping[int, object]) -> QueueHistory:
        """Return the history in these ranges."""
        spans = (self[number] for number in range(len(self)) if self._begins[number] in begins)
        return QueueHistory(spans, self.kind)

    def begun_at(self, begin: int, offset: int) -> QueueHistory:
        """Return the history without the messages before an offset in the range that begins at `begin`."""
        made = self.copy()
        low, high = bisect_left(made._begins, begin), bisect_right(made._begins, begin)
        gone = sum(1 for number in range(low, high) if made._ends[number] <= offset)
        for values in (made._firsts, made._ends, made._times, made._begins):
            del values[low : low + gone]
        if low < high - gone:
            made._firsts[low] = max(made._firsts[low], offset)
        return made

    def copy(self) -> QueueHistory:
        """Return a history of the same spans."""
        made = QueueHistory(kind=self.kind)
        made._firsts, made._ends = self._firsts[:], self._ends[:]
        made._times, made._begins = self._times[:], self._begins[:]
        return made


class SavedRange(NamedTuple):
    """A range of the log that counts, by the name of its index, and the pages of its keys."""

    key: RangeKey
    name: str
    header: RangeHeader
    key_pages: KeyPages


class TierDirectory:
    """The ranges of a broker's tier that count, and the history of each queue."""

    def __init__(self, names: TierNames) -> None:
        self.names = names
        self.ranges: dict[int, SavedRange] = {}
        self._begins: list[int] = []
        self._queues: dict[Key, QueueHistory] = {}
        self._starts: dict[int, int] = {}
        self._damaged: frozenset[RangeKey] = frozenset()
        self._expired: dict[RangeKey, dict[int, int]] = {}

    @property
    def end_offset(self) -> int:
        """The end of the last range in the log; 0 without ranges."""
        return self.ranges[self._begins[-1]].header.end if self._begins else 0

    def history(self, topic: str, queue_id: int) -> QueueHistory | None:
        """Return the history of a queue, or None if no range has it."""
        found = self._queues.get((topic, queue_id))
        return found if found else None

    def histories(self) -> Iterator[tuple[Key, QueueHistory]]:
        """Yield the histories of all queues that have one."""
        return ((queue, history) for queue, history in self._queues.items() if history)

    def expired_in(self, key: RangeKey) -> Container[int]:
        """Return the numbers of the expired segments of a range, whose messages are no part of histories."""
        return self._expired.get(key, ())

    def ranges_of(self, topic: str) -> list[SavedRange]:
        """Return the ranges with messages of a topic, in the order of the log."""
        begins = {
            begin for (name, _), history in self._queues.items() if name == topic for begin in history.begins
        }
        return [self.ranges[begin] for begin in sorted(begins)]

    def range_at(self, position: int) -> SavedRange | None:
        """Return the range that has a position of the log."""
        number = bisect_right(self._begins, position) - 1
        found = self.ranges[self._begins[number]] if number >= 0 else None
        return found if found is not None and position < found.header.end else None

    def updated(self, store: ObjectStore) -> TierDirectory:
        """Return the directory of the objects that the store has now. Raises `ObjectStoreUnavailable`, and
        `CorruptFile` for the object of an epoch.

        A range whose index is damaged is left out; it is reported once.
        """
        starts = self._read_starts(store)
        sizes, expired = list_ranges(store, self.names)
        live = ranges_that_count(starts, sizes)
        made = self._kept(live)
        made._starts, made._expired = starts, expired
        for key in [each.key for each in made.ranges.values()]:
            if self._expired.get(key) != expired.get(key):
                made._trim(store, key, sizes[key])
        damaged = {key for key in live if key in self._damaged}
        own = set[Key]()
        for key in live:
            if key.begin in made.ranges or key in damaged:
                continue
            if not made._add(store, key, sizes[key], own):
                damaged.add(key)
        made._damaged = frozenset(damaged)
        made._begins = sorted(made.ranges)
        return made

    def _read_starts(self, store: ObjectStore) -> dict[int, int]:
        """Return the starts of all epochs; the object of an epoch never changes."""
        starts: dict[int, int] = {}
        for name, size in store.list_from(self.names.epochs):
            epoch = self.names.epoch_of(name)
            if epoch is not None:
                start = self._starts.get(epoch)
                if start is None:
                    found = read_listed_epoch(store, self.names, epoch, size)
                    start = None if found is None else found.start
                if start is not None:
                    starts[epoch] = start
        return starts

    def _kept(self, live: list[RangeKey]) -> TierDirectory:
        """Return a directory of those ranges of this one that still count, if all others come after them."""
        made = TierDirectory(self.names)
        known = {begin: each.key for begin, each in self.ranges.items()}
        kept = [key for key in live if known.get(key.begin) == key]
        others = [key for key in live if known.get(key.begin) != key and key not in self._damaged]
        if not kept or (others and others[0].begin < kept[-1].begin):
            return made
        made.ranges = {key.begin: self.ranges[key.begin] for key in kept}
        made._queues = dict(self._queues)
        if len(kept) < len(self.ranges):
            for queue, history in self._queues.items():
                made._queues[queue] = history.only(made.ranges)
        return made

    def _add(self, store: ObjectStore, key: RangeKey, size: int, own: set[Key]) -> bool:
        """Add a range that comes after the others; return False if its index cannot be read. `own` are the
        queues whose histories are of this directory only."""
        name = self.names.range(*key)
        try:
            header, head = read_head(store, name, size)
            if (header.epoch, header.begin) != key:
                raise CorruptFile(name, 0, f"the index is that of {header.begin} in epoch {header.epoch}")
        except (CorruptFile, ObjectMissing) as error:
            log.error("a range of the tier is left out, since its index cannot be read: %s", error)
            return False
        self.ranges[key.begin] = SavedRange(key, name, header, KeyPages(head.key_pages))
        for found in head.queues:
            queue = found.topic, found.queue_id
            if queue not in own:
                own.add(queue)
                known = self._queues.get(queue)
                self._queues[queue] = QueueHistory() if known is None else known.copy()
            span = QueueSpan(found.first_offset, found.end_offset, found.last_time, key.begin)
            self._queues[queue].append(span)
            self._queues[queue].kind = found.kind
        self._leave_out_expired(key, head)
        return True

    def _trim(self, store: ObjectStore, key: RangeKey, size: int) -> None:
        """Leave out what has expired of a range that is here already."""
        try:
            _, head = read_head(store, self.names.range(*key), size)
        except (CorruptFile, ObjectMissing) as error:
            log.error("it is not known what has expired of a range of the tier: %s", error)
            return
        self._leave_out_expired(key, head)

    def _leave_out_expired(self, key: RangeKey, head: RangeHead) -> None:
        expired = self._expired.get(key)
        if not expired:
            return
        for found in head.queues:
            first, queue = first_kept(found, expired), (found.topic, found.queue_id)
            if first > found.first_offset:
                self._queues[queue] = self._queues[queue].begun_at(key.begin, first)


def first_kept(queue: SavedQueue, expired: Container[int]) -> int:
    """Return the offset of a queue's first message after those in expired segments; its end without one."""
    blocks = queue.blocks
    for number in range(len(blocks) - 1, -1, -1):
        if blocks[number].segment in expired:
            return queue.block_end(number)
    return queue.first_offset


def read_head(store: ObjectStore, name: str, size: int) -> tuple[RangeHeader, RangeHead]:
    """Return header and head of an index of `size` bytes. Raises `CorruptFile`, `ObjectMissing` and
    `ObjectStoreUnavailable`."""
    data = store.get_range(name, 0, min(size, FIRST_READ))
    header = decode_header(data, name)
    if header.object_size != size:
        raise CorruptFile(name, 0, f"the index has {size} bytes, its header says {header.object_size}")
    if header.units_at > len(data):
        data += store.get_range(name, len(data), header.units_at - len(data))
    return header, decode_head(header, data[header.head_at : header.units_at], name)
