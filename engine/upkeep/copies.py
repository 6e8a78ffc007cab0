"""Copying files of a store as they are, holes included."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mqgateway.engine.disk import Disk, File

CHUNK_SIZE = 52 << 14
"""Bytes that are read at once: a whole number of units of every kind of file."""

See = Callable[[bytearray], object]
"""Is given each chunk of a file before it is written, and may change it."""


def chunks(file: File, used: int) -> Iterator[tuple[int, bytearray]]:
    """Yield the first bytes of a file, with where each chunk begins."""
    for at in range(0, used, CHUNK_SIZE):
        data = bytearray(file.read(at, min(CHUNK_SIZE, used - at)))
        if not data:
            return
        yield at, data


def copy_file(
    disk: Disk,
    path: str,
    target: str,
    see: See = lambda _: None,
    used: int | None = None,
    size: int | None = None,
) -> None:
    """Copy a file to a new one, which is synced; what is zeros takes no room. Only the first `used` bytes are
    copied where that is given, and the new file gets a length of `size`. Raises `OSError`."""
    disk.makedirs(target.rpartition("/")[0])
    size = disk.size(path) if size is None else size
    file = disk.read_only().open(path)
    try:
        copy = disk.open(target, create=True)
        try:
            copy.truncate(0)
            copy.truncate(size)
            used = min(size, -(-file.used() // CHUNK_SIZE) * CHUNK_SIZE) if used is None else used
            for at, data in chunks(file, used):
                see(data)
                if data.count(0) != len(data):
                    copy.write(at, data)
            copy.sync()
        finally:
            copy.close()
    finally:
        file.close()


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
