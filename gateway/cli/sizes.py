"""Lengths of a store's files, for settings without a value.

An existing store keeps the lengths of its files. A new store gets RocketMQ's lengths, or small ones for
trying things out (`mqgateway serve`). If one of the lengths is set, it gets RocketMQ's: two brokers that open
one store must agree on all. RocketMQ refuses to start if the length of a file differs from its setting. So
the lengths shown (request 26, `-p`) are those of the files: another broker needs them to open the store.
"""

from __future__ import annotations

from mqgateway.engine.disk import Disk
from mqgateway.engine.options import OptionSet

LOG_SIZE = "mappedFileSizeCommitLog"
QUEUE_SIZE = "mappedFileSizeConsumeQueue"
BATCH_QUEUE_SIZE = "mapperFileSizeBatchConsumeQueue"
SLOTS = "maxHashSlotNum"
ENTRIES = "maxIndexNum"

SMALL = {LOG_SIZE: 64 << 20, QUEUE_SIZE: 600_000, SLOTS: 500_000, ENTRIES: 2_000_000}
"""Lengths of the files of a new store for trying things out."""

STANDARD_LOG_SIZE = 1 << 30
"""Minimum size of the log after forced deletion with RocketMQ's file length: one file of it."""

ENTRIES_A_SLOT = 4
"""Index entries a slot in RocketMQ's index files, and in mqgateway's by default."""
_INDEX_HEADER, _SLOT, _ENTRY = 40, 4, 20


def assume_file_sizes(options: OptionSet, disk: Disk, small: bool) -> None:
    """Set the unset lengths. With `small`, a new store gets small files. Raises `OSError`."""
    root = str(options.get("storePathRootDir"))
    logs = str(options.get("storePathCommitLog")) or f"{root}/commitlog"
    if options.get("enableDLegerCommitLog"):
        own = f"{root}/dledger-{options.get('dLegerSelfId')}/data"
        logs = str(options.get("storePathDLedgerCommitLog")) or own
    found = _found(disk, root, logs)
    for name, (size, path) in found.items():
        options.assume(name, size, f"length of {path}")
    if small and not any(options.origin(name) != "default" for name in SMALL):
        for name, size in SMALL.items():
            options.assume(name, size, "new store")
    if small and options.get(LOG_SIZE) == SMALL[LOG_SIZE]:
        # Otherwise a disk filled by other programs would cost all but the last minutes of messages.
        options.assume("cleanForciblyKeepSize", STANDARD_LOG_SIZE, "small files")


def _found(disk: Disk, root: str, logs: str) -> dict[str, tuple[int, str]]:
    """Return the lengths of existing files by setting, each with the path of the file."""
    found: dict[str, tuple[int, str]] = {}
    for name, path in (
        (LOG_SIZE, _first_file(disk, logs)),
        (QUEUE_SIZE, _first_queue_file(disk, f"{root}/consumequeue")),
        (BATCH_QUEUE_SIZE, _first_queue_file(disk, f"{root}/batchconsumequeue")),
    ):
        if path:
            found[name] = disk.size(path), path
    path = _first_file(disk, f"{root}/index")
    slots, rest = divmod(disk.size(path) - _INDEX_HEADER, _SLOT + _ENTRY * ENTRIES_A_SLOT) if path else (0, 0)
    if slots > 0 and not rest:
        found[SLOTS] = slots, path
        found[ENTRIES] = slots * ENTRIES_A_SLOT, path
    return found


def _first_file(disk: Disk, directory: str) -> str:
    """Return the path of a non-empty file with a numeric name, as in a log; an empty text if none."""
    for name in disk.listdir(directory):
        path = f"{directory}/{name}"
        if name.isdigit() and not disk.is_dir(path) and disk.size(path):
            return path
    return ""


def _first_queue_file(disk: Disk, directory: str) -> str:
    for topic in disk.subdirs(directory):
        for queue in disk.subdirs(f"{directory}/{topic}"):
            path = _first_file(disk, f"{directory}/{topic}/{queue}")
            if path:
                return path
    return ""
