"""Backup of a store, which a broker may have open.

    1. tables of progress (`PROGRESS`): offsets, delay levels, ordered pops
    2. end offsets of the queues
    3. the log: full files are linked or copied, the newest one up to its last complete record
    4. compacted parts of queues, which have what the log has lost; each is one file that never changes
    5. the other tables

In this order no table refers to data that the backup's log lacks, and the topics of all its messages are
known: a message that was consumed after step 1 is delivered again, and none is skipped. Queues and index are
not kept, as they are rebuilt from the log; nor are the files of timers, which a start rebuilds.

A file that has not changed since the previous backup is linked to that backup's file. A full file of the log
is linked if the backup is on the store's file system, which costs nothing, and shares its bytes with the
store: `is_copy` makes it independent. RocketMQ has no backups; its users copy directories.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mqgateway.engine.disk import LinkingDisk, make_directories
from mqgateway.engine.errors import CorruptFile, StoreError, StoreUnavailable
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BATCH_UNIT_SIZE
from mqgateway.engine.store.compacted_part import CompactedPart
from mqgateway.engine.store.consume_queue import UNIT_SIZE
from mqgateway.engine.store.file_queue import FileQueue, file_name
from mqgateway.engine.store.record import START, examine
from mqgateway.engine.store.views.compacted_parts import FOLDER
from mqgateway.engine.tables.jsonfile import BROKEN
from mqgateway.engine.upkeep.findings import Findings, Progress, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, read
from mqgateway.engine.upkeep.manifest import (
    MANIFEST,
    PARTIAL,
    STORE,
    KeptFile,
    Manifest,
    Shapes,
    backups,
    copy,
    damaged,
    digest,
    load,
    write,
)
from mqgateway.engine.upkeep.queue_check import last_number
from mqgateway.engine.upkeep.table_check import read_checkpoint
from mqgateway.engine.upkeep.walk import LogWalk, fields_of

PROGRESS = ("consumerOffset.json", "lmqConsumerOffset.json", "delayOffset.json", "consumerOrderInfo.json")
LEFT_OUT = ("timercheck", "timermetrics", "transactionMetrics")
"""Files that a start rebuilds, like the files of timers that are not kept either."""
BESIDE = ("epochFileCheckpoint", "epochFileCheckpoint.bak", "brokerIdentity")
"""Files beside the log that cannot be derived from it."""
ATTEMPTS_MAX = 50
"""Maximum of attempts to read tables that change meanwhile."""
LOG = "commitlog"
QUEUES, BATCH_QUEUES = "consumequeue", "batchconsumequeue"


@dataclass
class BackupReport:
    """Result of a backup: copied files, files linked to the store's, and files of the previous backup."""

    folder: str
    manifest: Manifest
    copied: list[KeptFile] = field(default_factory=list)
    linked: list[KeptFile] = field(default_factory=list)
    unchanged: list[KeptFile] = field(default_factory=list)


