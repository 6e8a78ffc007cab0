"""Records of a range of the log, grouped by topic and queue.

The range begins where the last one ended. It has records of one file of the log, up to a limit. The log is
walked, not the consume queues: it is the source of truth, every record is examined on the way, and damage is
found. Records stay in the log; for each queue there are the units, which locate them. Memory is bounded by
`RECORDS_MAX`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from itertools import islice
from typing import Final

from mqgateway.engine.message import SysFlag, parse_properties, tags_code
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, NOT_COMPACTED
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.dispatch_request import enters_queue, inner_batch
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.unit_queue import PLACE as RECORD_PLACE
from mqgateway.engine.tier.format.index import PLACE, TAIL_MAX, QueueKind
from mqgateway.engine.tier.format.keys import KeyEntries
from mqgateway.engine.tier.format.segment import BLOCK_MAX
from mqgateway.engine.tier.retention_classes import ClassOf
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.walk import LogWalk, fields_of, hashes_of, keys_of

RECORDS_MAX: Final = 1 << 20
"""Maximum of records in a range: 20 MiB of units, or 46 for batches, 12 MiB of places, and 8 MiB of keys for
each key of a record."""
_CODES_MAX: Final = 10_000

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
    """Messages [first_offset, end_offset) of a queue; their retention class in days. Times in ms."""

    def __init__(self, topic: str, queue_id: int, kind: QueueKind, days: int, first_offset: int) -> None:
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
        if not self.blocks or self.blocks[-1].size + size > BLOCK_MAX:
            self.blocks.append(BlockStart(self.count, offset, time, size))
        else:
            self.blocks[-1].size += size
        self.first_time = min(self.first_time, time) if self.count else time
        self.last_time = max(self.last_time, time)
        self.units += unit
        self.count += 1
        self.end_offset = offset + messages

    def records_of(self, number: int, files: FileQueue) -> bytes:
        """Return the records of a block, read from the log; fewer bytes if the log lost them meanwhile."""
        size = self.kind.unit_size
        end = self.blocks[number + 1].first_unit if number + 1 < len(self.blocks) else self.count
        parts = []
        begin = at = -1
        for unit in range(self.blocks[number].first_unit, end):
            position, length = RECORD_PLACE.unpack_from(self.units, unit * size)
            if position != at:
                parts.append(files.read(begin, at - begin) if at > begin else b"")
                begin = position
            at = position + length
        parts.append(files.read(begin, at - begin))
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
        self._codes: dict[bytes | None, int] = {None: 0}
        self._hashes = KeyHashes()
        self._progress = progress
        self._range = CollectedRange(0)
        self._current: dict[tuple[bytes, int], int] = {}

    def collect(self, begin: int, limit: int, records_max: int = RECORDS_MAX) -> CollectedRange:
        """Return the range from `begin` on, which ends at `limit` or before; it is empty if no whole record
        is there. It ends with the file of its first record, or after `records_max` records. Raises `OSError`.
        """
        files = self._files
        found = self._range = CollectedRange(begin)
        self._current = {}
        part = FileQueue(files.pool, files.directory, files.file_size, files.framing)
        part.starts = [start for start in files.starts if files.start_of(begin) <= start < limit]
        walk = LogWalk(part, Findings(), lambda position: position >= limit, self._progress, begin)
        file_end = records_end = 0
        for data, at, position, size in islice(walk.records(), records_max):
            if file_end and position >= file_end:
                found.end = file_end
                break
            if position + size > limit:
                break
            file_end = file_end or files.start_of(position) + files.file_size
            found.end = records_end = position + size
            self._add(data, at, position, size)
        else:
            if file_end and walk.end == file_end <= limit:
                found.end = file_end
        if records_end:
            found.tail_position = max(begin, file_end - files.file_size, records_end - TAIL_MAX)
            found.tail = files.read(found.tail_position, records_end - found.tail_position)
        found.holes = [(first, end) for first, end in walk.damaged if end <= found.end]
        return found

    def _add(self, data: bytes, at: int, position: int, size: int) -> None:
        queue_id, offset, sys_flag, time, topic, properties = fields_of(data, at, size)
        days = self._classes[topic] if topic in self._classes else self._new_class(topic)
        found = self._range
        if days is None or queue_id < 0 or not enters_queue(sys_flag):
            found.left_out += 1
            found.left_out_bytes += size
            return
        keys = keys_of(properties)
        code = self._code(keys[0])
        messages = 1
        if sys_flag & SysFlag.INNER_BATCH or topic in self._batch_topics:
            parsed = parse_properties(properties.decode("utf-8", "replace"))
            offset, messages = inner_batch(parsed) or (offset, 1)
            kind = QueueKind.BATCHES
            unit = BATCH_UNIT.pack(position, size, code, time, offset, messages, NOT_COMPACTED, 0)
        else:
            kind = QueueKind.MESSAGES
            unit = UNIT.pack(position, size, code)
        number = self._queue(topic, queue_id, kind, offset, days)
        queue = found.queues[number]
        found.places += PLACE.pack(position - found.begin, number, queue.count)
        queue.add(offset, messages, unit, size, time)
        for key_hash in hashes_of(self._hashes, queue.topic, keys):
            found.keys.add(key_hash, position - found.begin)
        found.records += 1
        found.record_bytes += size

    def _queue(self, topic: bytes, queue_id: int, kind: QueueKind, offset: int, days: int) -> int:
        """Return the number of the queue to which a message at `offset` is added."""
        queues, key = self._range.queues, (topic, queue_id)
        number = self._current.get(key)
        if number is None or queues[number].kind is not kind or not queues[number].continues_at(offset):
            number = self._current[key] = len(queues)
            queues.append(CollectedQueue(topic.decode(), queue_id, kind, days, offset))
        return number

    def _new_class(self, topic: bytes) -> int | None:
        try:
            days = self._class_of(topic.decode())
        except UnicodeDecodeError:  # no broker made such a topic
            days = None
        self._classes[topic] = days
        return days

    def _code(self, tags: bytes | None) -> int:
        code = self._codes.get(tags)
        if code is None:
            if len(self._codes) >= _CODES_MAX:
                self._codes = {None: 0}
            code = self._codes[tags] = tags_code((tags or b"").decode("utf-8", "replace"))
        return code
