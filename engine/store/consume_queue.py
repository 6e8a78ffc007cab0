"""Consume queues: the positions in the commit log of the messages of each topic and queue.

    unit = physical-offset i8, size i4, tags-code i8          (20 bytes; unit n is at byte 20 n)

They are derived from the commit log and can be rebuilt from it. A queue that does not start at unit 0 begins
with blank units (0, 0x7FFFFFFF, 0) up to its first one. tags-code is the hash of the tags, or the delivery
time of a delayed message. In files of RocketMQ it may be an address, see `ADDRESS_MAX`. `ConsumeQueues` has
these queues and those of the other kind, `BatchConsumeQueue`. RocketMQ: `ConsumeQueue`, `ConsumeQueueStore`.
"""

from __future__ import annotations

import logging
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import accumulate, repeat
from typing import Final

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import CorruptFile, MessageIllegal
from mqgateway.engine.extension import native
from mqgateway.engine.names import is_lmq
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchConsumeQueue
from mqgateway.engine.store.file_queue import FilePool, file_name
from mqgateway.engine.store.unit_queue import BLANK_PLACE, PLACE, FirstFile, UnitQueue

log = logging.getLogger(__name__)

UNIT: Final = struct.Struct(">qiq")
UNIT_SIZE: Final = UNIT.size
BLANK_UNIT: Final = UNIT.pack(*BLANK_PLACE, 0)
_pack: Final = UNIT.pack
ADDRESS_MAX: Final = -(1 << 31) - 1
"""Maximum of tags codes that are addresses in RocketMQ's `ConsumeQueueExt`.

That keeps the code with a bit map in another file. This store writes none, and computes the code from the
message.
"""

TAIL_LIMIT: Final = 4000
"""Bytes that a queue buffers in memory before it is written."""


def units_of(physical_offset: int, sizes: list[int]) -> bytes:
    """Return units, without tags codes, of consecutive records with these sizes."""
    if native is not None:
        return native.queue_units(physical_offset, sizes)
    return b"".join(map(_pack, accumulate(sizes, initial=physical_offset), sizes, repeat(0)))