class _Backup:
    """One backup in progress."""

    def __init__(
        self, disk: LinkingDisk, layout: Layout, target: str, now: int, is_copy: bool, progress: Progress
    ) -> None:
        self._disk = disk
        self._layout = layout
        self._is_copy = is_copy
        self._progress = progress
        self._before, self._before_folder = _latest(disk, target)
        self._name = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        self._place = f"{target}/{self._name}"
        if disk.is_dir(self._place):
            raise StoreError(f"{self._place} is there already: a second has to pass between two backups")
        self._made = f"{self._place}{PARTIAL}"
        self.report = BackupReport(self._place, Manifest(layout.root, now))

    def run(self) -> BackupReport:
        """Make the backup. After a failure nothing is left of it."""
        disk, report = self._disk, self.report
        disk.rmtree(self._made)
        make_directories(disk, f"{self._made}/{STORE}/config")
        make_directories(disk, f"{self._made}/{STORE}/{LOG}")
        try:
            self._keep_tables(True)
            report.manifest.ends, report.manifest.shapes = ends_of(self._layout)
            self._keep_log()
            self._keep_parts()
            self._keep_tables(False)
            self._note_topics()
            for folder in (*(report.manifest.ends), LOG, "config", "."):
                if disk.is_dir(f"{self._made}/{STORE}/{folder}"):
                    disk.sync_dir(f"{self._made}/{STORE}/{folder}")
            self._verify()
            write(disk, f"{self._made}/{MANIFEST}", report.manifest.encode())
            disk.sync_dir(self._made)
            disk.rename(self._made, self._place)
            disk.sync_dir(self._place.rpartition("/")[0])
        except BaseException:
            disk.rmtree(self._made)
            raise
        return report

    def _verify(self) -> None:
        """Verify copied files by reading them again; linked ones were read for their digest."""
        written = Manifest("", 0, files=self.report.copied)
        if found := damaged(self._disk, self._made, written):
            raise StoreError("the disk of the backup does not keep written data: " + "; ".join(found))

    # Tables.

    def _keep_tables(self, of_progress: bool) -> None:
        """Write the tables of one kind as they are at one moment."""
        root = self._layout.root
        for path, data in still_tables(self._layout, of_progress, () if of_progress else BESIDE).items():
            kept = f"{self._made}/{STORE}/{path}"
            write(self._disk, kept, data)
            modified = self._disk.modified(kept)
            one = KeptFile(path, len(data), len(data), digest(self._disk, kept, len(data)), modified)
            self.report.manifest.files.append(one)
            self.report.copied.append(one)
        if of_progress and (folders := self._disk.subdirs(f"{root}/config")):
            raise StoreUnavailable(
                f"{root}/config/{folders[0]} is a folder, such as a database of Apache's broker: "
                "tables in it cannot be read. Stop the broker and copy the whole store"
            )

    def _note_topics(self) -> None:
        """Add topics created meanwhile, by the directories of their queues: a large table lags behind its
        journal."""
        layout = self._layout
        for kind, folder in ((QUEUES, layout.queues), (BATCH_QUEUES, layout.batch_queues)):
            for topic in self._disk.subdirs(folder):
                self.report.manifest.ends[kind].setdefault(topic, {})

    # Compacted parts.

    def _keep_parts(self) -> None:
        """Keep the compacted parts. One that was replaced meanwhile is kept as it is then."""
        folder = f"{self._made}/{STORE}/{FOLDER}"
        for topic, queue_id, source in self._layout.part_files():
            path = f"{FOLDER}/{topic}/{queue_id}"
            make_directories(self._disk, f"{folder}/{topic}")
            for _ in range(ATTEMPTS_MAX):
                try:
                    size = self._disk.size(source)
                    self._keep_file(path, source, size)
                    CompactedPart(self._disk.read_only(), f"{self._made}/{STORE}/{path}")
                    break
                except FileNotFoundError:
                    break  # its topic was deleted
                except CorruptFile:
                    self._drop(path)
            else:
                raise StoreUnavailable(f"{source} cannot be read")
            self._disk.sync_dir(f"{folder}/{topic}")

    def _drop(self, path: str) -> None:
        """Drop a file kept so far."""
        report = self.report
        for kept in (report.manifest.files, report.copied, report.linked, report.unchanged):
            kept[:] = [one for one in kept if one.path != path]
        self._disk.unlink(f"{self._made}/{STORE}/{path}")

    # The log.

    def _keep_log(self) -> None:
        layout, manifest = self._layout, self.report.manifest
        findings = Findings()
        files = find_files(layout.log_pool, layout.commit_log, StorePart.LOG, findings, "")
        if findings.errors:
            raise StoreError(f"{findings.kept[0]}; for details run mqgateway store check {layout.root}")
        manifest.log_file_size = files.file_size
        newest = newest_in_use(files)
        if newest is None:
            return
        old = [start for start in files.starts if start < newest]
        end, manifest.last_timestamp = self._end_of(files, newest)
        self._check_room(len(old) * files.file_size + end - newest)
        done, total = 0, end - (old or [newest])[0]
        for start in old:
            # Old files may be deleted at any moment, the oldest first: earlier ones are useless then.
            try:
                self._keep_full(start, files.file_size)
            except FileNotFoundError:
                self._drop_log()
            done += files.file_size
            self._progress("keeping the log", done, total)
        self._keep_last(newest, end, files.file_size)
        self._progress("keeping the log", total, total)
        kept = [int(one.path[-20:]) for one in manifest.files if one.path.startswith(f"{LOG}/")]
        manifest.log_start, manifest.log_end = min(kept), end
        manifest.first_timestamp = store_time_at(files, manifest.log_start)

    def _drop_log(self) -> None:
        """Drop the log files kept so far."""
        report = self.report
        for kept in (report.manifest.files, report.copied, report.linked, report.unchanged):
            kept[:] = [one for one in kept if not one.path.startswith(f"{LOG}/")]
        for name in self._disk.listdir(f"{self._made}/{STORE}/{LOG}"):
            self._disk.unlink(f"{self._made}/{STORE}/{LOG}/{name}")

    def _end_of(self, files: FileQueue, newest: int) -> tuple[int, int]:
        """Return the end of the newest file's last complete record, and its store time."""
        known = read_checkpoint(self._layout, Findings()).logics_offset
        begin = known if newest <= known and store_time_at(files, known) else newest
        for _ in range(ATTEMPTS_MAX):
            one = FileQueue(self._layout.log_pool, files.directory, files.file_size)
            one.starts = [newest]
            walk = LogWalk(one, Findings(), lambda _: False, begin=begin)
            timestamp = 0
            for data, at, _, size in walk.records():
                timestamp = fields_of(data, at, size)[3]
            # A record read while it was written looks like damage as soon as others follow.
            if not walk.damaged:
                return walk.end, timestamp
        begin, end = walk.damaged[0]
        raise StoreError(
            f"the log cannot be read from {begin} to {end}: "
            f"for details run mqgateway store check {self._layout.root}"
        )

    def _check_room(self, log_bytes: int) -> None:
        """Raise `OSError` if there is not enough space, before anything is copied."""
        before = sum(one.used for one in self._before.files) if self._before else 0
        wanted = log_bytes if self._is_copy or not self._can_link() else self.report.manifest.log_file_size
        free = self._disk.usage(self._made)[1]
        if wanted - before > free:
            raise OSError(errno.ENOSPC, f"{wanted - before} bytes are needed, {free} are free", self._made)

    def _can_link(self) -> bool:
        return self._disk.capacity(self._made)[0] == self._disk.capacity(self._layout.commit_log)[0]

    def _keep_full(self, start: int, size: int) -> None:
        name = file_name(start)
        self._keep_file(f"{LOG}/{name}", f"{self._layout.commit_log}/{name}", size)

    def _keep_file(self, path: str, source: str, size: int) -> None:
        """Link or copy a file whose content does not change."""
        kept = f"{self._made}/{STORE}/{path}"
        modified = self._disk.modified(source)
        if (old := self._unchanged(path, size, modified)) is not None:
            try:
                self._disk.link(f"{self._before_folder}/{STORE}/{path}", kept)
            except FileNotFoundError:
                pass
            else:
                self._note(old, self.report.unchanged)
                return
        if not self._is_copy:
            try:
                self._disk.link(source, kept)
            except FileNotFoundError:
                raise
            except OSError:
                # Another file system, or one without links.
                self._is_copy = True
            else:
                found = digest(self._disk.read_only(), kept, size)
                self._note(KeptFile(path, size, size, found, modified), self.report.linked)
                return
        found = copy(self._disk, source, kept, size, size)
        self._note(KeptFile(path, size, size, found, modified), self.report.copied)

    def _unchanged(self, path: str, size: int, modified: int) -> KeptFile | None:
        old = self._before.file(path) if self._before else None
        return old if old is not None and (old.used, old.modified) == (size, modified) else None

    def _keep_last(self, start: int, end: int, size: int) -> None:
        path = f"{LOG}/{file_name(start)}"
        source, kept = f"{self._layout.commit_log}/{file_name(start)}", f"{self._made}/{STORE}/{path}"
        found = copy(self._disk, source, kept, end - start, size)
        self._note(KeptFile(path, size, end - start, found, 0), self.report.copied)

    def _note(self, one: KeptFile, among: list[KeptFile]) -> None:
        self.report.manifest.files.append(one)
        among.append(one)


