"""Records of a range of the log, grouped by topic and queue.

The range begins where the last one ended. It has records of one file of the log, up to a limit. The log is
walked, not the consume queues: it is the source of truth, every record is examined on the way, and damage is
found. Records stay in the log; for each queue there are the units, which locate them. Memory is bounded by
`RECORDS_MAX`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from struct import Struct
from typing import Final

from mqgateway.engine.message import SysFlag, parse_properties
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, NOT_COMPACTED
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.dispatch_request import enters_queue, inner_batch
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.unit_queue import PLACE as RECORD_PLACE
from mqgateway.engine.tier.format.index import PLACE, TAIL_MAX, QueueKind
from mqgateway.engine.tier.format.keys import KeyEntries
from mqgateway.engine.tier.format.segment import BLOCK_MAX
from mqgateway.engine.tier.retention_classes import ClassOf
from mqgateway.engine.tier.rows import Row, RowReader
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.walk import LogWalk, fields_of, hashes_of, keys_of

RECORDS_MAX: Final = 1 << 20
"""Maximum of records in a range: 20 MiB of units, or 46 for batches, 12 MiB of places, and 8 MiB of keys for
each key of a record."""
_ROWS_MAX: Final = 512
"""Maximum of records that are processed together."""
_PLACES: Final = {
    kind: Struct(f"{RECORD_PLACE.format}{kind.unit_size - RECORD_PLACE.size}x") for kind in QueueKind
}
"""Place of the record in a unit of each kind."""

Advance = Callable[[int, int], None]
"""Called at times with the bytes read and the bytes to read."""


@dataclass(slots=True)
class BlockStart:
    """First unit, first message and its store time (ms) of a block, and the bytes of its records."""

    first_unit: int
    first_offset: int
    first_time: int
    size: int


class CollectedQueue:
    """Messages [first_offset, end_offset) of a queue, the one with this number in its range; their retention
    class in days. Times in ms."""

    def __init__(
        self, topic: str, queue_id: int, kind: QueueKind, days: int, first_offset: int, number: int
    ) -> None:
        self.number = number
        self.topic = topic
        self.queue_id = queue_id
        self.kind = kind
        self.days = days
        self.first_offset = self.end_offset = first_offset
        self.units = bytearray()
        self.count = 0
        self.blocks: list[BlockStart] = []
        self.first_time = self.last_time = 0

    def continues_at(self, offset: int) -> bool:
        """Return True if a message at `offset` may follow. Offsets in queues of batches may have gaps."""
        if self.kind is QueueKind.BATCHES:
            return offset >= self.end_offset
        return offset == self.end_offset

    def add(self, offset: int, messages: int, unit: bytes, size: int, time: int) -> None:
        """Add the next record: its unit, its bytes and its store time."""
        blocks = self.blocks
        if blocks and blocks[-1].size + size <= BLOCK_MAX:
            blocks[-1].size += size
        else:
            blocks.append(BlockStart(self.count, offset, time, size))
        if not self.count:
            self.first_time = self.last_time = time
        elif time > self.last_time:
            self.last_time = time
        elif time < self.first_time:
            self.first_time = time
        self.units += unit
        self.count += 1
        self.end_offset = offset + messages

    def records_of(self, number: int, files: FileQueue) -> bytes:
        """Return the records of a block, read from the log; fewer bytes if the log lost them meanwhile."""
        size = self.kind.unit_size
        end = self.blocks[number + 1].first_unit if number + 1 < len(self.blocks) else self.count
        units = memoryview(self.units)[self.blocks[number].first_unit * size : end * size]
        position, _ = RECORD_PLACE.unpack_from(units)
        start = files.start_of(position)
        if start not in files.starts:
            return b""
        read = files.file(start).read
        parts = []
        begin = at = position
        for position, length in _PLACES[self.kind].iter_unpack(units):
            if position != at:
                parts.append(read(begin - start, at - begin))
                begin = position
            at = position + length
        parts.append(read(begin - start, at - begin))
        return b"".join(parts)


class CollectedRange:
    """The range [begin, end) of the log. `queues` are in the order of their first records; `places` are
    entries `PLACE` of the index, `keys` the hashes of all keys. `holes` have no valid record. `tail` has the
    last bytes up to the end of the last record, at `tail_position`; see `RangeHeader`.
    """

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self.queues: list[CollectedQueue] = []
        self.places = bytearray()
        self.keys = KeyEntries()
        self.holes: list[tuple[int, int]] = []
        self.tail_position = 0
        self.tail = b""
        self.records = self.record_bytes = self.left_out = self.left_out_bytes = 0


class Collector:
    """Collects ranges of the log in `files`. `batch_topics` have queues of batches."""

    def __init__(
        self, files: FileQueue, batch_topics: Container[bytes], class_of: ClassOf, progress: Advance
    ) -> None:
        self._files = files
        self._batch_topics = batch_topics
        self._class_of = class_of
        self._classes: dict[bytes, int | None] = {}
        self._reader = RowReader()
        self._progress = progress
        self._range = CollectedRange(0)
        self._current: dict[tuple[bytes, int], CollectedQueue] = {}
        self._limit = self._file_end = self._records_end = self._room = 0

    def collect(self, begin: int, limit: int, records_max: int = RECORDS_MAX) -> CollectedRange:
        """Return the range from `begin` on, which ends at `limit` or before; it is empty if no whole record
        is there. It ends with the file of its first record, or after `records_max` records. Raises `OSError`.
        """
        files = self._files
        found = self._range = CollectedRange(begin)
        self._current = {}
        self._limit, self._room = limit, records_max
        self._file_end = self._records_end = 0
        part = FileQueue(files.pool, files.directory, files.file_size, files.framing)
        part.starts = [start for start in files.starts if files.start_of(begin) <= start < limit]
        walk = LogWalk(
            part, Findings(), lambda position: position >= limit, self._progress, begin, self._take_rows
        )
        for data, at, position, size in walk.records():
            if not self._room or position + size > limit:
                break
            if self._is_past_file(position):
                found.end = self._file_end
                break
            self._add(data, at, position, size)
        else:
            if self._file_end and walk.end == self._file_end <= limit:
                found.end = self._file_end
        records_end = self._records_end
        if records_end:
            found.tail_position = max(begin, self._file_end - files.file_size, records_end - TAIL_MAX)
            found.tail = files.read(found.tail_position, records_end - found.tail_position)
        found.holes = [(first, end) for first, end in walk.damaged if end <= found.end]
        return found

    def _is_past_file(self, position: int) -> bool:
        """Return True if a position is after the file of the first record."""
        return bool(self._file_end) and position >= self._file_end

    def _take_rows(self, data: bytes, at: int, position: int) -> int:
        """Add the plain records that begin at a position; return their bytes."""
        if not self._room or self._is_past_file(position):
            return 0
        end = min(len(data), at + self._limit - position)
        rows, done = self._reader.rows(data, at, end, position, min(self._room, _ROWS_MAX))
        self._add_rows(rows, position)
        return done - at

    def _add(self, data: bytes, at: int, position: int, size: int) -> None:
        """Add any valid record."""
        queue_id, offset, sys_flag, time, topic, properties = fields_of(data, at, size)
        keys = keys_of(properties)
        hashes = tuple(hashes_of(self._reader.hashes, topic.decode("utf-8", "replace"), keys))
        row = topic, queue_id, offset, sys_flag, time, size, self._reader.code(keys[0]), hashes
        batch = None
        if sys_flag & SysFlag.INNER_BATCH or topic in self._batch_topics:
            batch = inner_batch(parse_properties(properties.decode("utf-8", "replace"))) or (offset, 1)
        self._add_rows([row], position, batch)

    def _add_rows(self, rows: list[Row], position: int, batch: tuple[int, int] | None = None) -> None:
        """Add records that follow one another in the log. `batch` are the first offset and the number of
        messages of one that is a batch."""
        found, current = self._range, self._current
        places, add_keys, distance = found.places, found.keys.add, position - found.begin
        plain, pack_unit, pack_place = QueueKind.MESSAGES, UNIT.pack, PLACE.pack
        messages, left_out = 1, found.left_out_bytes
        for topic, queue_id, offset, sys_flag, time, size, code, hashes in rows:
            if batch is not None:
                offset, messages = batch
            queue = current.get((topic, queue_id))
            if queue is None or offset != queue.end_offset or sys_flag or queue.kind is not plain:
                queue = self._queue_for(topic, queue_id, offset, sys_flag, is_batch=batch is not None)
                if queue is None:
                    found.left_out += 1
                    found.left_out_bytes += size
                    distance += size
                    continue
            at = found.begin + distance
            if queue.kind is plain:
                unit = pack_unit(at, size, code)
            else:
                unit = BATCH_UNIT.pack(at, size, code, time, offset, messages, NOT_COMPACTED, 0)
            places += pack_place(distance, queue.number, queue.count)
            queue.add(offset, messages, unit, size, time)
            add_keys(hashes, distance)
            found.records += 1
            distance += size
        if rows:
            self._room -= len(rows)
            self._file_end = self._file_end or self._files.start_of(position) + self._files.file_size
            found.end = self._records_end = found.begin + distance
            found.record_bytes += found.end - position - (found.left_out_bytes - left_out)

    def _queue_for(
        self, topic: bytes, queue_id: int, offset: int, sys_flag: int, *, is_batch: bool
    ) -> CollectedQueue | None:
        """Return the queue to which a message at `offset` is added; None if it is not saved."""
        days = self._classes[topic] if topic in self._classes else self._new_class(topic)
        if days is None or queue_id < 0 or not enters_queue(sys_flag):
            return None
        is_batch = is_batch or topic in self._batch_topics
        kind = QueueKind.BATCHES if is_batch else QueueKind.MESSAGES
        queue = self._current.get((topic, queue_id))
        if queue is None or queue.kind is not kind or not queue.continues_at(offset):
            queues = self._range.queues
            queue = CollectedQueue(topic.decode(), queue_id, kind, days, offset, len(queues))
            self._current[topic, queue_id] = queue
            queues.append(queue)
        return queue

    def _new_class(self, topic: bytes) -> int | None:
        try:
            days = self._class_of(topic.decode())
        except UnicodeDecodeError:  # no broker made such a topic
            days = None
        self._classes[topic] = days
        return days
