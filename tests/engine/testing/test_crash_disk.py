"""The simulated disk loses exactly the bytes that a real one may lose, and fails on request."""

import random
import resource
from pathlib import Path

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.inode import SECTOR

SEEDS = range(60)


def disk_with(path: str, data: bytes) -> CrashDisk:
    """Return a disk with one file whose name and content are durable."""
    disk = CrashDisk()
    disk.makedirs("/d")
    disk.sync_dir("/")
    file = disk.open(path, create=True)
    file.write(0, data)
    file.sync()
    disk.sync_dir("/d")
    return disk


def test_synced_bytes_stay_and_every_earlier_content_of_a_sector_may_come_back() -> None:
    disk = disk_with("/d/a", b"1" * SECTOR * 2)
    file = disk.open("/d/a")
    file.write(SECTOR, b"2" * SECTOR)
    file.write(SECTOR, b"3" * SECTOR)
    seen = {disk.crash(seed).read_bytes("/d/a")[::SECTOR] for seed in SEEDS}
    assert seen == {b"11", b"12", b"13"}
    file.sync()
    assert {disk.crash(seed).read_bytes("/d/a")[::SECTOR] for seed in SEEDS} == {b"13"}


def test_lengths_and_what_was_cut_off_may_come_back() -> None:
    disk = disk_with("/d/a", b"1" * SECTOR)
    file = disk.open("/d/a")
    file.truncate(10)
    file.truncate(SECTOR)
    seen = {disk.crash(seed).read_bytes("/d/a") for seed in SEEDS}
    assert {len(content) for content in seen} == {10, SECTOR}
    assert {content[-1:] for content in seen if len(content) == SECTOR} == {b"1", b"\0"}


def test_names_are_durable_with_their_directory_only() -> None:
    disk = disk_with("/d/a", b"a")
    disk.open("/d/b", create=True).sync()
    disk.unlink("/d/a")
    seen = {tuple(disk.crash(seed).listdir("/d")) for seed in SEEDS}
    assert seen == {("a",), ("a", "b"), ("b",), ()}
    disk.sync_dir("/d")
    assert {tuple(disk.crash(seed).listdir("/d")) for seed in SEEDS} == {("b",)}


def test_a_name_is_changed_in_one_step() -> None:
    disk = disk_with("/d/a", b"new")
    disk.open("/d/b", create=True).write(0, b"old")
    disk.sync_dir("/d")
    disk.rename("/d/a", "/d/b")
    seen = {tuple(disk.crash(seed).listdir("/d")) for seed in SEEDS}
    assert seen == {("a", "b"), ("b",)}


def test_a_directory_without_a_durable_name_takes_its_files_along() -> None:
    disk = disk_with("/d/a", b"a")
    disk.makedirs("/d/e")
    disk.open("/d/e/f", create=True).sync()
    disk.sync_dir("/d/e")
    seen = {disk.crash(seed).exists("/d/e/f") for seed in SEEDS}
    assert seen == {True, False}
    disk.sync_dir("/d")
    assert all(disk.crash(seed).exists("/d/e/f") for seed in SEEDS)


def test_same_seed_gives_the_same_crash_and_the_disk_continues() -> None:
    disk = disk_with("/d/a", b"1" * SECTOR * 40)
    disk.open("/d/a").write(0, b"2" * SECTOR * 40)
    first, second = disk.crash(7), disk.crash(7)
    assert first.read_bytes("/d/a") == second.read_bytes("/d/a")
    first.open("/d/a").write(0, b"9")
    assert disk.read_bytes("/d/a") == b"2" * SECTOR * 40


def test_a_window_is_lost_like_anything_else() -> None:
    disk = disk_with("/d/a", bytes(3 * SECTOR))
    window = disk.open("/d/a").window(2 * SECTOR)
    window.buffer[SECTOR - 1 : SECTOR + 1] = b"xy"
    seen = {disk.crash(seed).read_bytes("/d/a")[SECTOR - 1 : SECTOR + 1] for seed in SEEDS}
    assert seen == {b"xy", b"x\0", b"\0y", b"\0\0"}
    window.close()


