"""Operations of a simulated disk are counted and watched, and fail on request."""

import errno

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import DiskFaults, Operation, PowerCut, disk_error


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


def test_error_has_the_path_and_the_text_of_the_system() -> None:
    error = disk_error(errno.ENOSPC, "/d/a")
    assert (error.errno, error.filename) == (errno.ENOSPC, "/d/a")
    assert "No space" in str(error)


def test_fault_hits_calls_of_its_kind_and_path_only() -> None:
    faults = DiskFaults()
    fault = faults.fail_next("write", "/d/")
    faults.allow("sync", "/d/a")
    faults.allow("write", "/e/a")
    assert not fault.has_hit
    with pytest.raises(OSError, match="Input/output"):
        faults.allow("write", "/d/a")
    assert fault.has_hit
    faults.allow("write", "/d/a")


def test_the_power_goes_at_the_operation_asked_for_and_stays_away() -> None:
    disk = disk_with("/d/a", b"1")
    seen: list[Operation] = []
    disk.watch = seen.append
    disk.cut_at = disk.operations + 2
    file = disk.open("/d/a")
    file.write(0, b"2")
    with pytest.raises(PowerCut):
        file.sync()
    with pytest.raises(PowerCut):
        file.read(0, 1)
    assert [operation.call for operation in seen] == ["write", "sync"]
    assert list(disk.recent)[-2:] == seen
    assert {disk.crash(seed).read_bytes("/d/a") for seed in range(60)} == {b"1", b"2"}


def test_the_nth_call_fails_as_often_as_ordered_and_may_write_a_part() -> None:
    disk = disk_with("/d/a", b"....")
    file = disk.open("/d/a")
    disk.fail_next("write", "/d/a", errno.ENOSPC, times=2, skip=1, part=0.25)
    file.write(0, b"abcd")
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            file.write(0, b"wxyz")
    assert file.read(0, 4) == b"wbcd"
    file.write(0, b"efgh")
    disk.fail_next("any", times=99)
    for call in (
        file.sync,
        lambda: disk.sync_dir("/d"),
        lambda: disk.unlink("/d/a"),
        lambda: file.truncate(0),
    ):
        with pytest.raises(OSError, match="Input/output"):
            call()
    disk.heal()
    assert disk.read_bytes("/d/a") == b"efgh"
