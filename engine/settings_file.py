"""A settings file as its owner keeps it: linked, mounted alone, read-only, owned by another user.

A file is replaced in one step where the system allows that, so that a power cut leaves the old text or the
new one. A file is written in place if it is a mount by itself (`docker run -v ./broker.conf:...`), if its
folder takes no new files, or if it belongs to another user. Symbolic links, mode and owner stay. The old text
is kept beside the file where the folder allows it, with `.bak` at the end of its name.

Standard: `MixAll.string2File`, which needs a folder that takes new files.
"""

import contextlib
import errno

from mqgateway.engine.disk import Disk
from mqgateway.engine.tables.jsonfile import take_place, write_aside, write_table

_IN_PLACE = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors that mean a file cannot be replaced, although its text may be changed."""


def write_settings(disk: Disk, path: str, text: bytes) -> None:
    """Write a settings file. Raises `OSError`; the file then has its old text."""
    path = disk.resolve(path)
    if not disk.exists(path):
        write_table(disk, path, text)
        return
    old = disk.read_bytes(path)
    try:
        _replace(disk, path, path + ".bak", old)
        _replace(disk, path, path, text)
    except OSError as error:
        for aside in (path + ".bak.tmp", path + ".tmp"):
            with contextlib.suppress(OSError):
                disk.unlink(aside)
        if error.errno not in _IN_PLACE:
            raise
        _write_in_place(disk, path, old, text)


def _replace(disk: Disk, model: str, path: str, text: bytes) -> None:
    """Let a new file with the mode and owner of `model` take a place in one step."""
    write_aside(disk, path, [text])
    disk.imitate(path + ".tmp", model)
    take_place(disk, path)


def _write_in_place(disk: Disk, path: str, old: bytes, text: bytes) -> None:
    file = disk.open(path)
    try:
        try:
            file.write(0, text)
        except OSError:
            with contextlib.suppress(OSError):
                file.write(0, old)
                file.truncate(len(old))
            raise
        file.truncate(len(text))
        file.sync()
    finally:
        file.close()
