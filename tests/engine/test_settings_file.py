"""Settings files are written so that links, mode and owner stay, wherever they are kept."""

import errno
import os
from pathlib import Path

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.settings_file import write_settings
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/conf/broker.conf"


def test_file_keeps_its_mode_and_the_old_text_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("a=1\n")
    file.chmod(0o644)
    write_settings(RealDisk(), str(file), b"a=2\n")
    assert (file.read_text(), (tmp_path / "broker.conf.bak").read_text()) == ("a=2\n", "a=1\n")
    assert file.stat().st_mode & 0o777 == 0o644
    assert sorted(os.listdir(tmp_path)) == ["broker.conf", "broker.conf.bak"]


def test_symbolic_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "a.conf", tmp_path / "broker.conf"
    real.write_text("a=1\n")
    link.symlink_to("real/a.conf")
    write_settings(RealDisk(), str(link), b"a=2\n")
    assert link.is_symlink() and real.read_text() == "a=2\n"


def test_missing_file_is_made(tmp_path: Path) -> None:
    write_settings(RealDisk(), str(tmp_path / "new" / "namesrv.properties"), b"a=2\n")
    assert (tmp_path / "new" / "namesrv.properties").read_bytes() == b"a=2\n"


def disk_with_file(text: bytes = b"a=1\n") -> CrashDisk:
    disk = CrashDisk()
    write_table(disk, PATH, text)
    return disk


@pytest.mark.parametrize(
    ("call", "path", "error"),
    [
        ("rename", PATH + ".tmp", errno.EBUSY),  # the file is a mount
        ("open", PATH + ".bak.tmp", errno.EROFS),  # the folder takes no new files
        ("imitate", PATH + ".bak.tmp", errno.EPERM),  # another user's file
    ],
)
def test_file_that_cannot_be_replaced_is_written_in_place(call: str, path: str, error: int) -> None:
    disk = disk_with_file(b"a=1000\n")
    disk.fail_next(call, path, error)
    write_settings(disk, PATH, b"a=2\n")
    assert disk.read_bytes(PATH) == b"a=2\n"
    assert not [name for name in disk.listdir("/conf") if name.endswith(".tmp")]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_failed_write_leaves_the_old_text_and_nothing_beside_it(error: int) -> None:
    disk = disk_with_file()
    disk.fail_next("write", PATH + ".tmp", error)
    with pytest.raises(OSError):
        write_settings(disk, PATH, b"a=2\n")
    assert disk.read_bytes(PATH) == b"a=1\n"
    assert not [name for name in disk.listdir("/conf") if name.endswith(".tmp")]


def test_failed_write_in_place_puts_the_old_text_back() -> None:
    disk = disk_with_file()
    disk.fail_next("rename", PATH + ".tmp", errno.EBUSY)
    disk.fail_next("write", PATH, errno.ENOSPC, part=0.5)
    with pytest.raises(OSError):
        write_settings(disk, PATH, b"b=2\nc=3\n")
    assert disk.read_bytes(PATH) == b"a=1\n"


def test_power_cut_leaves_one_of_both_texts() -> None:
    for seed in range(20):
        disk = disk_with_file()
        write_settings(disk, PATH, b"a=2\n")
        assert disk.crash(seed).read_bytes(PATH) == b"a=2\n"
