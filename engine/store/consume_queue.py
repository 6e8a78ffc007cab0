"""Consume queues: for each topic and queue, where in the commit log its messages lie.

    unit = physical-offset i8, size i4, tags-code i8          (20 bytes; unit n is at byte 20 n)

Derived from the commit log and rebuilt from it. New units stay in memory (`tail`) and are written out on
the flush interval or past a size; they can be read at once. A queue that does not start at unit 0 begins
with blank units (0, 0x7FFFFFFF, 0) up to its first one. tags-code is the hash of the tags, or for a delayed
message its delivery time. Standard: `ConsumeQueue`, `ConsumeQueueStore`.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator

from engine.errors import MessageIllegal
from engine.store.file_queue import FilePool, FileQueue

log = logging.getLogger(__name__)

UNIT = struct.Struct(">qiq")
UNIT_SIZE = UNIT.size
BLANK_UNIT = UNIT.pack(0, 0x7FFFFFFF, 0)
_pack = UNIT.pack

TAIL_LIMIT = 4000
"""Bytes a queue keeps in memory before it is written out."""


class ConsumeQueue:
    """One queue. Offsets are unit numbers.

    `next_offset` is what the next stored message gets; `max_offset` the first unit not there yet (behind
    `next_offset` by what was stored but not dispatched); `min_offset` the first that is still in the log.
    """

    __slots__ = ("_files", "dirty", "min_offset", "next_offset", "queue_id", "tail", "tail_start", "topic")

    def __init__(self, pool: FilePool, directory: str, file_size: int, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self._files = FileQueue(pool, directory, file_size)
        self.next_offset = 0
        self.min_offset = 0
        self.tail_start = 0
        self.tail = bytearray()
        self.dirty = False

    @property
    def max_offset(self) -> int:
        """The first unit that is not there yet."""
        return self.tail_start + len(self.tail) // UNIT_SIZE

    def append(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Put the unit of a message; one that is there already is left alone (dispatch may repeat itself)."""
        if offset != self.tail_start + len(self.tail) // UNIT_SIZE and not self._make_way(offset):
            return
        self.tail += _pack(physical_offset, size, tags_code)

    def _make_way(self, offset: int) -> bool:
        at = self.max_offset
        if offset < at:
            return False
        if at == 0:
            self.tail_start = self.min_offset = offset
            return True
        if (offset - at) * UNIT_SIZE > self._files.file_size:
            log.error("%s queue %d: unit %d after %d, not taken", self.topic, self.queue_id, offset, at)
            return False
        log.warning("%s queue %d: units %d to %d are missing", self.topic, self.queue_id, at, offset)
        self.tail += BLANK_UNIT * (offset - at)
        return True

    def units(self, offset: int, count: int) -> bytes | bytearray:
        """Up to `count` units from `offset`; nothing outside of what is there."""
        at = offset - self.tail_start
        if at >= 0:
            return self.tail[at * UNIT_SIZE : (at + count) * UNIT_SIZE]
        data = self._files.read(offset * UNIT_SIZE, min(count, -at) * UNIT_SIZE)
        if count > -at and len(data) == -at * UNIT_SIZE:
            data += self.tail[: (count + at) * UNIT_SIZE]
        return data

    def unit(self, offset: int) -> tuple[int, int, int] | None:
        """Physical offset, size and tags code of one message, or None."""
        data = self.units(offset, 1)
        return UNIT.unpack(data) if len(data) == UNIT_SIZE else None

    def write_out(self) -> None:
        """Write the tail to its files (not synced). Raises `OSError`; then the tail stays."""
        if not self.tail:
            return
        files = self._files
        at = self.tail_start * UNIT_SIZE
        if not files.starts:
            begin = files.start_of(at)
            files.write(begin, BLANK_UNIT * ((at - begin) // UNIT_SIZE))
        files.write(at, self.tail)
        self.tail_start += len(self.tail) // UNIT_SIZE
        self.tail.clear()

    def touched(self, since: int) -> list[int]:
        """Starts of the files that hold units from `since` on."""
        first = self._files.start_of(since * UNIT_SIZE)
        return [start for start in self._files.starts if start >= first]

    @property
    def directory(self) -> str:
        """Where the files are."""
        return self._files.directory

    def load(self, below: int | None) -> None:
        """Find the files and the end of the units in them.

        Units count while they are real and, with `below`, lie below that physical offset. Both hold for a
        beginning of the queue and for nothing after it, so the border is found by halving.
        """
        self._files.load(repair=below is not None)
        if not self._files.starts:
            return
        low, end = self._files.starts[0] // UNIT_SIZE, self._files.end // UNIT_SIZE
        high = end
        while low < high:
            middle = (low + high) // 2
            position, size, _ = UNIT.unpack(self._files.read(middle * UNIT_SIZE, UNIT_SIZE))
            if size > 0 and position >= 0 and (below is None or position < below):
                low = middle + 1
            else:
                high = middle
        self.tail_start = end
        if below is None and not self._files.read(low * UNIT_SIZE, UNIT_SIZE).strip(b"\0"):
            # A clean stop left zeros there, and cutting would only write them again.
            self.tail_start = self.next_offset = low
        else:
            self.cut(low)

    def cut(self, offset: int) -> None:
        """Forget the units from `offset` on."""
        if offset >= self.tail_start:
            del self.tail[(offset - self.tail_start) * UNIT_SIZE :]
        else:
            self.tail.clear()
            self._files.cut(offset * UNIT_SIZE)
            self.tail_start = offset
        self.next_offset = self.max_offset
        self.min_offset = min(self.min_offset, self.next_offset)

    def end_by_scan(self, good: Callable[[int, int, int], bool]) -> int:
        """The end of the units that `good` (unit number, physical offset, size) accepts, one by one."""
        if not self._files.starts:
            return 0
        first = self._files.starts[0] // UNIT_SIZE
        for offset in range(first, self._files.end // UNIT_SIZE):
            unit = self.unit(offset) if offset < self.tail_start else None
            if unit is None or not good(offset, unit[0], unit[1]):
                return offset
        return self.tail_start

    def correct_min(self, min_physical_offset: int) -> None:
        """Move `min_offset` to the first unit that is still in the commit log.

        Standard: `ConsumeQueue.correctMinOffset`.
        """
        low = max(
            self.min_offset, self._files.starts[0] // UNIT_SIZE if self._files.starts else self.tail_start
        )
        high = self.max_offset
        first = self.unit(low)
        if first is None or (first[0] >= min_physical_offset and first[1] != 0x7FFFFFFF):
            self.min_offset = min(low, high)
            return
        while low < high:
            middle = (low + high) // 2
            unit = self.unit(middle)
            if unit is None or (unit[0] >= min_physical_offset and unit[1] != 0x7FFFFFFF):
                high = middle
            else:
                low = middle + 1
        self.min_offset = low

    def drop_before(self, min_physical_offset: int) -> int:
        """Delete files whose last unit is no longer in the commit log; returns how many."""
        per_file = self._files.file_size // UNIT_SIZE

        def expired(start: int) -> bool:
            last = self.unit(start // UNIT_SIZE + per_file - 1)
            return last is not None and last[0] < min_physical_offset

        count = self._files.count_while(expired)
        self._files.drop_first(count)
        self.correct_min(min_physical_offset)
        return count

    def destroy(self) -> None:
        """Delete everything."""
        self._files.destroy()
        self.tail.clear()


class ConsumeQueues:
    """All queues, by topic and queue id.

    `written` lists what was written out since the last sync, for whoever makes it durable.
    """

    def __init__(self, pool: FilePool, directory: str, file_size: int, limit: int) -> None:
        self.pool = pool
        self.directory = directory
        self.file_size = file_size
        self._limit = limit
        self._count = 0
        self.table: dict[str, dict[int, ConsumeQueue]] = {}
        self.dirty: list[ConsumeQueue] = []
        self.written: set[tuple[str, int]] = set()

    def __iter__(self) -> Iterator[ConsumeQueue]:
        for queues in self.table.values():
            yield from queues.values()

    def load(self, below: int | None) -> None:
        """Find the queues on disk; see `ConsumeQueue.load`. After an unclean stop (`below` is given) no
        name is known to be durable."""
        disk = self.pool.disk
        for topic in disk.listdir(self.directory):
            for name in disk.listdir(f"{self.directory}/{topic}"):
                if name.isdigit() and disk.is_dir(f"{self.directory}/{topic}/{name}"):
                    queue = self.open(topic, int(name))
                    queue.load(below)
                    if below is not None:
                        self.pool.unsynced.add(queue.directory)
                        self.pool.note_directory(queue.directory)

    def get(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """A queue that is there."""
        queues = self.table.get(topic)
        return None if queues is None else queues.get(queue_id)

    def open(self, topic: str, queue_id: int) -> ConsumeQueue:
        """A queue, made if needed. Raises `MessageIllegal` for a topic that is no directory name."""
        queue = self.get(topic, queue_id)
        if queue is not None:
            return queue
        if "/" in topic or "\0" in topic or topic in ("", ".", ".."):
            raise MessageIllegal(f"the topic {topic!r} cannot be stored")
        if queue_id < 0:
            raise MessageIllegal(f"the queue id is {queue_id}")
        if self._count >= self._limit:
            raise MessageIllegal(f"there are {self._count} queues already, as many as maxQueues allows")
        self._count += 1
        directory = f"{self.directory}/{topic}/{queue_id}"
        queue = ConsumeQueue(self.pool, directory, self.file_size, topic, queue_id)
        self.table.setdefault(topic, {})[queue_id] = queue
        return queue

    def mark(self, queue: ConsumeQueue) -> None:
        """Note that a queue has something to write out."""
        if not queue.dirty:
            queue.dirty = True
            self.dirty.append(queue)

    def write_out(self, queue: ConsumeQueue) -> None:
        """Write one queue's tail. Raises `OSError`."""
        since = queue.tail_start
        queue.write_out()
        for start in queue.touched(since):
            self.written.add((queue.directory, start))

    def write_all_out(self) -> None:
        """Write every tail. Raises `OSError` and keeps the ones not written."""
        while self.dirty:
            self.write_out(self.dirty[-1])
            self.dirty.pop().dirty = False

    def delete(self, topic: str) -> bool:
        """Delete all queues of a topic; false when there is none."""
        queues = self.table.pop(topic, None)
        if queues is None:
            return False
        self._count -= len(queues)
        for queue in queues.values():
            queue.destroy()
        self.dirty = [queue for queue in self.dirty if queue.topic != topic]
        self.written = {item for item in self.written if not item[0].startswith(f"{self.directory}/{topic}/")}
        self.pool.disk.rmtree(f"{self.directory}/{topic}")
        return True
