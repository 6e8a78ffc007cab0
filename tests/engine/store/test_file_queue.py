"""Logs in files of one length."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.file_queue import FilePool, FileQueue, file_name
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut


def queue(disk: CrashDisk, limit: int = 4) -> FileQueue:
    return FileQueue(FilePool(disk, limit), "/s/q", 10)


def test_names_have_twenty_digits() -> None:
    assert file_name(1073741824) == "00000000001073741824"


def test_writes_cross_file_borders_and_files_have_full_length() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"0123456789abcdefghijKLM")
    assert disk.listdir("/s/q") == [file_name(0), file_name(10), file_name(20)]
    assert {disk.size(f"/s/q/{name}") for name in disk.listdir("/s/q")} == {10}
    assert files.read(8, 14) == b"89abcdefghijKL"
    assert files.read(28, 10) == b"\0\0"
    again = queue(disk)
    again.load()
    assert again.starts == [0, 10, 20]
    assert again.end == 30


def test_cutting_removes_later_files_and_leaves_zeros() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"0123456789abcdefghijKLM")
    files.cut(13)
    assert disk.listdir("/s/q") == [file_name(0), file_name(10)]
    assert files.read(8, 12) == b"89abc\0\0\0\0\0\0\0"


def test_an_empty_last_file_is_removed_and_a_wrong_length_is_refused() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"0123456789a")
    disk.open("/s/q/" + file_name(20), create=True)
    disk.open("/s/q/other", create=True)
    again = queue(disk)
    again.load()
    assert again.starts == [0, 10]
    disk.open("/s/q/" + file_name(10)).truncate(9)
    with pytest.raises(CorruptFile, match="9 bytes"):
        queue(disk).load()


@pytest.mark.parametrize("repair", [False, True])
def test_a_missing_file_is_refused_and_nothing_is_changed(repair: bool) -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, bytes(40))
    disk.unlink("/s/q/" + file_name(10))
    disk.open("/s/q/" + file_name(40), create=True)
    before = disk.operations
    with pytest.raises(CorruptFile, match=f"{file_name(10)} .*missing"):
        queue(disk).load(repair)
    assert disk.operations == before


def test_an_empty_file_in_the_middle_gets_its_length_back_in_a_log_that_is_repaired() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, bytes(20) + b"x" * 10)
    disk.open("/s/q/" + file_name(10)).truncate(0)
    with pytest.raises(CorruptFile):
        queue(disk).load()
    repaired = queue(disk)
    repaired.load(repair=True)
    assert repaired.starts == [0, 10, 20]
    assert repaired.read(20, 10) == b"x" * 10


def test_missing_parts_of_derived_files_read_as_zeros() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"x" * 40)
    disk.unlink("/s/q/" + file_name(10))
    disk.open("/s/q/" + file_name(20)).truncate(4)
    notified: list[CorruptFile] = []
    again = queue(disk)
    assert again.load_derived(False, notified.append) == (10, 30)
    assert [error.path for error in notified] == ["/s/q/" + file_name(10)]
    assert again.starts == [0, 10, 20, 30]
    assert again.read(5, 35) == b"x" * 5 + bytes(10) + b"x" * 4 + bytes(6) + b"x" * 10
    again.drop_before(30)
    assert disk.listdir("/s/q") == [file_name(30)]


def test_error_of_on_damage_leaves_derived_files_unchanged() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"x" * 30)
    disk.open("/s/q/" + file_name(20)).truncate(4)

    def refuse(error: CorruptFile) -> None:
        raise error

    with pytest.raises(CorruptFile, match="4 bytes"):
        queue(disk).load_derived(False, refuse)
    assert disk.size("/s/q/" + file_name(20)) == 4
    # After an unclean stop it may be short.
    assert queue(disk).load_derived(True, refuse) == (24, 30)
    disk.open("/s/q/" + file_name(20)).truncate(14)
    with pytest.raises(CorruptFile, match="14 bytes"):
        queue(disk).load_derived(True, lambda _: None)


def test_the_name_of_the_last_file_is_gone_for_good_before_the_one_before_it_goes() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, bytes(40))
    disk.sync_everything("/s/q")
    disk.cut_at = disk.operations + 4
    with pytest.raises(PowerCut):
        files.cut(10)
    left = [disk.crash(seed).listdir("/s/q") for seed in range(20)]
    names = [file_name(start) for start in (0, 10, 20, 30)]
    assert all(each in (names[:count] for count in range(5)) for each in left)


def test_the_pool_holds_few_files_and_opens_them_again() -> None:
    disk = CrashDisk()
    files = queue(disk, limit=2)
    files.write(0, bytes(range(60)))
    assert [files.read(i, 1)[0] for i in range(0, 60, 7)] == list(range(0, 60, 7))
    files.drop_first(2)
    assert files.starts[0] == 20
    assert files.read(5, 3) == b""
    files.destroy()
    assert not disk.exists("/s/q")


def test_directories_with_new_files_are_noted() -> None:
    files = queue(CrashDisk())
    files.write(0, b"x")
    assert files.pool.unsynced == {"/s/q", "/s"}


def test_expired_files_never_include_the_last() -> None:
    files = queue(CrashDisk())
    files.write(0, bytes(30))
    assert files.count_while(lambda start: True) == 2
    assert files.count_while(lambda start: start < 10) == 1


def test_a_file_cut_short_gets_its_length_back_in_a_log_that_is_repaired() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, b"0123456789abc")
    disk.open("/s/q/" + file_name(10)).truncate(2)
    with pytest.raises(CorruptFile, match="2 bytes"):
        queue(disk).load()
    repaired = queue(disk)
    repaired.load(repair=True)
    assert repaired.starts == [0, 10]
    assert repaired.read(8, 12) == b"89ab" + bytes(8)


def test_old_files_are_given_to_the_remover() -> None:
    disk = CrashDisk()
    files = queue(disk)
    files.write(0, bytes(35))
    given: list[str] = []
    files.pool.remove = given.append
    files.drop_first(2)
    assert given == ["/s/q/" + file_name(0), "/s/q/" + file_name(10)]
    assert files.starts == [20, 30]
    assert files.read(5, 3) == b""
