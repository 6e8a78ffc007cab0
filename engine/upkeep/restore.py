"""Restore of a store from a backup, up to its end or an earlier point.

    1. the point: the last record that was stored up to a time, or that ends up to an offset of the log
    2. tables and log up to the point are copied to `STORE.restoring`, and compared with their digests
    3. queues and index are rebuilt (`rebuild`); queues without remaining messages get their end offsets
    4. offsets of consumers are limited to the ends of their queues
    5. the directory is renamed

Background work of the broker after the point is no longer in the log, so it has to be repeated. So for a
given point, the progress of that work is dropped (delay levels, transactions, unacknowledged pops), and the
start finds in the log what is done. Messages may be delivered twice after that, and none is skipped. Timers
are always read again from their topic.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.lenient_json import JsonError, dumps, loads
from mqgateway.engine.message import TIMER_TOPIC
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchConsumeQueue
from mqgateway.engine.store.consume_queue import UNIT_SIZE, ConsumeQueues
from mqgateway.engine.store.dispatch_request import enters_queue
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.unit_queue import BLANK_PLACE
from mqgateway.engine.timers.checkpoint import FILE_SIZE as TIMERCHECK_SIZE
from mqgateway.engine.timers.checkpoint import TimerCheckpoint
from mqgateway.engine.upkeep.backup import BATCH_QUEUES, LOG, PROGRESS, QUEUES, ends_of, store_time_at
from mqgateway.engine.upkeep.findings import Findings, Progress, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files
from mqgateway.engine.upkeep.manifest import STORE, KeptFile, Manifest, copy, load, write
from mqgateway.engine.upkeep.queue_check import last_number, place_at
from mqgateway.engine.upkeep.rebuild import RebuildReport, rebuild_store
from mqgateway.engine.upkeep.walk import LogWalk, fields_of

RESTORING = ".restoring"
_QUEUES_MAX = 1 << 31
REPEATED_GROUPS = ("CID_RMQ_SYS_TRANS", "CID_RMQ_SYS_REVIVE_GROUP")
"""Groups of the broker itself, whose work is recorded in the log."""


Ends = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Next queue offsets by kind of queue, topic and queue id."""


class Until(NamedTuple):
    """The point to restore to: a time in ms, or an offset of the log; both None: the end."""

    time: int | None = None
    offset: int | None = None

    @property
    def is_end(self) -> bool:
        """True for the end of the backup."""
        return self.time is None and self.offset is None


THE_END = Until()


class Cut(NamedTuple):
    """End of the restored log: its offset, the store time of the last record before it (ms), and by topic and
    queue the next queue offset, for queues with a message after the end.
    """

    offset: int
    timestamp: int
    next_offsets: Mapping[tuple[str, int], int]


@dataclass
class RestoreReport:
    """Result of a restore. `moved_back` is the number of consumer offsets that exceeded their queues."""

    root: str
    backup: str
    cut: Cut
    rebuilt: RebuildReport
    moved_back: int = 0


def find_cut(files: FileQueue, manifest: Manifest, until: Until) -> Cut:
    """Return the end of a backup's log for a point. Raises `StoreError` for a point outside of it."""
    if until.is_end:
        return Cut(manifest.log_end, manifest.last_timestamp, {})
    _check(manifest, until)
    begin = _begin(files, until)
    offset, timestamp = begin, 0
    next_offsets: dict[tuple[str, int], int] = {}
    walk = LogWalk(files, Findings(), lambda _: False, begin=begin)
    is_past = False
    for data, at, position, size in walk.records():
        if position >= manifest.log_end:
            break
        fields = fields_of(data, at, size)
        is_past = is_past or _is_past(until, position + size, fields[3])
        if not is_past:
            offset, timestamp = position + size, fields[3]
        elif enters_queue(fields[2]):
            next_offsets.setdefault((fields[4].decode("utf-8", "replace"), fields[0]), fields[1])
    return Cut(offset, timestamp, next_offsets)


def _check(manifest: Manifest, until: Until) -> None:
    if until.offset is not None and not manifest.log_start <= until.offset <= manifest.log_end:
        raise StoreError(
            f"the backup has the log from {manifest.log_start} to {manifest.log_end}, "
            f"not up to {until.offset}"
        )
    if until.time is not None and until.time < manifest.first_timestamp:
        raise StoreError(f"the first message of the backup was stored at {manifest.first_timestamp}, later")


def _begin(files: FileQueue, until: Until) -> int:
    """Return the start of the file that contains the end of the log."""
    if until.offset is not None:
        return max(files.starts[0], min(files.start_of(until.offset), files.starts[-1]))
    assert until.time is not None
    early = [start for start in files.starts if store_time_at(files, start) <= until.time]
    return early[-1] if early else files.starts[0]


def _is_past(until: Until, end: int, timestamp: int) -> bool:
    if until.offset is not None:
        return end > until.offset
    return until.time is not None and timestamp > until.time


