"""Files of an overlay read from memory where they are held, and from the disk otherwise."""

import errno

from mqgateway.engine.held_files import Content
from mqgateway.engine.overlay import Overlay
from mqgateway.engine.overlay_files import HeldFile, HeldWindow
from mqgateway.engine.testing.crash_disk import CrashDisk


def held_file() -> tuple[CrashDisk, HeldFile]:
    disk = CrashDisk()
    disk.makedirs("/d")
    disk.open("/d/a", create=True).write(0, b"on the disk")
    overlay = Overlay(disk)
    overlay.begin()
    file = overlay.open("/d/a")
    assert isinstance(file, HeldFile)
    return disk, file


def test_file_without_held_changes_is_the_disks() -> None:
    _, file = held_file()
    assert (file.content, file.read(0, 99), file.size()) == (None, b"on the disk", 11)
    assert file.read_ready(0, 2) == b"on"
    file.write(0, b"by")
    assert file.below().read(0, 2) == b"by"


def test_file_with_held_changes_is_read_from_memory() -> None:
    disk, file = held_file()
    disk.fail_next("write", "/d", errno.ENOSPC)
    file.write(0, b"in")
    assert file.read(0, 99) == b"in the disk"
    assert file.read_ready(0, 12) is None
    assert (file.part(0, 4096), file.size(), file.used()) == (None, 11, 11)
    assert file.content is not None


def test_window_continues_in_the_file() -> None:
    disk, file = held_file()
    window = HeldWindow(Content(file.below()), 8)
    window.buffer[:2] = b"xy"
    window.become(disk.open("/d/a"))
    window.buffer[2:3] = b"z"
    assert disk.read_bytes("/d/a")[:4] == b"xyzt"
    window.forget()
    window.close()
