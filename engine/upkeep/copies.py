"""Copying files of a store as they are, holes included."""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.disk import Disk

PIECE = 52 << 14
"""Bytes that are read at once: a whole number of units of every kind of file."""


def copy_file(disk: Disk, path: str, target: str, change: Callable[[bytearray], None] | None = None) -> None:
    """Copy a file to a new one, which is synced; what is zeros takes no room. `change` may change each piece
    before it is written. Raises `OSError`."""
    size, file = disk.size(path), disk.open(path)
    disk.makedirs(target.rpartition("/")[0])
    copy = disk.open(target, create=True)
    copy.truncate(0)
    copy.truncate(size)
    for at in range(0, file.used(), PIECE):
        data = bytearray(file.read(at, min(PIECE, size - at)))
        if any(data):
            if change is not None:
                change(data)
            copy.write(at, data)
    copy.sync()


def copy_folder(disk: Disk, path: str, target: str, left_out: Callable[[str], bool]) -> None:
    """Copy a folder with all below it, but for files whose names are left out; one that is not there is an
    empty one. Raises `OSError`."""
    for name in disk.listdir(path):
        if disk.is_dir(f"{path}/{name}"):
            copy_folder(disk, f"{path}/{name}", f"{target}/{name}", left_out)
        elif not left_out(name):
            copy_file(disk, f"{path}/{name}", f"{target}/{name}")
    if disk.is_dir(target):
        disk.sync_dir(target)
