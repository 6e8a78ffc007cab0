"""Statistics of a store: its content, and its disk usage.

They are counted from the consume queues, whose units have the sizes of records; only the first and the last
record of the log are read. So it is quick, and as correct as the queues, which `check` verifies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.files.entry import HEAD_SIZE as ENTRY_HEAD_SIZE
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.index_file import HEADER, HEADER_SIZE
from mqgateway.engine.store.record import HEAD_SIZE, STORE_TIME_HEAD_SIZE, store_timestamp
from mqgateway.engine.store.unit_queue import BLANK_PLACE
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, read, require_log
from mqgateway.engine.upkeep.ledger import LedgerFiles, find_log
from mqgateway.engine.upkeep.queue_check import last_number, place_at

_SCAN_BYTES = 1 << 20

Room = Callable[[str], int]
"""Returns a file's disk usage in bytes, which is less than its length if it is sparse."""
Progress = Callable[[int, int], None]
"""Called at times with the queues read and the queues to read."""


@dataclass
class TopicStats:
    """Content of the log for one topic: messages, and bytes of their records."""

    topic: str
    queues: int = 0
    messages: int = 0
    bytes: int = 0


@dataclass
class IndexStats:
    """Usage of an index file; times in ms."""

    name: str
    entries: int
    capacity: int
    slots_used: int
    begin_timestamp: int
    end_timestamp: int


@dataclass
class PartStats:
    """Usage of one part: files, sum of their lengths, and their disk usage."""

    name: str
    files: int = 0
    bytes: int = 0
    room: int = 0


@dataclass
class StoreStats:
    """All statistics. Times in ms, None for an empty log.

    `sizes` counts messages by the size of their record: a key of 1024 is for 513 to 1024 bytes.
    """

    root: str
    log_start: int = 0
    log_end: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    topics: list[TopicStats] = field(default_factory=list)
    sizes: Counter[int] = field(default_factory=Counter)
    index: list[IndexStats] = field(default_factory=list)
    parts: list[PartStats] = field(default_factory=list)

    @property
    def queues(self) -> int:
        """Number of queues of all topics."""
        return sum(topic.queues for topic in self.topics)

    @property
    def messages(self) -> int:
        """Number of messages of all topics."""
        return sum(topic.messages for topic in self.topics)

    @property
    def bytes(self) -> int:
        """Bytes of all topics' records."""
        return sum(topic.bytes for topic in self.topics)