class _Restore:
    """One restore in progress; `root` is the directory of the new store."""

    def __init__(self, disk: Disk, source: str, options: StoreOptions, progress: Progress) -> None:
        self._disk = disk
        self._source = source
        self._progress = progress
        self.manifest = manifest = load(disk, source)
        self._root = f"{options.store_path_root_dir}{RESTORING}"
        shapes = manifest.shapes
        self._options = replace(options, store_path_root_dir=self._root, store_path_commit_log="")
        for name, value in (
            ("mapped_file_size_consume_queue", shapes.queue_file),
            ("mapper_file_size_batch_consume_queue", shapes.batch_queue_file),
            ("max_hash_slot_num", shapes.index_slots),
            ("max_index_num", shapes.index_entries),
        ):
            if value:
                setattr(self._options, name, value)
        if manifest.log_file_size:
            self._options.mapped_file_size_commit_log = manifest.log_file_size

    def run(self, until: Until) -> RestoreReport:
        """Make the store under its temporary name."""
        disk, manifest = self._disk, self.manifest
        disk.rmtree(self._root)
        for name in ("config", LOG, QUEUES):
            make_directories(disk, f"{self._root}/{name}")
        cut = find_cut(self._files(), manifest, until)
        self._copy(cut)
        # Topics whose tables are lost are known by the directories of their queues.
        for kind, topics in manifest.ends.items():
            for topic in topics:
                make_directories(disk, f"{self._root}/{kind}/{topic}")
        rebuilt = rebuild_store(disk, self._options, discard=True, progress=self._progress)
        if rebuilt.log_end != cut.offset:
            raise StoreError(f"the log was to end at {cut.offset}, and can be read up to {rebuilt.log_end}")
        report = RestoreReport(self._root.removesuffix(RESTORING), self._source, cut, rebuilt)
        self._put_ends(cut)
        is_all = cut.offset == manifest.log_end
        report.moved_back = limit_offsets(Layout(disk, self._options), is_all=is_all)
        self._begin_timers(cut)
        for name in ("config", LOG, "."):
            disk.sync_dir(f"{self._root}/{name}")
        return report

    def _files(self) -> FileQueue:
        """Return the log of the backup."""
        folder = f"{self._source}/{STORE}/{LOG}"
        files = FileQueue(FilePool(self._disk.read_only(), 8), folder, max(1, self.manifest.log_file_size))
        files.starts = sorted(int(one.path[-20:]) for one in self.manifest.files if _is_log(one))
        return files

    def _copy(self, cut: Cut) -> None:
        """Copy the required files, and compare their digests while they are read."""
        left_out = [f"config/{name}.bak" for name in PROGRESS]
        if cut.offset < self.manifest.log_end:
            left_out.append("config/delayOffset.json")
        wanted = [one for one in self.manifest.files if one.path not in left_out and _counts(one, cut)]
        needed, free = sum(one.used for one in wanted), self._disk.usage(self._root)[1]
        if needed > free:
            raise StoreUnavailable(f"{needed} bytes are needed for {self._root}, {free} are free")
        done = 0
        for one in wanted:
            self._copy_one(one, cut)
            done += one.used
            self._progress("copying", done, needed)

    def _copy_one(self, one: KeptFile, cut: Cut) -> None:
        source, target = f"{self._source}/{STORE}/{one.path}", f"{self._root}/{one.path}"
        make_directories(self._disk, target.rpartition("/")[0])
        if copy(self._disk, source, target, one.used, one.size) != one.sha256:
            raise StoreError(f"{source} has changed since the backup was made: its SHA-256 differs")
        if _is_log(one) and cut.offset < int(one.path[-20:]) + one.used:
            file = self._disk.open(target)
            file.truncate(cut.offset - int(one.path[-20:]))
            file.truncate(one.size)
            file.sync()
            file.close()

    def _put_ends(self, cut: Cut) -> None:
        """Restore the ends of queues without records in the log."""
        if not self.manifest.log_start:
            return
        ends = {
            kind: {
                topic: {
                    queue_id: min(end, cut.next_offsets.get((topic, int(queue_id)), end))
                    for queue_id, end in ids.items()
                }
                for topic, ids in topics.items()
            }
            for kind, topics in self.manifest.ends.items()
        }
        put_ends(Layout(self._disk, self._options), ends)

    def _begin_timers(self, cut: Cut) -> None:
        """Reset the timers: the start reads all of them, and delivers those due after the log's end."""
        folder = f"{self._root}/{QUEUES}/{TIMER_TOPIC}/0"
        files = find_files(FilePool(self._disk, 8), folder, StorePart.QUEUE, Findings(), "")
        if not files.starts:
            return
        number, last = files.starts[0] // UNIT_SIZE, last_number(files, UNIT_SIZE)
        while number < last and place_at(files, number * UNIT_SIZE) == BLANK_PLACE:
            number += 1
        checkpoint = TimerCheckpoint(self._disk, f"{self._root}/config/timercheck")
        checkpoint.queue_offset = number
        checkpoint.read_time = cut.timestamp - cut.timestamp % 1000
        write(
            self._disk, f"{self._root}/config/timercheck", checkpoint.encode().ljust(TIMERCHECK_SIZE, b"\0")
        )

    def finish(self) -> None:
        """Rename the store."""
        root = self._root.removesuffix(RESTORING)
        if self._disk.is_dir(root):
            self._disk.rmtree(root)
        self._disk.rename(self._root, root)
        self._disk.sync_dir(root.rpartition("/")[0] or "/")

    def give_up(self) -> None:
        """Delete the incomplete store."""
        self._disk.rmtree(self._root)


