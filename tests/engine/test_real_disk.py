"""The operating system's files: permissions, locks between processes, and disks that are only read."""

import os
from pathlib import Path

import pytest

from mqgateway.engine.disk import PART_UNIT
from mqgateway.engine.real_disk import ReadOnlyDisk, RealDisk


def test_part_reports_pages_out_of_memory(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "a"), create=True)
    file.truncate(4 * PART_UNIT)
    part = file.part(0, 4 * PART_UNIT)
    assert part is not None and not part.is_ready(4 * PART_UNIT)
    file.write(0, b"a" * 2 * PART_UNIT)
    assert part.is_ready(2 * PART_UNIT)
    assert not part.is_ready(2 * PART_UNIT + 1)


def test_file_opened_for_reading_has_no_parts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a" * PART_UNIT)
    assert ReadOnlyDisk().open(str(tmp_path / "a")).part(0, PART_UNIT) is None


def test_capacity_is_that_of_the_whole_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 blocks, of which 30 are free, 20 of them for users other than root."""
    stat = os.statvfs_result((4096, 4096, 100, 30, 20, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: stat)
    assert RealDisk().capacity(str(tmp_path)) == (100 * 4096, 30 * 4096)
    assert RealDisk().usage(str(tmp_path)) == (90 * 4096, 20 * 4096)


def test_lock_is_seen_by_another_process(tmp_path: Path) -> None:
    import subprocess
    import sys

    held = RealDisk().lock(str(tmp_path / "lock"))
    code = "import fcntl,sys;f=open(sys.argv[1],'r+');fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB,1,0)"
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    assert subprocess.run(command, capture_output=True).returncode != 0
    held.close()
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_read_only_disk_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "file").chmod(0o444)
    disk = ReadOnlyDisk()
    assert disk.read_bytes(path) == b"content"
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.open(path).write(0, b"x")
    for change in (
        lambda: disk.open(path + "2", create=True),
        lambda: disk.makedirs(path + "2"),
        lambda: disk.rename(path, path + "2"),
        lambda: disk.unlink(path),
        lambda: disk.rmtree(str(tmp_path)),
    ):
        with pytest.raises(OSError, match="Read-only"):
            change()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_shared_lock_excludes_writers_only(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "lock"
    path.write_bytes(b"lock")
    held = ReadOnlyDisk().lock(str(path))
    code = "import sys,engine.real_disk as d;getattr(d,sys.argv[1])().lock(sys.argv[2])"
    command = [sys.executable, "-c", code]
    assert subprocess.run([*command, "ReadOnlyDisk", str(path)], capture_output=True).returncode == 0
    assert subprocess.run([*command, "RealDisk", str(path)], capture_output=True).returncode != 0
    held.close()
    assert subprocess.run([*command, "RealDisk", str(path)], capture_output=True).returncode == 0


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    disk = RealDisk()
    disk.makedirs(f"{tmp_path}/a/b")
    disk.open(f"{tmp_path}/a/b/c", create=True)
    disk.lock(f"{tmp_path}/a/lock")
    assert [disk.mode(f"{tmp_path}/a{name}") for name in ("", "/b", "/b/c", "/lock")] == [
        0o700,
        0o700,
        0o600,
        0o600,
    ]


@pytest.mark.parametrize(("umask", "file", "folder"), [(0, 0o600, 0o700), (0o277, 0o400, 0o500)])
def test_the_umask_counts_downwards(tmp_path: Path, umask: int, file: int, folder: int) -> None:
    disk, before = RealDisk(), os.umask(umask)
    try:
        disk.makedirs(f"{tmp_path}/folder")
        disk.open(f"{tmp_path}/file", create=True)
    finally:
        os.umask(before)
    assert disk.mode(f"{tmp_path}/folder") == folder
    assert disk.mode(f"{tmp_path}/file") == file
