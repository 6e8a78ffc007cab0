"""Consume queues: for each topic and queue, where in the commit log its messages lie.

    unit = physical-offset i8, size i4, tags-code i8          (20 bytes; unit n is at byte 20 n)

Derived from the commit log and rebuilt from it. A queue that does not start at unit 0 begins with blank
units (0, 0x7FFFFFFF, 0) up to its first one. tags-code is the hash of the tags, or for a delayed message
its delivery time; of what the standard wrote it may be an address, see `ADDRESS_MAX`. `ConsumeQueues`
holds these queues and those of the other kind, `BatchConsumeQueue`. Standard: `ConsumeQueue`,
`ConsumeQueueStore`.
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
"""A tags code up to this is an address of the standard's `ConsumeQueueExt`, which keeps the code with a bit
map in another file. We write none, and take the code from the message itself."""

TAIL_LIMIT: Final = 4000
"""Bytes a queue keeps in memory before it is written out."""


def units_of(physical_offset: int, sizes: list[int]) -> bytes:
    """Units without tags, of records of these sizes that lie one behind the other."""
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
        """The first unit that is not there yet."""
        return self.tail_start + len(self.tail) // UNIT_SIZE

    def append(self, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Put the unit of a message; one that is there already is left alone (dispatch may repeat itself)."""
        if offset != self.tail_start + len(self.tail) // UNIT_SIZE and not self._make_way(offset):
            return
        self.tail += _pack(physical_offset, size, tags_code)

    def extend(self, offset: int, units: bytes) -> None:
        """Put the units of messages that follow one another, from `offset` on; as `append` puts each."""
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
        """Make room for the unit of a record that is read again: what the log says later counts, as when a
        topic was deleted and came again.

        A unit of another record goes, with all after it; so do those of records later in the log, which are
        read again too.
        """
        if offset < self.max_offset:
            place = self.place(offset)
            if place is None or place[0] != physical_offset:
                self.cut_units(offset)
        self.cut_places_after(physical_offset, offset)

    def units(self, offset: int, count: int, may_wait: bool = True) -> bytes | bytearray:
        """Up to `count` units from `offset`; nothing outside of what is there. See `read` for `may_wait`."""
        return self.read(offset, count, may_wait)

    def unit(self, offset: int, may_wait: bool = True) -> tuple[int, int, int] | None:
        """Physical offset, size and tags code of one message, or None."""
        data = self.read(offset, 1, may_wait)
        return UNIT.unpack(data) if len(data) == UNIT_SIZE else None

    def offset_of(self, number: int) -> int:
        """The queue offset of the first message that a unit stands for."""
        return number

    def number_of(self, offset: int, may_wait: bool = True) -> int:
        """See `UnitQueue`."""
        return offset

    def _ends_anew(self) -> None:
        self.next_offset = self.max_offset
        self.start = min(self.start, self.next_offset)
        self.min_offset = min(self.min_offset, self.next_offset)

    def correct_min(self, min_physical_offset: int) -> None:
        """Move `min_offset` to the first unit that is still in the commit log and not removed by a marker.

        Standard: `ConsumeQueue.correctMinOffset`.
        """
        self.min_offset = max(self.first_in_log(min_physical_offset, self.min_offset), self.start)


AnyQueue = ConsumeQueue | BatchConsumeQueue


def _no_batches(_topic: str) -> bool:
    return False


