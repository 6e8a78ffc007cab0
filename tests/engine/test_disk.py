"""The contract of both disks; the memory disk also crashes and fails on request."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgateway.engine.disk import PART_UNIT, Disk, make_directories, open_to_others, total_memory
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.inode import SECTOR


@pytest.fixture(params=["real", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Disk, str]]:
    """Yield a disk and an existing directory on it."""
    disk: Disk = RealDisk() if request.param == "real" else CrashDisk()
    disk.makedirs(str(tmp_path))
    yield disk, str(tmp_path)


def test_writes_are_read_back_and_gaps_are_zero(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/a", create=True)
    file.truncate(100)
    file.write(10, b"xyz")
    assert file.read(8, 6) == b"\0\0xyz\0"
    assert file.size() == disk.size(f"{folder}/a") == 100
    assert len(file.read(90, 50)) == 10
    assert file.read(200, 5) == b""


def test_cutting_and_lengthening_gives_zeros(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/a", create=True)
    file.write(0, b"abcdef")
    file.truncate(2)
    file.truncate(6)
    assert file.read(0, 6) == b"ab\0\0\0\0"


def test_a_window_and_the_file_show_the_same_bytes(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/a", create=True)
    file.truncate(8192)
    window = file.window(4096)
    window.buffer[0:4] = b"slot"
    file.write(100, b"entry")
    assert file.read(0, 4) == b"slot"
    assert bytes(window.buffer[100:105]) == b"entry"
    window.forget()
    assert bytes(window.buffer[0:4]) == b"slot"
    window.close()


def test_a_part_shows_the_bytes_as_they_are_now(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/a", create=True)
    file.truncate(3 * PART_UNIT)
    file.write(PART_UNIT, b"abcdef")
    part = file.part(PART_UNIT, PART_UNIT)
    assert part is not None
    assert part.is_ready(6)
    assert part.buffer[2:4] == b"cd"
    file.write(PART_UNIT + 2, b"CD")
    assert part.buffer[0:6] == b"abCDef"
    assert type(part.buffer[0:6]) is bytes


def test_names_come_and_go(place: tuple[Disk, str]) -> None:
    disk, folder = place
    disk.makedirs(f"{folder}/x/y")
    disk.open(f"{folder}/x/b", create=True).write(0, b"b")
    disk.open(f"{folder}/x/a", create=True)
    assert disk.listdir(f"{folder}/x") == ["a", "b", "y"]
    assert disk.is_dir(f"{folder}/x/y") and not disk.is_dir(f"{folder}/x/a")
    disk.rename(f"{folder}/x/b", f"{folder}/x/a")
    assert disk.read_bytes(f"{folder}/x/a") == b"b"
    disk.sync_dir(f"{folder}/x")
    disk.unlink(f"{folder}/x/a")
    assert not disk.exists(f"{folder}/x/a")
    disk.rmtree(f"{folder}/x")
    disk.rmtree(f"{folder}/x")
    assert not disk.exists(f"{folder}/x/y")
    assert disk.listdir(f"{folder}/nowhere") == []


def test_an_absent_file_is_not_opened(place: tuple[Disk, str]) -> None:
    disk, folder = place
    with pytest.raises(FileNotFoundError):
        disk.open(f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        disk.open(f"{folder}/none/a", create=True)
    with pytest.raises(FileNotFoundError):
        disk.unlink(f"{folder}/a")


def test_usage_says_how_much_there_is_and_how_much_is_free(place: tuple[Disk, str]) -> None:
    disk, folder = place
    total, free = disk.usage(folder)
    assert 0 < free <= total
    size, unused = disk.capacity(folder)
    assert total <= size and free <= unused, "some of it may be kept for the administrator"


def test_a_file_may_be_closed_twice(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/a", create=True)
    file.sync()
    file.close()
    file.close()


def test_a_lock_is_held_until_its_file_is_closed() -> None:
    disk = CrashDisk()
    disk.makedirs("/d")
    held = disk.lock("/d/lock")
    with pytest.raises(BlockingIOError):
        disk.lock("/d/lock")
    held.close()
    disk.lock("/d/lock")


def test_a_crash_keeps_what_was_synced_and_may_lose_the_rest() -> None:
    outcomes = set()
    for seed in range(40):
        disk = CrashDisk()
        make_directories(disk, "/d")
        file = disk.open("/d/a", create=True)
        file.write(0, b"A" * SECTOR * 2)
        file.sync()
        disk.sync_dir("/d")
        file.write(SECTOR, b"B" * SECTOR * 2)
        disk.open("/d/b", create=True)
        left = disk.crash(seed)
        content = left.read_bytes("/d/a")
        assert content[:SECTOR] == b"A" * SECTOR
        assert content[SECTOR : SECTOR * 2] in (b"A" * SECTOR, b"B" * SECTOR)
        outcomes.add((content[SECTOR : SECTOR + 1], len(content), left.exists("/d/b")))
    assert {o[0] for o in outcomes} == {b"A", b"B"}
    assert {o[1] for o in outcomes} == {SECTOR * 2, SECTOR * 3}
    assert {o[2] for o in outcomes} == {True, False}


def test_a_crash_may_lose_what_went_through_a_window() -> None:
    seen = set()
    for seed in range(20):
        disk = CrashDisk()
        make_directories(disk, "/d")
        file = disk.open("/d/a", create=True)
        file.truncate(SECTOR)
        window = file.window(SECTOR)
        window.buffer[0:1] = b"1"
        file.sync()
        disk.sync_dir("/d")
        window.buffer[0:1] = b"2"
        seen.add(disk.crash(seed).read_bytes("/d/a")[:1])
    assert seen == {b"1", b"2"}


def test_ordered_failures_happen_as_often_as_ordered() -> None:
    disk = CrashDisk()
    disk.makedirs("/d")
    file = disk.open("/d/a", create=True)
    disk.fail_next("write", "/d/a", errno.ENOSPC, times=2)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            file.write(0, b"abcd")
    file.write(0, b"efgh")
    assert file.read(0, 4) == b"efgh"


def test_memory_is_counted() -> None:
    assert total_memory() > 1 << 20


def test_reading_needs_no_right_to_write(place: tuple[Disk, str]) -> None:
    disk, folder = place
    disk.open(f"{folder}/a", create=True).write(0, b"abc")
    looked = disk.read_only()
    assert looked.open(f"{folder}/a").read(0, 9) == b"abc"
    assert looked.listdir(folder) == ["a"]
    with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
        looked.open(f"{folder}/b", create=True)
    disk.lock(f"{folder}/lock").close()
    looked.lock(f"{folder}/lock").close()


def test_readable_file_is_found_unless_directory_is_private(tmp_path: Path) -> None:
    disk = RealDisk()
    for name, mode in (("a", 0o600), ("b", 0o640)):
        (tmp_path / name).write_bytes(b"x")
        os.chmod(tmp_path / name, mode)
    files = [f"{tmp_path}/{name}" for name in ("none", "a", "b")]
    os.chmod(tmp_path, 0o711)
    assert open_to_others(disk, str(tmp_path), files) == f"{tmp_path}/b"
    assert open_to_others(disk, str(tmp_path), files[:2]) == ""
    os.chmod(tmp_path, 0o700)
    assert open_to_others(disk, str(tmp_path), files) == ""


def test_folders_are_made_as_far_as_they_are_missing(tmp_path: Path) -> None:
    disk = RealDisk()
    for path in ("a", "a/b/c/d", "a/b/c/d", "a/b/e"):
        disk.makedirs(f"{tmp_path}/{path}")
    assert disk.subdirs(f"{tmp_path}/a/b") == ["c", "e"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    disk = RealDisk()
    (tmp_path / "leads nowhere").symlink_to(tmp_path / "gone" / "far")
    with pytest.raises(FileNotFoundError):
        disk.makedirs(f"{tmp_path}/leads nowhere/a/b")
    with pytest.raises(FileNotFoundError):
        disk.makedirs("")
