"""The files of one compacted queue: records, and a unit with the position of each.

    compaction/compactionLog/TOPIC/QUEUE/START   concatenated records, each with its new position
    compaction/compactionCq/TOPIC/QUEUE/START    their units (`batch_consume_queue`), in a file of that name

A log file and its queue file are one segment. When either is full, an end unit ends the queue file and a
blank the log file. Queue offsets ascend and have gaps. Starts have gaps too, as compaction packs the
remaining records into the first files. RocketMQ: `CompactionLog.TopicPartitionLog`, `SparseConsumeQueue`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator
from zlib import crc32

from mqgateway.engine.disk import File, make_directories
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.message import PROPERTY_TAGS, tags_code
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE, NOT_COMPACTED, BatchUnit
from mqgateway.engine.store.file_queue import FilePool, clear_tail, file_name
from mqgateway.engine.store.record import BLANK_SIZE, CRC_SIZE, blank, decode, examine

log = logging.getLogger(__name__)

END_UNIT_PLACE = -1
END_UNIT = BATCH_UNIT.pack(END_UNIT_PLACE, 0, 0, 0, 0, 0, NOT_COMPACTED, 0)
ASIDE = ".without-log"
_CHECKED = 2
"""Segments that may not be on stable storage: the one being written and the one before it."""
_PAGE_UNITS = 512
_PLACE = struct.Struct(">q")
_PLACE_AT = 28
_PLACE_END = _PLACE_AT + _PLACE.size
_CRC_BEGIN = b"__CRC32#\x01"


Original = Callable[[int], bytes | None]
"""Returns the original record at a queue offset, or None if the commit log no longer contains it."""


class Segment:
    """One log file and its queue file.

    It has `count` units, with queue offsets from `first` to `last`, for `used` bytes of records.
    """

    __slots__ = ("count", "first", "last", "start", "used")

    def __init__(self, start: int, count: int = 0, first: int = -1, last: int = -1, used: int = 0) -> None:
        self.start, self.count, self.first, self.last, self.used = start, count, first, last, used


class CompactionFiles:
    """All segments of a queue, ascending. `unsynced` has the starts of those with unsynced writes."""

    def __init__(
        self, pool: FilePool, log_directory: str, queue_directory: str, log_size: int, queue_size: int
    ) -> None:
        self._pool = pool
        self._disk = pool.disk
        self.log_directory = log_directory
        self.queue_directory = queue_directory
        self.log_size = log_size
        self.queue_size = queue_size
        self.segments: list[Segment] = []
        self.unsynced: set[int] = set()
        self._syncing: set[int] = set()
        self._records = bytearray()
        self._units = bytearray()

    # Loading.

    def load(self, original: Original | None) -> None:
        """Load the segments; `original` is given after a crash, to verify the records.

        Only intact records are kept then. Missing units are rebuilt from the records. A segment without
        records, as after an interrupted removal, has its units set aside. Raises `CorruptFile` for a file of
        a wrong length and `OSError`.
        """
        check = original is not None
        logs, queues = self._names(self.log_directory), self._names(self.queue_directory)
        for name in sorted(queues - logs):
            path = f"{self.queue_directory}/{name}"
            log.error("%s/%s is missing: its messages are lost", self.log_directory, name)
            self._disk.rename(path, f"{path}{ASIDE}")
        for name in sorted(logs):
            path = f"{self.queue_directory}/{name}"
            if name not in queues or (not check and self._disk.size(path) < self.queue_size):
                self._make_units(int(name))
        self.segments = []
        for name in sorted(logs):
            self._check_length(f"{self.log_directory}/{name}", self.log_size, check)
            self._check_length(f"{self.queue_directory}/{name}", self.queue_size, check)
            self.segments.append(self._measured(Segment(int(name))))
        if original is not None:
            for index in range(max(0, len(self.segments) - _CHECKED), len(self.segments)):
                if not self._check(index, original):
                    break

    def _make_units(self, start: int) -> None:
        """Rebuild the units of a segment from its records; there may be none yet. Raises `OSError`."""
        name = file_name(start)
        make_directories(self._disk, self.queue_directory)
        source = self._disk.open(f"{self.log_directory}/{name}")
        target = self._disk.open(f"{self.queue_directory}/{name}", create=True)
        target.truncate(0)
        target.truncate(self.queue_size)
        used = count = 0
        while used + BLANK_SIZE < self.log_size:
            size = int.from_bytes(source.read(used, 4), "big")
            record = source.read(used, size) if BLANK_SIZE < size <= self.log_size - used else b""
            if not record or examine(record, 0, start + used, False) != size:
                break
            message = decode(record)
            code = tags_code(message.properties.get(PROPERTY_TAGS, ""))
            place, times = (start + used, size, code), (message.store_timestamp, message.queue_offset)
            target.write(count * BATCH_UNIT_SIZE, BATCH_UNIT.pack(*place, *times, 1, NOT_COMPACTED, 0))
            used += size
            count += 1
        is_ended = examine(source.read(used, BLANK_SIZE), 0, start + used, False) == 0
        if is_ended and (count + 1) * BATCH_UNIT_SIZE <= self.queue_size:
            target.write(count * BATCH_UNIT_SIZE, END_UNIT)
        self.unsynced.add(start)
        if count:
            log.warning("%s/%s: %d units were rebuilt from the records", self.queue_directory, name, count)

    def _names(self, directory: str) -> set[str]:
        return {name for name in self._disk.listdir(directory) if len(name) == 20 and name.isdigit()}

    def _check_length(self, path: str, wanted: int, repair: bool) -> None:
        size = self._disk.size(path)
        if size != wanted and repair and size < wanted:
            self._disk.open(path).truncate(wanted)
        elif size != wanted:
            raise CorruptFile(path, size, f"the file has {size} bytes, the settings say {wanted}")

    def _measured(self, segment: Segment) -> Segment:
        """Set a segment's fields from its units, of which the valid ones come first, and return it."""
        low, high = 0, self.queue_size // BATCH_UNIT_SIZE
        while low < high:
            middle = (low + high) // 2
            if _is_real(self._unit(segment, middle)):
                low = middle + 1
            else:
                high = middle
        return self._with_count(segment, low)

    def _with_count(self, segment: Segment, count: int) -> Segment:
        segment.count = count
        segment.first, segment.last, segment.used = -1, -1, 0
        if count:
            last = self._unit(segment, count - 1)
            segment.first, segment.last = self._unit(segment, 0).base_offset, last.base_offset
            segment.used = last.physical_offset + last.size - segment.start
        return segment

    def _check(self, index: int, original: Original) -> bool:
        """Truncate at the first record that is not intact, and return False; return True if all are."""
        segment = self.segments[index]
        before, place = self.segments[index - 1].last if index else -1, segment.start
        for number, unit in enumerate(self.units(segment, 0, segment.count)):
            if (
                unit.base_offset <= before
                or unit.physical_offset != place
                or not self._is_whole(segment, unit, original)
            ):
                log.warning("%s: %d messages of %020d are kept", self.log_directory, number, segment.start)
                self.cut(index, number)
                return False
            before, place = unit.base_offset, unit.physical_offset + unit.size
        is_last = index == len(self.segments) - 1
        if not is_last and self._unit(segment, segment.count).physical_offset != END_UNIT_PLACE:
            self.cut(index, segment.count)
            return False
        return True

    def _is_whole(self, segment: Segment, unit: BatchUnit, original: Original) -> bool:
        record = self.read(segment, unit.physical_offset, unit.size)
        wanted = original(unit.base_offset)
        if wanted is not None:
            place = _PLACE.pack(unit.physical_offset)
            return record == wanted[:_PLACE_AT] + place + wanted[_PLACE_END:]
        # A checksum of the whole record was computed with its position in the commit log.
        has_own = not record.startswith(_CRC_BEGIN, len(record) - CRC_SIZE)
        if len(record) != unit.size or examine(record, 0, unit.physical_offset, has_own) != unit.size:
            return False
        message = decode(record)
        is_same = message.queue_offset == unit.base_offset
        return is_same and crc32(message.body) & 0x7FFFFFFF == message.body_crc

    def cut(self, index: int, count: int) -> None:
        """Truncate after the first `count` messages of a segment."""
        for later in self.segments[index + 1 :]:
            self.remove(later.start)
        del self.segments[index + 1 :]
        segment = self._with_count(self.segments[index], count)
        clear_tail(self._file(self.queue_directory, segment.start), count * BATCH_UNIT_SIZE, self.queue_size)
        clear_tail(self._file(self.log_directory, segment.start), segment.used, self.log_size)
        self.unsynced.add(segment.start)

    def cut_from(self, offset: int) -> None:
        """Truncate the messages at and after a queue offset."""
        for index, segment in enumerate(self.segments):
            if segment.last >= offset:
                self.cut(index, self._number(segment, offset))
                return

    def remove(self, start: int) -> None:
        """Delete the files of a segment."""
        self.forget(start)
        for directory in (self.log_directory, self.queue_directory):
            if self._disk.exists(f"{directory}/{file_name(start)}"):
                self._disk.unlink(f"{directory}/{file_name(start)}")

    def forget(self, start: int) -> None:
        """Close the files of a segment, as others will take their names."""
        self._pool.forget(self.log_directory, start)
        self._pool.forget(self.queue_directory, start)
        self.unsynced.discard(start)
        self._syncing.discard(start)

    # Writing.

    @property
    def max_offset(self) -> int:
        """The queue offset after the last message; 0 if there is none."""
        return max((segment.last for segment in self.segments), default=-1) + 1

    @property
    def min_offset(self) -> int:
        """The queue offset of the first message; 0 if there is none."""
        return next((segment.first for segment in self.segments if segment.count), 0)

    def put(self, record: bytes, queue_offset: int, tags_code: int, store_timestamp: int) -> bool:
        """Append a record; return False if it is longer than a file. It reaches the files with `write_out`.

        Raises `OSError`.
        """
        size = len(record)
        if size + BLANK_SIZE > self.log_size:
            return False
        if not self.segments or not self._has_room(self.segments[-1], size):
            self._roll()
        segment = self.segments[-1]
        place = segment.start + segment.used
        self._records += record[:_PLACE_AT] + _PLACE.pack(place) + record[_PLACE_END:]
        self._units += BATCH_UNIT.pack(
            place, size, tags_code, store_timestamp, queue_offset, 1, NOT_COMPACTED, 0
        )
        if not segment.count:
            segment.first = queue_offset
        segment.count += 1
        segment.last = queue_offset
        segment.used += size
        return True

    def _has_room(self, segment: Segment, size: int) -> bool:
        units = (segment.count + 1) * BATCH_UNIT_SIZE < self.queue_size
        return units and segment.used + size + BLANK_SIZE <= self.log_size

    def _roll(self) -> None:
        """Begin the next segment, after syncing all segments before the last one."""
        start = 0
        if self.segments:
            self.close()
            start = self.segments[-1].start + self.log_size
            for older in (self.unsynced | self._syncing) - {self.segments[-1].start}:
                self.sync(older)
        for directory, size in ((self.log_directory, self.log_size), (self.queue_directory, self.queue_size)):
            make_directories(self._disk, directory)
            file = self._disk.open(f"{directory}/{file_name(start)}", create=True)
            file.truncate(0)
            file.truncate(size)
            self._pool.put(directory, start, file)
            self._disk.sync_dir(directory)
        self.segments.append(Segment(start))
        self.unsynced.add(start)

    def close(self) -> None:
        """End the last segment with an end unit and a blank. Raises `OSError`."""
        self.write_out()
        segment = self.segments[-1]
        if (segment.count + 1) * BATCH_UNIT_SIZE <= self.queue_size:
            at = segment.count * BATCH_UNIT_SIZE
            self._file(self.queue_directory, segment.start).write(at, END_UNIT)
        room = self.log_size - segment.used
        if room >= BLANK_SIZE:
            self._file(self.log_directory, segment.start).write(segment.used, blank(room))
        self.unsynced.add(segment.start)

    def write_out(self) -> None:
        """Write buffered records and units to the files, without a sync.

        Raises `OSError`; then retry all of it.
        """
        if not self._units:
            return
        segment = self.segments[-1]
        at = segment.used - len(self._records)
        self._file(self.log_directory, segment.start).write(at, self._records)
        at = segment.count * BATCH_UNIT_SIZE - len(self._units)
        self._file(self.queue_directory, segment.start).write(at, self._units)
        self.unsynced.add(segment.start)
        self._records.clear()
        self._units.clear()

    def sync(self, start: int) -> None:
        """Sync a segment to stable storage. Raises `OSError`."""
        self._sync_work({start})()
        self.unsynced.discard(start)
        self._syncing.discard(start)

    def begin_sync(self) -> Callable[[], None] | None:
        """Return the work that syncs all writes, for a worker; None if there is nothing to sync.

        The result must be passed to `end_sync` before the next call.
        """
        if not self.unsynced:
            return None
        self._syncing, self.unsynced = self.unsynced, set()
        return self._sync_work(self._syncing)

    def end_sync(self, outcome: Exception | None) -> None:
        """Note the result of the sync; after a failure the segments will be synced again."""
        if outcome is not None:
            log.error("%s cannot be synced: %s", self.log_directory, outcome)
            self.unsynced |= self._syncing
        self._syncing = set()

    def _sync_work(self, starts: set[int]) -> Callable[[], None]:
        directories = self.log_directory, self.queue_directory
        files = [self._file(directory, start) for start in starts for directory in directories]

        def work() -> None:
            for file in files:
                file.sync()
            for directory in directories:
                self._disk.sync_dir(directory)

        return work

    # Reading.

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return segment index, and number in it, of the first message at or after a queue offset."""
        for index, segment in enumerate(self.segments):
            if segment.count and segment.last >= offset:
                return index, self._number(segment, offset)
        return None

    def _number(self, segment: Segment, offset: int) -> int:
        low, high = 0, segment.count
        while low < high:
            middle = (low + high) // 2
            if self._unit(segment, middle).base_offset < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def units(self, segment: Segment, number: int, count: int) -> Iterator[BatchUnit]:
        """Yield up to `count` units of a segment, starting at a number."""
        file = self._file(self.queue_directory, segment.start)
        end = min(number + count, segment.count)
        for page in range(number, end, _PAGE_UNITS):
            length = min(_PAGE_UNITS, end - page) * BATCH_UNIT_SIZE
            data = file.read(page * BATCH_UNIT_SIZE, length)
            for fields in BATCH_UNIT.iter_unpack(data[: len(data) // BATCH_UNIT_SIZE * BATCH_UNIT_SIZE]):
                unit = BatchUnit(*fields)
                if not _is_real(unit):  # it could not be written yet
                    return
                yield unit

    def read(self, segment: Segment, place: int, size: int) -> bytes:
        """Return bytes of a segment's records, starting at a position."""
        return self._file(self.log_directory, segment.start).read(place - segment.start, size)

    def _unit(self, segment: Segment, number: int) -> BatchUnit:
        data = self._file(self.queue_directory, segment.start).read(number * BATCH_UNIT_SIZE, BATCH_UNIT_SIZE)
        return BatchUnit(*BATCH_UNIT.unpack(data))

    def _file(self, directory: str, start: int) -> File:
        return self._pool.get(directory, start)


def _is_real(unit: BatchUnit) -> bool:
    return unit.physical_offset >= 0 and unit.size > 0 and unit.base_offset >= 0 and unit.messages > 0
