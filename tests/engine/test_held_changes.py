"""Held changes are carried out in order, each once."""

import errno

import pytest

from mqgateway.engine.held_changes import HeldChange, HeldChanges
from mqgateway.engine.held_files import Content
from mqgateway.engine.testing.crash_disk import CrashDisk


def disk_with_folder() -> CrashDisk:
    disk = CrashDisk()
    disk.makedirs("/d")
    return disk


def test_changes_are_carried_out_in_order() -> None:
    disk = disk_with_folder()
    changes = HeldChanges(disk)
    for change in (
        HeldChange("makedirs", "/d/new"),
        HeldChange("create", "/d/new/a"),
        HeldChange("write", "/d/new/a", 0, b"first"),
        HeldChange("write", "/d/new/a", 3, b"second"),
        HeldChange("truncate", "/d/new/a", 5),
        HeldChange("sync", "/d/new/a"),
        HeldChange("rename", "/d/new/a", data=b"/d/new/b"),
        HeldChange("write", "/d/new/b", 0, b"F"),
        HeldChange("sync_dir", "/d/new"),
        HeldChange("sync_all", "/d"),
    ):
        changes.append(change)
    changes.carry_out()
    assert disk.listdir("/d/new") == ["b"]
    assert disk.read_bytes("/d/new/b") == b"Firse"


def test_failed_change_is_the_next_one() -> None:
    disk = disk_with_folder()
    changes = HeldChanges(disk)
    changes.append(HeldChange("create", "/d/a"))
    changes.append(HeldChange("write", "/d/a", 0, b"text"))
    disk.fail_next("write", "/d", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        changes.carry_out()
    assert disk.read_bytes("/d/a") != b"text"
    changes.carry_out()
    assert disk.read_bytes("/d/a") == b"text"


def test_change_of_removed_file_is_skipped() -> None:
    disk = disk_with_folder()
    changes = HeldChanges(disk)
    changes.append(HeldChange("truncate", "/d/gone", 9))
    changes.append(HeldChange("create", "/d/a"))
    changes.carry_out()
    assert disk.listdir("/d") == ["a"]


def test_window_is_written_as_it_is_when_carried_out() -> None:
    disk = disk_with_folder()
    disk.open("/d/a", create=True)
    content = Content(None)
    window = content.open_window(4)
    changes = HeldChanges(disk)
    changes.note_window("/d/a", content)
    changes.append(HeldChange("window", "/d/a", 4))
    window[:] = b"late"
    changes.carry_out()
    assert disk.read_bytes("/d/a") == b"late"


def test_shared_lock_becomes_lock_for_writing() -> None:
    disk = disk_with_folder()
    disk.lock("/d/lock").close()
    changes = HeldChanges(disk)
    changes.note_lock("/d/lock", disk.read_only().lock("/d/lock"))
    changes.append(HeldChange("lock", "/d/lock"))
    changes.carry_out()
    assert changes.locked("/d/lock") is not None
    assert changes.locked("/d") is None
    with pytest.raises(BlockingIOError):
        disk.lock("/d/lock")


def test_last_sync_is_held_once() -> None:
    disk = disk_with_folder()
    file = disk.open("/d/a", create=True)
    changes = HeldChanges(disk)
    changes.note_opened("/d/a", file)
    for _ in range(2):
        changes.append_last_sync(HeldChange("sync", "/d/a"))
    disk.fail_next("sync", "/d", errno.EIO)
    with pytest.raises(OSError):
        changes.carry_out()
    changes.forget(file)
    changes.carry_out()
    changes.clear()
    changes.append_last_sync(HeldChange("unlink", "/d/a"))
    changes.carry_out()
    assert disk.listdir("/d") == []