class ConsumeQueue(UnitQueue):
    """One queue. Offsets are unit numbers."""

    __slots__ = ()

    unit_size = UNIT_SIZE
    blank = BLANK_UNIT

    @property
    def max_offset(self) -> int:
        """The offset after the last unit."""
        return self.tail_start + len(self.tail) // UNIT_SIZE

    def append(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Append the unit of a message; an existing unit is left alone, as dispatch may be repeated."""
        if offset != self.tail_start + len(self.tail) // UNIT_SIZE and not self._make_way(offset):
            return
        self.tail += _pack(physical_offset, size, tags_code)

    def extend(self, offset: int, units: bytes) -> None:
        """Append the units of consecutive messages, starting at `offset`, as `append` does for each."""
        if offset == self.tail_start + len(self.tail) // UNIT_SIZE:
            self.tail += units
            return
        for number, unit in enumerate(UNIT.iter_unpack(units)):
            self.append(offset + number, *unit)

    def _make_way(self, offset: int) -> bool:
        at = self.max_offset
        if offset < at:
            return False
        if at == 0:
            self.tail_start = self.min_offset = offset
            return True
        if (offset - at) * UNIT_SIZE > self._files.file_size:
            log.error("%s queue %d: unit %d after %d is ignored", self.topic, self.queue_id, offset, at)
            return False
        log.warning("%s queue %d: units %d to %d are missing", self.topic, self.queue_id, at, offset)
        self.tail += BLANK_UNIT * (offset - at)
        return True

    def give_way(self, offset: int, physical_offset: int) -> None:
        """Remove units that conflict with a record that is dispatched again.

        The later record in the log wins, as after a topic was deleted and created again. A unit of another
        record at `offset` is truncated with all after it. So are units of records later in the log, which
        will be dispatched again too.
        """
        if offset < self.max_offset:
            place = self.place(offset)
            if place is None or place[0] != physical_offset:
                self.cut_units(offset)
        self.cut_places_after(physical_offset, offset)

    def units(self, offset: int, count: int, may_wait: bool = True) -> bytes | bytearray:
        """Return up to `count` units from `offset`, of those that exist. See `read` for `may_wait`."""
        return self.read(offset, count, may_wait)

    def unit(self, offset: int, may_wait: bool = True) -> tuple[int, int, int] | None:
        """Return physical offset, size and tags code of one message; None if there is none."""
        data = self.read(offset, 1, may_wait)
        return UNIT.unpack(data) if len(data) == UNIT_SIZE else None

    def offset_of(self, number: int) -> int:
        """Return the queue offset of the first message of a unit."""
        return number

    def number_of(self, offset: int, may_wait: bool = True) -> int:
        """See `UnitQueue`."""
        return offset

    def _adjust_ends(self) -> None:
        self.next_offset = self.max_offset
        self.start = min(self.start, self.next_offset)
        self.min_offset = min(self.min_offset, self.next_offset)

    def correct_min(self, min_physical_offset: int) -> None:
        """Advance `min_offset` to the first unit that is still in the log and not removed by a marker.

        RocketMQ: `ConsumeQueue.correctMinOffset`.
        """
        self.min_offset = max(self.first_in_log(min_physical_offset, self.min_offset), self.start)


AnyQueue = ConsumeQueue | BatchConsumeQueue


def _no_batches(_topic: str) -> bool:
    return False


class ConsumeQueues:
    """All queues, by topic and queue id.

    The kind of a topic's queues is that of its directory. A new topic gets batch consume queues if `is_batch`
    returns True. `written` lists the files written since the last sync. `new` has queues that had no file
    when they got a unit. `making` has the directories whose first file is being created on a worker; these
    are not written to meanwhile. `lmq_count` is the number of LMQ queues.
    """

    def __init__(
        self,
        pool: FilePool,
        directory: str,
        file_size: int,
        limit: int,
        *,
        batch_directory: str = "",
        ext_directory: str = "",
        batch_file_size: int = 0,
        is_batch: Callable[[str], bool] = _no_batches,
    ) -> None:
        self.pool = pool
        self.directory = directory
        self.file_size = file_size
        self.batch_directory = batch_directory
        self.ext_directory = ext_directory
        self.batch_file_size = batch_file_size
        self._is_batch = is_batch
        self._limit = limit
        self._on_damage: Callable[[], None] = lambda: None
        self._count = 0
        self.lmq_count = 0
        self.table: dict[str, dict[int, AnyQueue]] = {}
        self.dirty: deque[AnyQueue] = deque()
        self.new: deque[AnyQueue] = deque()
        self.making: set[str] = set()
        self.written: set[tuple[str, int]] = set()

    @property
    def count(self) -> int:
        """Number of queues."""
        return self._count

    def __iter__(self) -> Iterator[AnyQueue]:
        for queues in self.table.values():
            yield from queues.values()

    def folders(self) -> Iterator[tuple[str, int, bool]]:
        """Yield topic, queue id, and True for a batch queue, for each queue directory."""
        disk = self.pool.disk
        for directory in filter(None, (self.directory, self.batch_directory)):
            is_batch = directory == self.batch_directory
            for topic in disk.subdirs(directory):
                for name in disk.subdirs(f"{directory}/{topic}"):
                    if name.isdigit():
                        yield topic, int(name), is_batch

    def unit_size(self, is_batch: bool) -> int:
        """Return the size in bytes of a unit of either kind."""
        return BatchConsumeQueue.unit_size if is_batch else UNIT_SIZE

    def load(
        self,
        below: int | None,
        found: Callable[[AnyQueue], None],
        oldest: int = 0,
        on_damage: Callable[[], None] = lambda: None,
    ) -> Steps[None]:
        """Load the queues from disk, one per step; see `UnitQueue.load`.

        After an unclean stop (`below` is given) all names are treated as not durable. `found` is called for
        each queue while its last file is open, `on_damage` before lost or short files are repaired. Raises
        `CorruptFile` if the file length differs from the settings.
        """
        self._on_damage = on_damage
        for topic, queue_id, is_batch in self.folders():
            self._load_one(topic, queue_id, is_batch, below, found, oldest)
            yield

    def _load_one(
        self,
        topic: str,
        queue_id: int,
        is_batch: bool,
        below: int | None,
        found: Callable[[AnyQueue], None],
        oldest: int,
    ) -> None:
        if self.get(topic, queue_id) is not None:
            log.error("%s queue %d has files of both kinds; its batch files are ignored", topic, queue_id)
            return
        queue = self._make(topic, queue_id, is_batch)
        queue.load(below, oldest, lambda error: self._judge_length(error, is_batch))
        found(queue)
        if below is not None:
            self.pool.unsynced.add(queue.directory)
            self.pool.note_directory(queue.directory)

    def _judge_length(self, short: CorruptFile, is_batch: bool) -> None:
        """Raise the error of a short file if most files have its length: then the setting is wrong."""
        disk, lengths = self.pool.disk, Counter[int]()
        parent = self.batch_directory if is_batch else self.directory
        for topic, queue_id, is_one in self.folders():
            if is_one is is_batch:
                folder = f"{parent}/{topic}/{queue_id}"
                names = [name for name in disk.listdir(folder) if len(name) == 20 and name.isdigit()]
                lengths.update(disk.size(f"{folder}/{name}") for name in names)
        right = self.batch_file_size if is_batch else self.file_size
        if short.offset and lengths[short.offset] > max(1, lengths[right]):
            raise short
        log.warning("%s: %s; missing units are rebuilt from the log", short.path, short.what)
        self._on_damage()

    def forget_queue(self, queue: AnyQueue) -> None:
        """Remove a queue without units, and its directory."""
        del self.table[queue.topic][queue.queue_id]
        if not self.table[queue.topic]:
            del self.table[queue.topic]
        self._count -= 1
        self.lmq_count -= is_lmq(queue.topic)
        queue.destroy()

    def restore(self, topic: str, is_batch: bool, state: list[int]) -> AnyQueue:
        """Return a queue restored from `state`, without reading its files."""
        queue = self._make(topic, state[0], is_batch)
        queue.restore(state)
        return queue

    def forget(self) -> None:
        """Drop all queues from memory; their files are kept."""
        self.table.clear()
        self._count = self.lmq_count = 0

    def is_batch_topic(self, topic: str) -> bool:
        """Return True if an existing topic has batch queues."""
        return isinstance(next(iter(self.table[topic].values())), BatchConsumeQueue)

    def topics_with_messages(self) -> dict[str, int]:
        """Return the topics with messages, except LMQ topics, mapped to their highest queue id + 1."""
        return {
            topic: max(queues) + 1
            for topic, queues in self.table.items()
            if not is_lmq(topic) and any(queue.max_offset > queue.min_offset for queue in queues.values())
        }

    def get(self, topic: str, queue_id: int) -> AnyQueue | None:
        """Return an existing queue, or None."""
        queues = self.table.get(topic)
        return None if queues is None else queues.get(queue_id)

    def open(self, topic: str, queue_id: int, has_batch: bool = False) -> AnyQueue:
        """Return a queue, created if needed.

        With `has_batch` a record of the queue is a batch, so a new topic gets batch queues: a slave may get
        records before it knows their topic. Raises `MessageIllegal` for a topic that is no directory name.
        """
        queue = self.get(topic, queue_id)
        if queue is not None:
            return queue
        others = self.table.get(topic)
        if others:
            return self._make(topic, queue_id, self.is_batch_topic(topic))
        return self._make(topic, queue_id, has_batch or self._is_batch(topic))

    def _make(self, topic: str, queue_id: int, is_batch: bool) -> AnyQueue:
        if "/" in topic or "\0" in topic or topic in ("", ".", ".."):
            raise MessageIllegal(f"the topic {topic!r} cannot be stored")
        if queue_id < 0:
            raise MessageIllegal(f"the queue id is {queue_id}")
        if self._count >= self._limit:
            raise MessageIllegal(f"there are {self._count} queues already, as many as maxQueues allows")
        self._count += 1
        self.lmq_count += is_lmq(topic)
        queue: AnyQueue
        if is_batch:
            directory = f"{self.batch_directory}/{topic}/{queue_id}"
            queue = BatchConsumeQueue(self.pool, directory, self.batch_file_size, topic, queue_id)
        else:
            directory = f"{self.directory}/{topic}/{queue_id}"
            queue = ConsumeQueue(self.pool, directory, self.file_size, topic, queue_id)
        self.table.setdefault(topic, {})[queue_id] = queue
        return queue

    def mark(self, queue: AnyQueue) -> None:
        """Note that a queue has units to write."""
        if not queue.dirty:
            queue.dirty = True
            self.dirty.append(queue)
            if not queue.has_files:
                self.new.append(queue)

    def first_files(self, count: int) -> list[tuple[AnyQueue, FirstFile]]:
        """Return up to `count` first files to create for new queues, oldest first.

        Each is returned once, so that it can be created elsewhere before it is written to.
        """
        found: list[tuple[AnyQueue, FirstFile]] = []
        while self.new and len(found) < count:
            queue = self.new.popleft()
            first = queue.first_file()
            if first is None or first.directory in self.making:
                continue
            if self.get(queue.topic, queue.queue_id) is queue:
                self.making.add(first.directory)
                found.append((queue, first))
        return found

    def made(self, queue: AnyQueue, made: FirstFile, is_written: bool) -> None:
        """Note the result of one of `first_files`: the queue adopts the file.

        A file of a queue that was deleted or truncated meanwhile is removed. Raises `OSError`.
        """
        self.making.discard(made.directory)
        now = self.get(queue.topic, queue.queue_id)
        if now is not None and now.begins_with(made):
            if is_written and not now.has_files and made.units:
                now.adopt(made)
                self.written.add((made.directory, made.start))
            return
        if now is not None and now.has_files and now.directory == made.directory:
            self.pool.disk.unlink(f"{made.directory}/{file_name(made.start)}")
            return
        self.pool.disk.rmtree(made.directory)
        parent = made.directory.rpartition("/")[0]
        if queue.topic not in self.table:
            self.pool.disk.rmtree(parent)
        self.pool.unsynced.update((parent, parent.rpartition("/")[0]))

    def write_out(self, queue: AnyQueue) -> None:
        """Write the buffered units of one queue. Raises `OSError`."""
        if queue.directory in self.making:
            return
        since = queue.tail_start
        queue.write_out()
        for start in queue.touched(since):
            self.written.add((queue.directory, start))

    def write_all_out(self) -> None:
        """Write the buffered units of all queues. Raises `OSError`; units that were not written are kept."""
        self.write_oldest_out(len(self.dirty), lambda: False)

    def write_oldest_out(self, count: int, time_is_up: Callable[[], bool]) -> int:
        """Write the `count` queues that waited longest, until time is up; return how many of them are left.

        Raises as `write_all_out`.
        """
        while count and self.dirty and not time_is_up():
            count -= 1
            queue = self.dirty[0]
            if queue.directory in self.making:
                self.dirty.rotate(-1)
                continue
            self.write_out(queue)
            self.dirty.popleft().dirty = False
        return min(count, len(self.dirty))

    def first_waiting(self) -> int | None:
        """Return the log offset of the oldest record whose unit is not written; None if all are."""
        places = [PLACE.unpack_from(queue.tail)[0] for queue in self.dirty if queue.tail]
        return min(places, default=None)

    def delete(self, topic: str) -> bool:
        """Delete all queues of a topic; return False if there are none."""
        queues = self.table.pop(topic, None)
        if queues is None:
            return False
        self._count -= len(queues)
        if is_lmq(topic):
            self.lmq_count -= len(queues)
        for queue in queues.values():
            queue.destroy()
        self.dirty = deque(queue for queue in self.dirty if queue.topic != topic)
        self.new = deque(queue for queue in self.new if queue.topic != topic)
        parents = (self.directory, self.batch_directory, self.ext_directory)
        directories = [f"{parent}/{topic}" for parent in parents if parent]
        starts = tuple(f"{directory}/" for directory in directories)
        self.written = {item for item in self.written if not item[0].startswith(starts)}
        for directory in directories:
            self.pool.disk.rmtree(directory)
            self.pool.unsynced.add(directory.rpartition("/")[0])
        return True


def queues_of(
    options: StoreOptions,
    disk: Disk,
    root: str,
    is_batch_topic: Callable[[str], bool] | None,
    remove: Callable[[str], None],
) -> ConsumeQueues:
    """Return the queues of a store in a directory, with the file lengths of its settings."""

    def whole_units(file_size: int, unit_size: int) -> int:
        return -(-file_size // unit_size) * unit_size

    return ConsumeQueues(
        FilePool(disk, options.max_open_files, remove),
        f"{root}/consumequeue",
        whole_units(options.mapped_file_size_consume_queue, UNIT_SIZE),
        options.max_queues,
        batch_directory=f"{root}/batchconsumequeue",
        ext_directory=f"{root}/consumequeue_ext",
        batch_file_size=whole_units(options.mapper_file_size_batch_consume_queue, BATCH_UNIT_SIZE),
        is_batch=is_batch_topic or _no_batches,
    )