def put_ends(layout: Layout, ends: Ends) -> None:
    """Restore the ends of queues without records in the log, whose first file is not the first of all, by the
    unit of a message before it. Raises `OSError`."""
    found, _ = ends_of(layout)
    queues = _queues_of(layout, ends.get(BATCH_QUEUES, {}))
    for kind, topics in ends.items():
        for topic, ids in topics.items():
            for queue_id, end in ids.items():
                if end > 0 and queue_id not in found[kind].get(topic, {}):
                    queue = queues.open(topic, int(queue_id))
                    if isinstance(queue, BatchConsumeQueue):
                        queue.append(end - 1, 0, 1, 0, 0, 1)
                    else:
                        queue.append(end - 1, 0, 1, 0)
                    queues.mark(queue)
    queues.write_all_out()
    for directory, start in queues.written:
        queues.pool.get(directory, start).sync()
    for directory in queues.pool.unsynced:
        layout.disk.sync_dir(directory)


def _queues_of(layout: Layout, batch_topics: Container[str]) -> ConsumeQueues:
    options = layout.options
    return ConsumeQueues(
        FilePool(layout.disk),
        layout.queues,
        -(-options.mapped_file_size_consume_queue // UNIT_SIZE) * UNIT_SIZE,
        _QUEUES_MAX,
        batch_directory=layout.batch_queues,
        batch_file_size=-(-options.mapper_file_size_batch_consume_queue // BATCH_UNIT_SIZE) * BATCH_UNIT_SIZE,
        is_batch=batch_topics.__contains__,
    )


def limit_offsets(layout: Layout, *, is_all: bool) -> int:
    """Limit consumer offsets to the ends of their queues; return the number of changed ones.

    Unless the log `is_all` that there was, offsets of queues that are not there become 0, and groups of the
    broker itself begin again. Raises `StoreError` for a table that cannot be read, `OSError`.
    """
    found, _ = ends_of(layout)
    ends = {**found[QUEUES], **found[BATCH_QUEUES]}

    def end_of(topic: str, queue_id: str, offset: int) -> int:
        return min(offset, ends.get(topic, {}).get(queue_id, offset if is_all else 0))

    moved = 0
    for name in ("consumerOffset.json", "lmqConsumerOffset.json"):
        path = f"{layout.config}/{name}"
        if not layout.disk.exists(path):
            continue
        table = _table(layout.disk, path)
        offsets: dict[str, dict[Any, int]] = table.get("offsetTable") or {}
        light: dict[str, int] = table.get("lmqOffsetTable") or {}
        for key, queues in list(offsets.items()):
            topic, _, group = key.partition("@")
            if not is_all and group in REPEATED_GROUPS:
                del offsets[key]
                continue
            before = dict(queues)
            queues.update({each: end_of(topic, str(each), at) for each, at in before.items()})
            moved += sum(queues[each] != at for each, at in before.items())
        light.update({key: end_of(key.partition("@")[0], "0", at) for key, at in light.items()})
        write(layout.disk, path, dumps(table, indent=True))
    return moved


def _table(disk: Disk, path: str) -> dict[str, Any]:
    try:
        table = loads(disk.read_bytes(path))
    except JsonError as error:
        raise StoreError(f"{path} cannot be read: {error}") from None
    return table if isinstance(table, dict) else {}


def _is_log(one: KeptFile) -> bool:
    return one.path.startswith(f"{LOG}/")


def _counts(one: KeptFile, cut: Cut) -> bool:
    """Return True if a file contains data before the cut."""
    return not _is_log(one) or int(one.path[-20:]) < cut.offset


def restore_store(
    disk: Disk,
    source: str,
    options: StoreOptions,
    until: Until = THE_END,
    *,
    progress: Progress = lambda *_: None,
) -> RestoreReport:
    """Restore the store of `options` from a backup; see the module docstring.

    Its directory must be missing or empty.
    Raises `StoreError` for an incomplete backup or a point outside of it, `StoreUnavailable` for a directory
    that is in use, and `OSError`; then nothing is left of it.
    """
    root = options.store_path_root_dir
    if disk.listdir(root):
        raise StoreUnavailable(f"{root} is not empty: a store is restored to a folder of its own")
    restore = _Restore(disk, source, options, progress)
    try:
        report = restore.run(until)
        restore.finish()
    except BaseException:
        restore.give_up()
        raise
    return report
