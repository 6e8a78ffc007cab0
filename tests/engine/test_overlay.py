"""A disk that refuses changes: a start continues, reads work, and held changes are carried out later."""

import errno
import logging
import os
from pathlib import Path

import pytest

from mqgateway.engine import overlay as overlays
from mqgateway.engine.disk import Disk
from mqgateway.engine.overlay import Overlay
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.testing.crash_disk import CrashDisk

FOLDER = "/store"
CALLS = ("write", "open", "truncate", "window", "makedirs", "rename", "unlink")


def disk_with_files() -> CrashDisk:
    disk = CrashDisk()
    disk.makedirs(f"{FOLDER}/old")
    for name in ("a", "b", "old/x"):
        disk.open(f"{FOLDER}/{name}", create=True).write(0, name.encode() * 3000)
    disk.lock(f"{FOLDER}/lock").close()
    disk.sync_dir(FOLDER)
    return disk


def fail(disk: CrashDisk, error: int = errno.EROFS) -> None:
    for call in CALLS:
        disk.fail_next(call, FOLDER, error, times=1 << 30)


def change(disk: Disk) -> None:
    """Make all kinds of changes, as a start does."""
    disk.lock(f"{FOLDER}/lock").write(0, b"lock")
    file = disk.open(f"{FOLDER}/a")
    file.write(5, b"written")
    file.truncate(4000)
    file.sync()
    window = disk.open(f"{FOLDER}/b").window(2048)
    window.buffer[0:6] = b"window"
    disk.makedirs(f"{FOLDER}/new/folder")
    made = disk.open(f"{FOLDER}/new/folder/aside", create=True)
    made.write(0, b"made")
    made.close()
    disk.rename(f"{FOLDER}/new/folder/aside", f"{FOLDER}/new/folder/made")
    disk.sync_dir(f"{FOLDER}/new/folder")
    disk.rmtree(f"{FOLDER}/old")
    disk.open(f"{FOLDER}/gone", create=True)
    disk.unlink(f"{FOLDER}/gone")
    disk.file_system(FOLDER).sync()


def seen(disk: Disk, folder: str = FOLDER) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name in disk.listdir(folder):
        path = f"{folder}/{name}"
        assert disk.exists(path)
        if disk.is_dir(path):
            found[path] = None
            found.update(seen(disk, path))
        else:
            found[path] = disk.read_bytes(path)
            assert len(found[path] or b"") == disk.size(path)
    assert [name for name in disk.listdir(folder) if disk.is_dir(f"{folder}/{name}")] == disk.subdirs(folder)
    return found


def test_held_changes_are_visible_and_then_carried_out() -> None:
    expected = disk_with_files()
    change(expected)
    for nth in range(20):
        disk = disk_with_files()
        overlay = Overlay(disk)
        overlay.begin()
        count = 0

        def soon(_operation: object, disk: CrashDisk = disk, nth: int = nth) -> None:
            nonlocal count
            count += 1
            if count == nth:
                fail(disk)

        disk.watch = soon
        if nth == 0:
            fail(disk)
        change(overlay)
        overlay.end()
        assert seen(overlay) == seen(expected), nth
        if overlay.refusal:
            assert "Read-only" in overlay.refusal
            assert not overlay.carry_out()
            disk.watch = None
            disk.heal()
            assert overlay.carry_out()
            overlay.settle()
        assert not overlay.refusal
        assert seen(disk) == seen(overlay) == seen(expected), nth


def test_the_lock_is_shared_while_held_and_taken_for_real_then() -> None:
    disk = disk_with_files()
    fail(disk)
    overlay = Overlay(disk)
    overlay.begin()
    lock = overlay.lock(f"{FOLDER}/lock")
    overlay.end()
    disk.heal()
    other = disk.lock(f"{FOLDER}/lock")
    assert not overlay.carry_out()
    other.close()
    assert overlay.carry_out()
    overlay.settle()
    with pytest.raises(BlockingIOError):
        disk.lock(f"{FOLDER}/lock")
    lock.close()
    disk.lock(f"{FOLDER}/lock").close()


