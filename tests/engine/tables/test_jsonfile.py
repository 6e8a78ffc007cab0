"""Tables on disk survive power cuts, crashes and full disks."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.tables.jsonfile import TableFile, load_table, save_table, write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from mqgateway.engine.worker import MemoryWorker

PATH = "/store/config/consumerOffset.json"
OLD = {"offsetTable": {"t@g": {0: 12}}}
NEW = {"offsetTable": {"t@g": {0: 13, 1: 5}, "u@g": {0: 1}}}


def put(disk: CrashDisk, path: str, text: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write(0, text)


def test_nothing_is_no_table() -> None:
    assert load_table(CrashDisk(), PATH) is None


def test_a_table_is_read_as_written_and_the_one_before_kept() -> None:
    disk = CrashDisk()
    save_table(disk, PATH, OLD)
    save_table(disk, PATH, NEW)
    assert load_table(disk, PATH) == NEW
    assert load_table(disk, PATH + ".bak") == OLD
    assert disk.listdir("/store/config") == ["consumerOffset.json", "consumerOffset.json.bak"]


def test_a_shorter_table_leaves_nothing_of_an_unfinished_write() -> None:
    disk = CrashDisk()
    disk.makedirs("/store/config")
    put(disk, PATH + ".tmp", b"x" * 1000)
    save_table(disk, PATH, OLD)
    assert load_table(disk, PATH) == OLD


def test_a_file_cut_anywhere_gives_way_to_its_backup(caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashDisk()
    save_table(disk, PATH, OLD)
    save_table(disk, PATH, NEW)
    whole = disk.read_bytes(PATH)
    for length in range(len(whole)):
        put(disk, PATH, whole[:length])
        assert load_table(disk, PATH) == OLD, length
    assert "backup is used" in caplog.text


def test_a_broken_file_does_not_become_the_backup() -> None:
    disk = CrashDisk()
    save_table(disk, PATH, OLD)
    save_table(disk, PATH, OLD)
    put(disk, PATH, b"\0" * 100)
    assert load_table(disk, PATH) == OLD
    save_table(disk, PATH, NEW)
    assert load_table(disk, PATH + ".bak") == OLD
    assert disk.read_bytes(PATH + ".broken") == b"\0" * 100


@pytest.mark.parametrize("text", [b"", b"[]", b"3", b"{", b'{"a":1}}'])
def test_without_a_backup_a_broken_file_is_an_error(text: bytes) -> None:
    disk = CrashDisk()
    disk.makedirs("/store/config")
    put(disk, PATH, text)
    with pytest.raises(ConfigError, match=r"consumerOffset\.json: "):
        load_table(disk, PATH)


def test_table_of_which_nothing_can_be_read_starts_over_and_what_was_there_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = CrashDisk()
    disk.makedirs("/store/config")
    for round_ in range(3):
        put(disk, PATH, b"garbage %d" % round_)
        put(disk, PATH + ".bak", b"more %d" % round_)
        table = TableFile(disk, PATH)
        assert table.load() is None and table.was_lost
    names = ("", "-2", "-3")
    assert [disk.read_bytes(f"{PATH}.broken{name}") for name in names] == [
        b"garbage %d" % n for n in range(3)
    ]
    assert [disk.read_bytes(f"{PATH}.bak.broken{name}") for name in names] == [
        b"more %d" % n for n in range(3)
    ]
    assert not disk.exists(PATH) and not disk.exists(PATH + ".bak")
    assert "no usable table" in caplog.text and f"{PATH}.bak.broken-3" in caplog.text
    assert "Groups begin again" in caplog.text


def test_read_error_does_not_set_file_aside() -> None:
    disk = CrashDisk()
    disk.makedirs("/store/config")
    put(disk, PATH, b"garbage")
    disk.fail_next("read", PATH, errno.EIO, times=9)
    with pytest.raises(ConfigError):
        TableFile(disk, PATH).load()
    assert disk.listdir("/store/config") == ["consumerOffset.json"]


def test_an_older_copy_is_known_to_be_one() -> None:
    disk = CrashDisk()
    save_table(disk, PATH, OLD)
    save_table(disk, PATH, NEW)
    table = TableFile(disk, PATH)
    assert table.load() == NEW and not table.was_lost
    put(disk, PATH, b"")
    assert table.load() == OLD and table.was_lost


@pytest.mark.parametrize("call", ["open", "truncate", "write", "sync", "rename"])
@pytest.mark.parametrize("nth", [0, 1])
def test_a_failure_at_any_step_leaves_a_table(call: str, nth: int) -> None:
    disk = CrashDisk()
    save_table(disk, PATH, OLD)
    disk.fail_next(call, "/store/config" if nth == 0 else ".tmp", errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        save_table(disk, PATH, NEW)
    assert load_table(disk, PATH) in (OLD, NEW)


def test_a_power_cut_at_any_moment_leaves_a_table() -> None:
    """The part of an unfinished write that a crash keeps is chosen at random, step by step."""
    left = set()
    for step in ("truncate", "write", "sync", "rename", "none"):
        for seed in range(60):
            disk = CrashDisk()
            save_table(disk, PATH, OLD)
            if step != "none":
                disk.fail_next(step, "/store/config", errno.EIO)
                with pytest.raises(OSError, match="Input/output"):
                    save_table(disk, PATH, NEW)
            else:
                save_table(disk, PATH, NEW)
            table = load_table(disk.crash(seed), PATH)
            assert table in (OLD, NEW)
            left.add((step, table == NEW))
    assert ("none", True) in left
    assert ("none", False) not in left, "a save that returned is durable"
    assert ("write", False) in left


def test_a_power_cut_at_any_operation_leaves_the_old_or_the_new_table() -> None:
    """Names in order or not, sectors kept or not, from the first table on."""
    points = 0
    for seed in range(40):
        disk = CrashDisk()
        before: dict[str, Any] | None = None
        for table in (OLD, NEW, {}, OLD):
            expected = (before, table)

            def check(
                operation: Operation,
                disk: CrashDisk = disk,
                expected: tuple[object, ...] = expected,
                seed: int = seed,
            ) -> None:
                nonlocal points
                points += 1
                assert load_table(disk.crash(seed * 997 + operation.number), PATH) in expected, operation

            disk.watch = check
            save_table(disk, PATH, table)
            disk.watch = None
            before = table
            assert load_table(disk.crash(seed), PATH) == table, "a save that returned is durable"
    assert points > 1000


def test_a_table_file_says_what_could_not_be_written(caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashDisk()
    table = TableFile(disk, PATH)
    disk.fail_next("write", PATH, errno.ENOSPC)
    table.save(lambda: dumps(NEW))
    assert table.has_failed
    assert "could not be written" in caplog.text
    table.save(lambda: dumps(NEW))
    assert not table.has_failed
    assert table.load() == NEW


def test_a_table_file_writes_on_the_worker_one_at_a_time_and_the_newest_last() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    table = TableFile(disk, PATH, worker)
    made: list[int] = []

    def maker(number: int) -> Callable[[], bytes]:
        def make() -> bytes:
            made.append(number)
            return dumps({"a": number})

        return make

    for number in range(5):
        table.save(maker(number))
    assert (made, disk.exists(PATH), worker.waiting) == ([0], False, 1)
    worker.perform_all()
    assert made == [0, 4]
    assert table.load() == {"a": 4}


def test_a_failure_on_the_worker_is_known_when_it_is_done() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    table = TableFile(disk, PATH, worker)
    disk.fail_next("sync", PATH)
    table.save(lambda: dumps(NEW))
    assert not table.has_failed
    worker.perform_all()
    assert table.has_failed


def test_the_last_write_does_not_need_the_worker() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    table = TableFile(disk, PATH, worker)
    table.save(lambda: dumps(OLD))
    worker.perform_all()
    table.save(lambda: dumps(NEW), inline=True)
    assert table.load() == NEW
    assert worker.waiting == 0


def test_text_is_written_as_it_is() -> None:
    disk = CrashDisk()
    write_table(disk, PATH, b"{0:1}")
    assert disk.read_bytes(PATH) == b"{0:1}"
    assert load_table(disk, PATH) == {0: 1}
