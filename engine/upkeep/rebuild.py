"""Rebuild of consume queues and index from the log, which is only read.

    1. `consumequeue.rebuilding`, `batchconsumequeue.rebuilding` and `index.rebuilding` are written and synced
    2. each old directory is renamed to `*.replaced`, and the new one to its name
    3. with `discard` the old ones are deleted

Views with snapshots get an empty directory if the log has records for them and they have none: then the next
start builds them from the log.

After an interruption before step 2, nothing has changed; the next rebuild deletes the temporary files. After
one within it, the next rebuild restores the old directory and starts again.

Records are processed by the store's own view of the queues, past damage too: a record contains its queue
offset, and blank units stand for the lost ones. A record whose offset neither follows nor can be explained by
damage is accepted only if the next one follows it. A queue without remaining records keeps its last unit, so
that its offsets continue.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import StoredMessage, SysFlag
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.producers.transactions import begins
from mqgateway.engine.raft.files.properties import read_noted
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE, BatchConsumeQueue
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE, AnyQueue, ConsumeQueue, ConsumeQueues
from mqgateway.engine.store.dispatch_request import enters_queue, parse_delay_levels, producer_of
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.index_file import INDEX_GROUP
from mqgateway.engine.store.lmq import has_lmq
from mqgateway.engine.store.record import HEAD_SIZE, decode
from mqgateway.engine.store.unit_queue import BLANK_PLACE, PLACE
from mqgateway.engine.store.views import producers, starts, transactions
from mqgateway.engine.store.views.queues import QueuesView
from mqgateway.engine.store.views.starts import is_marker
from mqgateway.engine.upkeep.findings import Findings, Progress, StorePart
from mqgateway.engine.upkeep.layout import RESTORE, Layout, find_files, hold, place, read
from mqgateway.engine.upkeep.ledger import find_log
from mqgateway.engine.upkeep.ledger_walk import walk_of
from mqgateway.engine.upkeep.queue_check import last_number
from mqgateway.engine.upkeep.table_check import check_tables, topics_of
from mqgateway.engine.upkeep.walk import LogWalk

ASIDE = ".rebuilding"
REPLACED = ".replaced"
_REPLACED_MAX = 10
_QUEUES_MAX = 1 << 31
_OPEN_FILES = 512
_PENDING_MAX = 64 << 20
"""Bytes of the log after which buffered units are written, to bound memory with many queues."""


@dataclass
class RebuildReport:
    """Result of a rebuild. `replaced` are the directories with the old files."""

    root: str
    findings: Findings
    log_start: int = 0
    log_end: int = 0
    records: int = 0
    queues: int = 0
    kept_ends: int = 0
    index_entries: int = 0
    replaced: list[str] = field(default_factory=list)


class _Rebuild:
    """One rebuild in progress."""

    def __init__(self, layout: Layout, progress: Progress) -> None:
        self._layout = layout
        self._disk = layout.disk
        self._progress = progress
        self.findings = Findings()
        self.report = RebuildReport(layout.root, self.findings)
        self._files = find_log(layout, self.findings)
        self._topics = topics_of(check_tables(layout, Findings()))
        folders = (layout.queues, layout.batch_queues)
        self._folders_before = {topic for folder in folders for topic in self._disk.subdirs(folder)}
        self._queues = self._new_queues()
        self._index = self._new_index()
        levels = parse_delay_levels(layout.options.message_delay_level)
        has_light = has_lmq(layout.options) or any(map(is_lmq, self._folders_before))
        self._view = QueuesView(self._queues, levels, has_light)
        self._last_timestamp = 0
        self._suspects: dict[AnyQueue, StoredMessage] = {}
        self._left_out: Counter[AnyQueue] = Counter()
        self._snapshots: set[str] = set()

    @property
    def _folders(self) -> list[str]:
        """The directories that are rebuilt."""
        layout = self._layout
        folders = [layout.queues, layout.batch_queues]
        return folders if self._index is None else [*folders, layout.index]

    def _new_queues(self) -> ConsumeQueues:
        layout, options = self._layout, self._layout.options
        sizes = {
            layout.queues: options.mapped_file_size_consume_queue,
            layout.batch_queues: options.mapper_file_size_batch_consume_queue,
        }
        batch_topics = {topic for topic, _, _ in layout.queue_folders(layout.batch_queues)}
        for parent in sizes:
            for _, _, folder in layout.queue_folders(parent):
                names = [name for name in self._disk.listdir(folder) if name.isdigit()]
                if names and (size := self._disk.size(f"{folder}/{names[0]}")):
                    sizes[parent] = size
                    break
        for topic, config in (self._topics or {}).items():
            attributes = config.get("attributes") if isinstance(config, dict) else None
            if isinstance(attributes, dict) and attributes.get("queue.type") == "BatchCQ":
                batch_topics.add(topic)
        return ConsumeQueues(
            FilePool(self._disk, _OPEN_FILES),
            layout.queues + ASIDE,
            -(-sizes[layout.queues] // UNIT_SIZE) * UNIT_SIZE,
            _QUEUES_MAX,
            batch_directory=layout.batch_queues + ASIDE,
            batch_file_size=-(-sizes[layout.batch_queues] // BATCH_UNIT_SIZE) * BATCH_UNIT_SIZE,
            is_batch=batch_topics.__contains__,
        )

    def _new_index(self) -> Index | None:
        layout, options = self._layout, self._layout.options
        if not options.message_index_enable:
            return None
        slots, entries = options.max_hash_slot_num, options.max_index_num
        for name in layout.index_files():
            slots, entries = layout.index_shape(self._disk.size(f"{layout.index}/{name}")) or (slots, entries)
        return Index(self._disk, layout.index + ASIDE, slots, entries, self._disk.unlink)

    def clear(self) -> None:
        """Delete temporary files of this rebuild, or of an interrupted one."""
        layout = self._layout
        for folder in (layout.queues, layout.batch_queues, layout.index):
            self._disk.rmtree(folder + ASIDE)

    def write_aside(self) -> None:
        """Do step 1."""
        layout, report = self._layout, self.report
        self._disk.makedirs(layout.queues + ASIDE)
        if self._index is not None:
            self._disk.makedirs(layout.index + ASIDE)
        is_ledger = bool(layout.ledger)
        noted = read_noted(layout.disk, layout.ledger) if is_ledger else None
        walk = walk_of(self._files, self.findings, noted, lambda _: is_ledger, self._read_so_far)
        report.log_start = walk.end
        waiting = 0
        for data, at, _, size in walk.records():
            message = decode(data, at)
            self._enter_index(message)
            self._note_snapshots(message)
            if enters_queue(message.sys_flag) and self._has_topic(message.topic):
                self._take_in_order(message, walk)
            report.records += 1
            waiting += size
            if waiting >= _PENDING_MAX:
                self._queues.write_all_out()
                waiting = 0
        for queue, message in self._suspects.items():
            if message.queue_offset == 0:
                self._take(message)
            else:
                self._report_suspect(message, queue.max_offset)
        report.log_end = walk.end
        self._keep_ends()
        self._queues.write_all_out()
        if self._index is not None:
            self._index.apply(self._last_timestamp)
            report.index_entries = sum(file.next_entry - 1 for file in self._index.files)
        report.queues = sum(1 for _ in self._queues)
        for folder in self._snapshots:
            make_directories(self._disk, f"{layout.root}/{folder}")
        self._sync()

    def _note_snapshots(self, message: StoredMessage) -> None:
        """Note the views with snapshots that need a record."""
        if is_marker(message.topic, message.sys_flag):
            self._snapshots.add(starts.FOLDER)
        produced = producer_of(message) if enters_queue(message.sys_flag) else None
        if produced is not None:
            self._snapshots.add(producers.FOLDER)
            if begins(produced):
                self._snapshots.add(transactions.FOLDER)

    def _read_so_far(self, done: int, total: int) -> None:
        self._progress("reading", done, total)

    def _has_topic(self, topic: str) -> bool:
        """Return True if a topic exists, or if that is unknown."""
        topics = self._topics
        return topics is None or topic in topics or topic in self._folders_before or is_system_topic(topic)

    def _enter_index(self, message: StoredMessage) -> None:
        index = self._index
        if index is None or message.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK:
            return
        timestamp = self._last_timestamp = message.store_timestamp
        index.note(message.topic, message.properties, message.physical_offset, timestamp)
        if len(index.pending) >= INDEX_GROUP:
            index.apply(timestamp)

    def _take_in_order(self, message: StoredMessage, walk: LogWalk) -> None:
        """Create the unit of a record if its queue offset is plausible.

        It follows, or damage explains the gap, or the previous record of the queue, which was not accepted,
        implies it.
        """
        queue = self._queues.get(message.topic, message.queue_id)
        if not isinstance(queue, ConsumeQueue) or not queue.max_offset:
            self._take(message)
            return
        offset, expected = message.queue_offset, queue.max_offset
        lost = sum(end - begin for begin, end in walk.damaged) // HEAD_SIZE + self._left_out[queue]
        suspect = self._suspects.pop(queue, None)
        if suspect is not None and suspect.queue_offset + 1 == offset != expected:
            # A gap, or a topic that was created again with offsets from 0.
            self._fill(queue, suspect.queue_offset)
            self._take(suspect)
            self._take(message)
        elif expected <= offset <= expected + lost:
            if suspect is not None:
                self._report_suspect(suspect, expected)
            self._fill(queue, offset)
            self._take(message)
        else:
            if suspect is not None:
                self._report_suspect(suspect, expected)
            self._left_out[queue] += 1
            self._suspects[queue] = message

    def _fill(self, queue: ConsumeQueue, offset: int) -> None:
        """Append blank units for lost ones before an offset."""
        for number in range(queue.max_offset, offset):
            queue.append(number, *BLANK_PLACE, 0)
        self._queues.mark(queue)

    def _report_suspect(self, message: StoredMessage, expected: int) -> None:
        path, at = place(self._files, message.physical_offset)
        what = (
            f"the record says that it is message {message.queue_offset} of {message.topic} queue "
            f"{message.queue_id}, message {expected} is expected; no unit is made for it"
        )
        self.findings.error(StorePart.LOG, path, at, what, RESTORE)

    def _take(self, message: StoredMessage) -> None:
        try:
            self._view.repeat(message)
            self._view.settle(0)
        except MessageIllegal as error:
            path, at = place(self._files, message.physical_offset)
            self.findings.error(StorePart.LOG, path, at, f"no consume queue can be made: {error}", RESTORE)

    def _keep_ends(self) -> None:
        """Keep the last unit of queues without remaining records, so that their offsets continue."""
        layout = self._layout
        for parent, unit_size in ((layout.queues, UNIT_SIZE), (layout.batch_queues, BATCH_UNIT_SIZE)):
            for topic, queue_id, folder in layout.queue_folders(parent):
                files = find_files(layout.pool, folder, StorePart.QUEUE, Findings(), "")
                if not files.starts or files.file_size % unit_size or self._queues.get(topic, queue_id):
                    continue
                number = last_number(files, unit_size)
                unit = read(files, number * unit_size, unit_size) if number >= 0 else b""
                if len(unit) == unit_size and 0 <= PLACE.unpack_from(unit)[0] < self.report.log_start:
                    self._keep_end(topic, queue_id, number, unit)

    def _keep_end(self, topic: str, queue_id: int, number: int, unit: bytes) -> None:
        queue = self._queues.open(topic, queue_id)
        if isinstance(queue, BatchConsumeQueue):
            offset, size, code, time, base, count = BATCH_UNIT.unpack(unit)[:6]
            queue.append(base, offset, size, code, time, count)
        else:
            queue.append(number, *UNIT.unpack(unit))
        self._queues.mark(queue)
        self.report.kept_ends += 1

    def _sync(self) -> None:
        """Sync all written files, and their names."""
        queues, disk = self._queues, self._disk
        files = sorted(queues.written)
        for number, (directory, start) in enumerate(files):
            queues.pool.get(directory, start).sync()
            self._progress("syncing", number + 1, len(files))
        if self._index is not None:
            for file, header in self._index.headers():
                file.write_header(header)
                file.file.sync()
            self._index.close()
            disk.sync_dir(self._layout.index + ASIDE)
        for directory in sorted(queues.pool.unsynced):
            if disk.is_dir(directory):
                disk.sync_dir(directory)
        queues.pool.clear()

    def swap(self) -> None:
        """Do step 2."""
        disk, root = self._disk, self._layout.root
        if disk.exists(self._layout.queue_table):
            # It has the ends of the old queues.
            disk.unlink(self._layout.queue_table)
            disk.sync_dir(root)
        for folder in self._folders:
            if disk.is_dir(folder):
                disk.rename(folder, self._free_name(folder))
            if disk.is_dir(folder + ASIDE):
                disk.rename(folder + ASIDE, folder)
            disk.sync_dir(root)

    def _free_name(self, folder: str) -> str:
        """Return the new name of an old directory; of too many of them the last one is deleted."""
        names = _replaced_names(folder)
        replaced = next((name for name in names if not self._disk.is_dir(name)), names[-1])
        self._disk.rmtree(replaced)
        self.report.replaced.append(replaced)
        return replaced

    def discard(self) -> None:
        """Do step 3."""
        for folder in self.report.replaced:
            self._disk.rmtree(folder)
        self.report.replaced.clear()


def _replaced_names(folder: str) -> list[str]:
    return [folder + REPLACED, *(f"{folder}{REPLACED}-{number}" for number in range(2, _REPLACED_MAX))]


def put_back(layout: Layout) -> None:
    """Restore the directories of a rebuild that was interrupted in step 2."""
    disk = layout.disk
    for folder in (layout.queues, layout.batch_queues, layout.index):
        replaced = [name for name in _replaced_names(folder) if disk.is_dir(name)]
        if replaced and not disk.is_dir(folder) and disk.is_dir(folder + ASIDE):
            disk.rename(replaced[-1], folder)


def rebuild_store(
    disk: Disk, options: StoreOptions, *, discard: bool = False, progress: Progress = lambda *_: None
) -> RebuildReport:
    """Rebuild the consume queues and the index of a store; see the module docstring.

    The report's findings list unreadable parts of the log. Raises `StoreUnavailable` if there is no store or
    a broker has it open, and `OSError`, as for a full disk: then nothing has changed.
    """
    layout = Layout(disk, options)
    lock = hold(disk, layout)
    try:
        put_back(layout)
        rebuild = _Rebuild(layout, progress)
        rebuild.clear()
        try:
            rebuild.write_aside()
        except BaseException:
            with contextlib.suppress(OSError):
                rebuild.clear()
            raise
        rebuild.swap()
        if discard:
            rebuild.discard()
        return rebuild.report
    finally:
        if lock is not None:
            lock.close()