class ConsumeQueues:
    """All queues, by topic and queue id.

    A topic's queues are of the kind that its directory says; those of a new topic are batch consume queues
    where `is_batch` says so. `written` lists what was written out since the last sync, for whoever makes it
    durable, `new` those that had no file yet when they got a unit, `making` the folders of those whose first
    file is being made elsewhere: they are not written to meanwhile. `lmq_count` says how many light queues
    there are.
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
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[AnyQueue]:
        for queues in self.table.values():
            yield from queues.values()

    def folders(self) -> Iterator[tuple[str, int, bool]]:
        """Topic, queue id and whether it is one of batches, of each queue that has a folder."""
        disk = self.pool.disk
        for directory in filter(None, (self.directory, self.batch_directory)):
            is_batch = directory == self.batch_directory
            for topic in disk.subdirs(directory):
                for name in disk.subdirs(f"{directory}/{topic}"):
                    if name.isdigit():
                        yield topic, int(name), is_batch

    def unit_size(self, is_batch: bool) -> int:
        """Bytes of a unit of either kind."""
        return BatchConsumeQueue.unit_size if is_batch else UNIT_SIZE

    def load(
        self,
        below: int | None,
        found: Callable[[AnyQueue], None],
        oldest: int = 0,
        on_damage: Callable[[], None] = lambda: None,
    ) -> Steps[None]:
        """Find the queues on disk, one with each step; see `UnitQueue.load`.

        After an unclean stop (`below` is given) no name is known to be durable. `found` is told of each while
        its last file is open, `on_damage` before files that were lost or cut short are mended. Raises
        `CorruptFile` where the files have another length than the settings say.
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
        """Raise what is told of a file that is too short if most files are like it, so that it is the setting
        that is wrong."""
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
        """Know nothing of a queue that has no unit; its folder goes."""
        del self.table[queue.topic][queue.queue_id]
        if not self.table[queue.topic]:
            del self.table[queue.topic]
        self._count -= 1
        self.lmq_count -= is_lmq(queue.topic)
        queue.destroy()

    def restore(self, topic: str, is_batch: bool, state: list[int]) -> AnyQueue:
        """Make a queue that is as it was when its `state` was asked for; its files are not looked at."""
        queue = self._make(topic, state[0], is_batch)
        queue.restore(state)
        return queue

    def forget(self) -> None:
        """Know of no queues; their files stay."""
        self.table.clear()
        self._count = self.lmq_count = 0

    def is_batch_topic(self, topic: str) -> bool:
        """Whether a topic that is there has queues of batches."""
        return isinstance(next(iter(self.table[topic].values())), BatchConsumeQueue)

    def topics_with_messages(self) -> dict[str, int]:
        """Topics that have messages, but no light ones, with one more than their highest queue."""
        return {
            topic: max(queues) + 1
            for topic, queues in self.table.items()
            if not is_lmq(topic) and any(queue.max_offset > queue.min_offset for queue in queues.values())
        }

    def get(self, topic: str, queue_id: int) -> AnyQueue | None:
        """A queue that is there."""
        queues = self.table.get(topic)
        return None if queues is None else queues.get(queue_id)

    def open(self, topic: str, queue_id: int) -> AnyQueue:
        """A queue, made if needed. Raises `MessageIllegal` for a topic that is no directory name."""
        queue = self.get(topic, queue_id)
        if queue is not None:
            return queue
        others = self.table.get(topic)
        if others:
            return self._make(topic, queue_id, self.is_batch_topic(topic))
        return self._make(topic, queue_id, self._is_batch(topic))

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
        """Note that a queue has something to write out."""
        if not queue.dirty:
            queue.dirty = True
            self.dirty.append(queue)
            if not queue.has_files:
                self.new.append(queue)

    def first_files(self, count: int) -> list[tuple[AnyQueue, FirstFile]]:
        """Up to `count` files that new queues are going to begin with, of those that have waited longest;
        each is given once, so that it can be made elsewhere before it is written to."""
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
        """Told of what was made of `first_files`, or was not: the queue takes it over; what was made for one
        that was deleted or cut meanwhile is removed. Raises `OSError`."""
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
        """Write one queue's tail. Raises `OSError`."""
        if queue.directory in self.making:
            return
        since = queue.tail_start
        queue.write_out()
        for start in queue.touched(since):
            self.written.add((queue.directory, start))

    def write_all_out(self) -> None:
        """Write every tail. Raises `OSError` and keeps the ones not written."""
        self.write_oldest_out(len(self.dirty), lambda: False)

    def write_oldest_out(self, count: int, time_is_up: Callable[[], bool]) -> int:
        """Write the tails of the `count` queues that have waited longest, until time is up; says how many
        of them are left. Raises as `write_all_out`."""
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
        """Where the oldest record lies whose unit is not written out; None when all are."""
        places = [PLACE.unpack_from(queue.tail)[0] for queue in self.dirty if queue.tail]
        return min(places, default=None)

    def delete(self, topic: str) -> bool:
        """Delete all queues of a topic; false when there is none."""
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
    options: StoreOptions, disk: Disk, root: str, is_batch_topic: Callable[[str], bool] | None
) -> ConsumeQueues:
    """The queues of a store in a folder, with files of the lengths that its settings say."""

    def whole_units(file_size: int, unit_size: int) -> int:
        return -(-file_size // unit_size) * unit_size

    return ConsumeQueues(
        FilePool(disk, options.max_open_files),
        f"{root}/consumequeue",
        whole_units(options.mapped_file_size_consume_queue, UNIT_SIZE),
        options.max_queues,
        batch_directory=f"{root}/batchconsumequeue",
        ext_directory=f"{root}/consumequeue_ext",
        batch_file_size=whole_units(options.mapper_file_size_batch_consume_queue, BATCH_UNIT_SIZE),
        is_batch=is_batch_topic or _no_batches,
    )