def still_tables(layout: Layout, of_progress: bool, beside: Iterable[str] = ()) -> dict[str, bytes]:
    """Return the tables of a store, and files `beside` them, by their paths, read until none changed
    meanwhile: a journal belongs to one content of its file. Raises `StoreUnavailable`, `OSError`."""
    for _ in range(ATTEMPTS_MAX):
        try:
            before = table_states(layout, of_progress, beside)
            found = {path: layout.disk.read_bytes(f"{layout.root}/{path}") for path in before}
            if table_states(layout, of_progress, beside) == before:
                return found
        except FileNotFoundError:
            continue
    raise StoreUnavailable(f"the tables in {layout.config} change faster than they can be read")


def table_states(layout: Layout, of_progress: bool, beside: Iterable[str] = ()) -> dict[str, tuple[int, int]]:
    """Return bytes and time of the last write (ms) of the tables of a store, and of files `beside` them."""
    disk, root = layout.disk, layout.root
    names = [f"config/{name}" for name in disk.listdir(layout.config) if _is_table(name, of_progress)]
    names += [name for name in beside if disk.exists(f"{root}/{name}")]
    paths = [name for name in names if not disk.is_dir(f"{root}/{name}")]
    return {path: (disk.size(f"{root}/{path}"), disk.modified(f"{root}/{path}")) for path in sorted(paths)}