def test_after_the_start_changes_are_refused_but_files_may_go() -> None:
    disk = disk_with_files()
    overlay = Overlay(disk)
    overlay.begin()
    fault = disk.fail_next("write", "/a", errno.ENOSPC)
    file, other = overlay.open(f"{FOLDER}/a"), overlay.open(f"{FOLDER}/b")
    file.write(0, b"held")
    assert fault.has_hit
    overlay.end()
    for refused in (file, other):
        with pytest.raises(OSError, match="No space left"):
            refused.write(0, b"more")
    with pytest.raises(OSError, match="No space left"):
        overlay.open(f"{FOLDER}/new", create=True)
    with pytest.raises(OSError, match="No space left"):
        overlay.unlink(f"{FOLDER}/a")
    overlay.unlink(f"{FOLDER}/b")
    other.truncate(10)
    assert not disk.exists(f"{FOLDER}/b") and other.size() == 10
    file.sync()
    assert file.read(0, 6) == b"heldaa"
    assert overlay.carry_out()
    overlay.settle()
    assert disk.read_bytes(f"{FOLDER}/a").startswith(b"heldaa")
    file.write(0, b"more")
    assert disk.read_bytes(f"{FOLDER}/a").startswith(b"moreaa")


def test_window_continues_in_the_file() -> None:
    disk = disk_with_files()
    overlay = Overlay(disk)
    overlay.begin()
    disk.fail_next("window", "/a", errno.ENOSPC)
    file = overlay.open(f"{FOLDER}/a")
    window = file.window(512)
    window.buffer[0:2] = b"12"
    overlay.end()
    window.buffer[2:4] = b"34"
    assert file.read(0, 5) == b"1234a"
    assert overlay.carry_out()
    overlay.settle()
    window.buffer[4:5] = b"5"
    assert disk.read_bytes(f"{FOLDER}/a")[:6] == b"12345a"
    window.close()


def test_other_errors_and_other_times_are_nothing_to_hold_for() -> None:
    disk = disk_with_files()
    overlay = Overlay(disk)
    overlay.begin()
    file = overlay.open(f"{FOLDER}/a")
    disk.fail_next("write", FOLDER, errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        file.write(0, b"x")
    overlay.end()
    disk.fail_next("write", FOLDER, errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        file.write(0, b"x")
    assert not overlay.refusal
    file.write(0, b"x")


def test_no_more_is_held_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "HELD_MAX", 20_000)
    disk = disk_with_files()
    fail(disk)
    overlay = Overlay(disk)
    overlay.begin()
    file = overlay.open(f"{FOLDER}/a")
    file.write(0, bytes(4096))
    with pytest.raises(OSError, match="Read-only"):
        file.write(0, bytes(30_000))


def test_a_start_that_holds_nothing_costs_nothing_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    disk = disk_with_files()
    overlay = Overlay(disk)
    overlay.begin()
    change(overlay)
    overlay.end()
    assert not overlay.refusal and not caplog.records
    assert type(overlay.open(f"{FOLDER}/a")) is type(disk.open(f"{FOLDER}/a"))


def test_files_of_the_machine(tmp_path: Path) -> None:
    """On the operating system's files; the refusal of writes is simulated."""

    class Full(RealDisk):
        is_full = True

        def rename(self, old: str, new: str) -> None:
            if self.is_full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), old)
            super().rename(old, new)

    disk = Full()
    (tmp_path / "a").write_bytes(b"a" * 9000)
    overlay = Overlay(disk)
    overlay.begin()
    lock = overlay.lock(f"{tmp_path}/lock")
    overlay.rename(f"{tmp_path}/a", f"{tmp_path}/b")
    file = overlay.open(f"{tmp_path}/b")
    file.write(1, b"held")
    window = file.window(4096)
    overlay.end()
    assert overlay.listdir(str(tmp_path)) == ["b", "lock"] and os.listdir(tmp_path) != ["b", "lock"]
    assert file.read_ready(0, 6) == b"aheldaa"[:6] and file.part(0, 4096) is None
    disk.is_full = False
    assert overlay.carry_out()
    overlay.settle()
    assert (tmp_path / "b").read_bytes().startswith(b"aheldaaa")
    window.buffer[0:1] = b"X"
    assert file.read(0, 3) == b"Xhe"
    assert overlay.capacity(str(tmp_path))[0] >= overlay.usage(str(tmp_path))[0] > 0
    lock.close()
