"""Directories of a store, and the usable files in them.

File lengths depend on settings, which are not stored: each kind's is taken from the files themselves (the
length that most files have).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.file_queue import FilePool, FileQueue, file_name
from mqgateway.engine.store.index_file import ENTRY_SIZE, HEADER_SIZE
from mqgateway.engine.upkeep.findings import Findings, StorePart

REBUILD = "mqgateway store rebuild makes it again from the log"
RESTORE = "restore the file from a copy or a replica"
NAME_DIGITS = 20
LEDGER = "dledger-"
"""Prefix of the directory of a DLedger member's log, before the member's id."""
LEDGER_DATA, LEDGER_INDEX = "data", "index"
_ENTRIES_A_SLOT = 4


class Layout:
    """The directories of a store.

    `ledger` is that of a DLedger member, empty for an ordinary log; with a member the commit log has older
    records, or none. Raises `StoreUnavailable` if there are several.
    """

    def __init__(self, disk: Disk, options: StoreOptions) -> None:
        self.disk = disk
        self.options = options
        self.root = options.store_path_root_dir
        self.commit_log = options.store_path_commit_log or f"{self.root}/commitlog"
        self.ledger = _ledger_of(disk, self.root)
        self.queues = f"{self.root}/consumequeue"
        self.batch_queues = f"{self.root}/batchconsumequeue"
        self.ext = f"{self.root}/consumequeue_ext"
        self.index = f"{self.root}/index"
        self.checkpoint = f"{self.root}/checkpoint"
        self.abort = f"{self.root}/abort"
        self.lock = f"{self.root}/lock"
        self.queue_table = f"{self.root}/queuetable"
        self.config = f"{self.root}/config"
        self.log_pool = FilePool(disk, 8)
        self.pool = FilePool(disk, 256)

    @property
    def has_log(self) -> bool:
        """True if there is a log of any kind."""
        return bool(self.ledger) or self.disk.is_dir(self.commit_log)

    def index_files(self) -> list[str]:
        """Return the names of the index files, oldest first."""
        names = self.disk.listdir(self.index)
        return [name for name in names if name.isdigit() and not self.disk.is_dir(f"{self.index}/{name}")]

    def index_shape(self, size: int) -> tuple[int, int] | None:
        """Return slots and entries of an index file, by its size; None if the size is invalid.

        They are those of the settings, or have RocketMQ's number of entries per slot.
        """
        slots, entries = self.options.max_hash_slot_num, self.options.max_index_num
        if size == HEADER_SIZE + 4 * slots + ENTRY_SIZE * entries:
            return slots, entries
        slots, rest = divmod(size - HEADER_SIZE, 4 + _ENTRIES_A_SLOT * ENTRY_SIZE)
        return None if rest or slots <= 0 else (slots, slots * _ENTRIES_A_SLOT)

    def queue_folders(self, parent: str) -> Iterator[tuple[str, int, str]]:
        """Yield topic, queue id and directory of each queue below one of the parent directories."""
        for topic in self.disk.subdirs(parent):
            for name in self.disk.subdirs(f"{parent}/{topic}"):
                if name.isdigit():
                    yield topic, int(name), f"{parent}/{topic}/{name}"


def require_log(layout: Layout) -> None:
    """Raise `StoreUnavailable` if there is no log."""
    if not layout.has_log:
        raise StoreUnavailable(
            f"{layout.root} has no store: there is no folder {layout.commit_log}. "
            "If storePathCommitLog points elsewhere, give the broker's file with --config"
        )


def _ledger_of(disk: Disk, root: str) -> str:
    found = [f"{root}/{name}" for name in disk.subdirs(root) if name.startswith(LEDGER)]
    if len(found) > 1:
        raise StoreUnavailable(f"there are logs of several members: {', '.join(found)}; leave one of them")
    if found and not disk.is_dir(f"{found[0]}/{LEDGER_DATA}"):
        raise StoreUnavailable(
            f"{found[0]} has no folder {LEDGER_DATA}. If storePathDLedgerCommitLog points elsewhere, put a "
            "link to that folder there"
        )
    return found[0] if found else ""


def hold(disk: Disk, layout: Layout) -> File | None:
    """Take the store's lock, so that no broker starts meanwhile; return None if it has no lock file yet.

    Raises `StoreUnavailable` if there is no store or a broker has it open, and `OSError`.
    """
    if not disk.is_dir(layout.root):
        raise StoreUnavailable(
            f"{layout.root} is not a folder: give the folder of the store (storePathRootDir)"
        )
    require_log(layout)
    try:
        return disk.lock(layout.lock) if disk.exists(layout.lock) else None
    except BlockingIOError:
        raise StoreUnavailable(f"a broker has {layout.root} open: stop it first") from None


def find_files(pool: FilePool, directory: str, part: StorePart, findings: Findings, advice: str) -> FileQueue:
    """Return the readable files of one log or queue: of one length, consecutive, without a gap.

    Deviations are reported; files after a gap are included.
    """
    disk = pool.disk
    sizes = {}
    for name in disk.listdir(directory):
        path = f"{directory}/{name}"
        if len(name) == NAME_DIGITS and name.isdigit() and not disk.is_dir(path):
            sizes[name] = disk.size(path)
        else:
            findings.note(part, path, -1, "is not a file name of the store and is ignored")
    lengths = Counter(size for size in sizes.values() if size)
    file_size = lengths.most_common(1)[0][0] if lengths else 0
    files = FileQueue(pool, directory, max(1, file_size))
    for name, size in sizes.items():
        path = f"{directory}/{name}"
        if size == 0:
            is_last = name == max(sizes)
            what = "is empty" + ("; the next start removes it" if is_last else "")
            findings.add(not is_last, part, path, -1, what, "" if is_last else advice)
        elif size != file_size or int(name) % file_size:
            what = f"has {size} bytes and starts at {int(name)}, the others have {file_size} bytes"
            findings.error(part, path, -1, f"{what}; no broker starts with it", advice)
        else:
            if files.starts and int(name) != files.end:
                missing = f"{directory}/{file_name(files.end)}"
                findings.error(part, missing, -1, f"is missing: {name} is the next file", advice)
            files.starts.append(int(name))
    return files


def place(files: FileQueue, offset: int) -> tuple[str, int]:
    """Return the file with an offset of a log or queue, and the byte in it."""
    start = files.start_of(offset)
    return files.path(start), offset - start


def read(files: FileQueue, offset: int, size: int) -> bytes:
    """Return up to `size` bytes from an offset, of one file; none if the file is missing."""
    start = files.start_of(offset)
    if start not in files.starts:
        return b""
    return files.read(offset, min(size, start + files.file_size - offset))