class _Count:
    """One count in progress."""

    def __init__(self, layout: Layout, room: Room) -> None:
        self._layout = layout
        self._room = room
        self._findings = Findings(0)
        self._files = find_log(layout, self._findings, "")
        self.stats = StoreStats(layout.root)
        self._newest = -1, 0
        self._topics: dict[str, TopicStats] = {}

    def run(self, progress: Progress | None) -> StoreStats:
        """Count everything."""
        layout, stats = self._layout, self.stats
        stats.log_start = self._files.starts[0] if self._files.starts else 0
        kinds = (layout.queues, UNIT_SIZE), (layout.batch_queues, BATCH_UNIT_SIZE)
        queues = [(each, size) for parent, size in kinds for each in layout.queue_folders(parent)]
        for number, ((topic, _, folder), unit_size) in enumerate(queues):
            files = find_files(layout.pool, folder, StorePart.QUEUE, self._findings, "")
            if not files.starts or not files.file_size % unit_size:
                self._count_queue(topic, files, unit_size)
            if progress is not None:
                progress(number + 1, len(queues))
        stats.topics = sorted(self._topics.values(), key=lambda topic: (-topic.bytes, topic.topic))
        self._read_times()
        self._read_index()
        self._measure()
        return stats

    def _count_queue(self, topic: str, files: FileQueue, unit_size: int) -> None:
        stats = self._topics.setdefault(topic, TopicStats(topic))
        stats.queues += 1
        last = last_number(files, unit_size)
        if last < 0:
            return
        offset, size = place_at(files, last * unit_size)
        if offset > self._newest[0]:
            self._newest = offset, size
        at, end, log_start = files.starts[0], (last + 1) * unit_size, self.stats.log_start
        while at < end:
            data = read(files, at, min(end - at, _SCAN_BYTES // unit_size * unit_size))
            if not data:
                at = files.start_of(at) + files.file_size
                continue
            at += len(data)
            if unit_size == UNIT_SIZE:
                sizes = [size for offset, size, _ in UNIT.iter_unpack(data) if offset >= log_start]
                sizes = [size for size in sizes if 0 < size < BLANK_PLACE[1]]
                stats.messages += len(sizes)
            else:
                units = [unit for unit in BATCH_UNIT.iter_unpack(data) if unit[0] >= log_start]
                sizes = [unit[1] for unit in units if 0 < unit[1] < BLANK_PLACE[1]]
                stats.messages += sum(unit[5] for unit in units if 0 < unit[1] < BLANK_PLACE[1])
            stats.bytes += sum(sizes)
            for bits, count in Counter((size - 1).bit_length() for size in sizes).items():
                self.stats.sizes[1 << bits] += count

    def _read_times(self) -> None:
        stats = self.stats
        stats.log_end = max(stats.log_start, sum(self._newest) if self._newest[0] >= 0 else 0)
        files = self._files
        lead = ENTRY_HEAD_SIZE if isinstance(files, LedgerFiles) and stats.log_start >= files.divided else 0
        stats.first_timestamp = self._time_at(stats.log_start + lead)
        stats.last_timestamp = self._time_at(self._newest[0]) if self._newest[0] >= 0 else None

    def _time_at(self, offset: int) -> int | None:
        head = read(self._files, offset, STORE_TIME_HEAD_SIZE)
        if len(head) < STORE_TIME_HEAD_SIZE or int.from_bytes(head[:4], "big", signed=True) < HEAD_SIZE:
            return None
        return store_timestamp(head)

    def _read_index(self) -> None:
        layout = self._layout
        for name in layout.index_files():
            path = f"{layout.index}/{name}"
            shape = layout.index_shape(layout.disk.size(path))
            if shape is not None:
                begin, end, _, _, used, next_entry = HEADER.unpack(
                    layout.disk.open(path).read(0, HEADER_SIZE)
                )
                entries = max(0, next_entry - 1)
                self.stats.index.append(IndexStats(name, entries, shape[1] - 1, used, begin, end))

    def _measure(self) -> None:
        """Measure the files of each directory of the store, and those at its top together."""
        layout, disk = self._layout, self._layout.disk
        top = PartStats("(others)")
        parts = {
            name: PartStats(name)
            for name in disk.listdir(layout.root)
            if disk.is_dir(f"{layout.root}/{name}")
        }
        if not layout.commit_log.startswith(f"{layout.root}/"):
            parts["commitlog"] = PartStats("commitlog")
        for name, part in parts.items():
            folders = [layout.commit_log if name == "commitlog" else f"{layout.root}/{name}"]
            while folders:
                folder = folders.pop()
                for entry in disk.listdir(folder):
                    path = f"{folder}/{entry}"
                    if disk.is_dir(path):
                        folders.append(path)
                    else:
                        self._add(part, path)
        for name in disk.listdir(layout.root):
            if name not in parts:
                self._add(top, f"{layout.root}/{name}")
        self.stats.parts = sorted((*parts.values(), top), key=lambda part: -part.room)

    def _add(self, part: PartStats, path: str) -> None:
        part.files += 1
        part.bytes += self._layout.disk.size(path)
        part.room += self._room(path)


def count_store(
    disk: Disk, options: StoreOptions, room: Room, *, progress: Progress | None = None
) -> StoreStats:
    """Count the content of a store. If a broker has it open, the result is that of the last flush.

    Raises `StoreUnavailable` if there is no store, and `OSError`.
    """
    layout = Layout(disk, options)
    require_log(layout)
    return _Count(layout, room).run(progress)