def test_a_large_window_takes_the_memory_of_what_is_written() -> None:
    """Stores with RocketMQ's file lengths have index files of 420 MB, and tests have many stores."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before, size = resident(), 64 << 20
    disk = disk_with("/d/a", b"x")
    file = disk.open("/d/a")
    file.truncate(size)
    window = file.window(size)
    window.buffer[size - 6 : size] = b"synced"
    file.sync()
    window.buffer[size // 2 : size // 2 + 4] = b"lost"
    left = [disk.crash(seed).open("/d/a") for seed in range(6)]
    assert {one.read(size // 2, 4) for one in left} == {b"lost", bytes(4)}
    assert {one.read(size - 6, 6) for one in left} == {b"synced"}
    window.close()
    file.write(size + 4, b"grown")
    assert file.read(size - 2, 11) == b"ed\0\0\0\0grown"
    assert resident() - before < 32 << 20


def test_successful_sync_does_not_repair_a_failed_one() -> None:
    disk = disk_with("/d/a", b"1" * SECTOR)
    file = disk.open("/d/a")
    file.write(0, b"2" * SECTOR)
    disk.fail_next("sync", "/d/a")
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.sync()
    assert file.read(0, 1) == b"2"
    assert {disk.crash(seed).read_bytes("/d/a")[:1] for seed in SEEDS} == {b"1", b"2"}
    file.write(0, b"3")
    file.sync()
    assert {disk.crash(seed).read_bytes("/d/a")[:1] for seed in SEEDS} == {b"3"}


def test_a_bit_is_changed_behind_everybodys_back() -> None:
    disk = disk_with("/d/a", b"\0\0")
    disk.flip("/d/a", 1, 3)
    assert disk.read_bytes("/d/a") == b"\0\x08"
    assert disk.crash().read_bytes("/d/a") == b"\0\x08"


def test_a_crash_leaves_a_disk_that_works() -> None:
    """After any operations, the disk that is left has complete paths and accepts all operations again."""
    for seed in SEEDS:
        choose = random.Random(seed)
        disk = CrashDisk()
        for _ in range(30):
            folder = choose.choice(("/a", "/a/b", "/c"))
            disk.makedirs(folder)
            file = disk.open(f"{folder}/{choose.randrange(3)}", create=True)
            file.write(choose.randrange(2000), bytes([choose.randrange(1, 256)]) * choose.randrange(1500))
            if choose.random() < 0.3:
                file.sync()
            if choose.random() < 0.3:
                disk.sync_dir(folder)
            if choose.random() < 0.1:
                disk.rmtree(folder)
        left = disk.crash(seed)
        for folder in ("/a", "/a/b", "/c"):
            if left.is_dir(folder):
                assert left.is_dir(folder.rpartition("/")[0] or "/")
            for name in left.listdir(folder):
                if not left.is_dir(f"{folder}/{name}"):
                    assert len(left.read_bytes(f"{folder}/{name}")) == left.size(f"{folder}/{name}")
            left.makedirs(folder)
            left.open(f"{folder}/9", create=True).write(0, b"9")


def test_a_file_that_is_lost_comes_back_in_no_crash() -> None:
    disk = CrashDisk()
    disk.makedirs("/a")
    for name in ("one", "two"):
        disk.open(f"/a/{name}", create=True).write(0, b"x")
    disk.sync_dir("/a")
    disk.open("/a/three", create=True)
    before = disk.operations
    assert disk.files("/a") == ["/a/one", "/a/three", "/a/two"]
    disk.lose("/a/one")
    disk.lose("/a/three")
    assert disk.operations == before and disk.listdir("/a") == ["two"]
    assert all(set(disk.crash(seed).files("/a")) <= {"/a/two"} for seed in range(20))