def _is_table(name: str, of_progress: bool) -> bool:
    if name.endswith(".tmp") or BROKEN in name or name.startswith(LEFT_OUT):
        return False
    return name.startswith(PROGRESS) is of_progress


def _latest(disk: LinkingDisk, target: str) -> tuple[Manifest | None, str]:
    """Return the newest backup in a directory with a readable manifest, and its path."""
    for name in reversed(backups(disk, target)):
        try:
            return load(disk, f"{target}/{name}"), f"{target}/{name}"
        except StoreError:
            continue
    return None, ""


def newest_in_use(files: FileQueue) -> int | None:
    """Return the start of the newest file with a record; None without any. RocketMQ's broker creates the next
    file before it needs it."""
    return next((start for start in reversed(files.starts) if store_time_at(files, start) > 0), None)


def store_time_at(files: FileQueue, offset: int) -> int:
    """Return the store time in ms of the record at a log offset; 0 if none begins there."""
    head = read(files, offset, START.size)
    if len(head) < START.size:
        return 0
    size = START.unpack(head)[0]
    data = read(files, offset, size) if 0 < size <= files.file_size else b""
    whole = examine(data, 0, offset, False)
    return fields_of(data, 0, size)[3] if isinstance(whole, int) and whole > 0 else 0


def ends_of(layout: Layout) -> tuple[dict[str, dict[str, dict[str, int]]], Shapes]:
    """Return the next queue offset of each queue on disk, and the lengths of derived files."""
    ends: dict[str, dict[str, dict[str, int]]] = {QUEUES: {}, BATCH_QUEUES: {}}
    sizes = dict.fromkeys(ends, 0)
    for kind, parent, unit_size in (
        (QUEUES, layout.queues, UNIT_SIZE),
        (BATCH_QUEUES, layout.batch_queues, BATCH_UNIT_SIZE),
    ):
        for topic, queue_id, folder in layout.queue_folders(parent):
            files = find_files(layout.pool, folder, StorePart.QUEUE, Findings(), "")
            sizes[kind] = files.file_size if files.starts else sizes[kind]
            ends[kind].setdefault(topic, {})[str(queue_id)] = _end_of_queue(files, unit_size)
    slots = entries = 0
    for name in layout.index_files():
        slots, entries = layout.index_shape(layout.disk.size(f"{layout.index}/{name}")) or (slots, entries)
    return ends, Shapes(sizes[QUEUES], sizes[BATCH_QUEUES], slots, entries)


def _end_of_queue(files: FileQueue, unit_size: int) -> int:
    number = last_number(files, unit_size) if files.starts and not files.file_size % unit_size else -1
    if unit_size == UNIT_SIZE or number < 0:
        return number + 1
    data = read(files, number * unit_size, unit_size)
    try:
        base, count = BATCH_UNIT.unpack(data)[4:6]
    except struct.error:  # removed meanwhile
        return 0
    return int(base) + int(count)


def back_up(
    disk: LinkingDisk,
    options: StoreOptions,
    target: str,
    now: int,
    *,
    is_copy: bool = False,
    progress: Progress = lambda *_: None,
) -> BackupReport:
    """Make a backup of a store in a directory of backups; see the module docstring. `now` in ms determines
    its name. Raises `StoreUnavailable` if there is no store or it cannot be kept, `StoreError` for an
    unreadable log, and `OSError`; then nothing is left of it."""
    layout = Layout(disk.read_only(), options)
    if layout.ledger:
        raise StoreUnavailable(
            f"{layout.root} is a DLedger member's, whose log is in {layout.ledger}: stop the broker and copy "
            "the whole store, or convert it"
        )
    if not disk.is_dir(layout.commit_log):
        raise StoreUnavailable(f"{layout.root} has no store: there is no folder {layout.commit_log}")
    if any(
        disk.subdirs(f"{layout.root}/compaction/{name}") for name in disk.subdirs(f"{layout.root}/compaction")
    ):
        raise StoreUnavailable(
            f"{layout.root} has compaction topics, whose files are rewritten while they are read: "
            "stop the broker and copy the whole store"
        )
    return _Backup(disk, layout, target.rstrip("/"), now, is_copy, progress).run()


def list_backups(disk: LinkingDisk, folder: str) -> Mapping[str, Manifest]:
    """Return the backups in a directory by name, oldest first. Raises `StoreError` for one that cannot be
    read."""
    return {name: load(disk, f"{folder}/{name}") for name in backups(disk, folder)}
