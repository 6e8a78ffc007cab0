"""Stores whose log is a DLedger member's, made of ordinary ones."""

from collections.abc import Iterable
from pathlib import Path

from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.files.entry import HEAD_SIZE
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.store.record import BLANK_MAGIC, START
from tests.support.engine.store.stores import ROOT, options

LEDGER = f"{ROOT}/dledger-n0"
DATA = f"{LEDGER}/data/{0:020d}"
INDEX = f"{LEDGER}/index/{0:020d}"
FILE_SIZE = 4096
INDEX_FILE_SIZE = 1024
TERM = 3


def records_of(disk: Disk, names: list[str]) -> list[bytes]:
    """The records of commit log files."""
    found = []
    for name in names:
        data, at = disk.read_bytes(f"{ROOT}/commitlog/{name}"), 0
        while True:
            size, magic = START.unpack_from(data, at)
            if size == 0 or magic == BLANK_MAGIC:
                break
            found.append(data[at : at + size])
            at += size
    return found


def append_record(log: FileLog, record: bytes, term: int = TERM) -> int:
    """Put a record as a broker of a group does: it says where it lies, which is returned."""
    place = log.place(len(record)) + HEAD_SIZE
    log.append(term, record[:28] + place.to_bytes(8, "big") + record[36:])
    return place


def into_ledger(disk: Disk, older_files: int = 0) -> Disk:
    """Make the log of a stopped store a member's, but for so many files that stay below it; with the queues
    and the index that belong to it. The disk itself."""
    names = disk.listdir(f"{ROOT}/commitlog")
    records = records_of(disk, names[older_files:])
    log = FileLog(disk, LEDGER, FILE_SIZE, INDEX_FILE_SIZE)
    log.reset(0, older_files * FILE_SIZE)
    moved = {0: 0}
    for number, record in enumerate(records):
        moved[int.from_bytes(record[28:36], "big")] = append_record(log, record, TERM + number // 20)
    log.keep_vote(log.end_term, "n1")
    log.note_committed(log.end_index)
    log.save_progress()
    for name in names[older_files:]:
        disk.unlink(f"{ROOT}/commitlog/{name}")
    if not older_files:
        disk.rmtree(f"{ROOT}/commitlog")
    for name in ("checkpoint", "queuetable"):
        if disk.exists(f"{ROOT}/{name}"):
            disk.unlink(f"{ROOT}/{name}")
    _move(disk, moved, older_files * FILE_SIZE)
    return disk


def _move(disk: Disk, moved: dict[int, int], since: int) -> None:
    """Let queues and index speak of records where they lie now."""
    queues = f"{ROOT}/consumequeue"
    for folder in (
        f"{queues}/{topic}/{name}"
        for topic in disk.subdirs(queues)
        for name in disk.subdirs(f"{queues}/{topic}")
    ):
        for name in disk.listdir(folder):
            _replace(disk, f"{folder}/{name}", range(0, disk.size(f"{folder}/{name}"), 20), moved, since, 0)
    for name in disk.listdir(f"{ROOT}/index"):
        path = f"{ROOT}/index/{name}"
        first = 40 + 4 * options().max_hash_slot_num
        _replace(disk, path, [16, 24, *range(first + 4, disk.size(path), 20)], moved, since, 4)


def _replace(
    disk: Disk, path: str, places: Iterable[int], moved: dict[int, int], since: int, lead: int
) -> None:
    data = bytearray(disk.read_bytes(path))
    for at in places:
        offset = int.from_bytes(data[at : at + 8], "big")
        if offset >= since and any(data[at - lead : at + 12]):
            data[at : at + 8] = moved[offset].to_bytes(8, "big")
    disk.open(path).write(0, data)


def onto_real_disk(disk: Disk, folder: Path) -> StoreOptions:
    """Copy the store to a folder; the settings for it."""
    pending = [ROOT]
    while pending:
        place = pending.pop()
        target = folder / place.strip("/")
        target.mkdir(parents=True)
        for name in disk.listdir(place):
            if disk.is_dir(f"{place}/{name}"):
                pending.append(f"{place}/{name}")
            else:
                (target / name).write_bytes(disk.read_bytes(f"{place}/{name}"))
    return options(store_path_root_dir=str(folder / ROOT.strip("/")))
