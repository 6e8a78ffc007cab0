"""Tables with journals: each change is as durable as was promised, whatever happens meanwhile."""

import errno
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.tables.journal import FileIdentity, Journal, Numbered
from mqgateway.engine.tables.journaled import REST, JournaledFile
from mqgateway.engine.tables.jsonfile import in_chunks, load_table, save_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import Operation
from mqgateway.engine.worker import MemoryWorker, Worker

PATH = "/store/config/topics.json"


class Book:
    """A table of numbers by name in such a file."""

    def __init__(self, disk: CrashDisk, worker: Worker | None = None) -> None:
        self.disk = disk
        self.clock = ManualClock(0)
        self.file = JournaledFile(disk, PATH, self.clock, worker)
        self.table: dict[str, Any] = (self.file.load() or {}).get("t", {})

    def put(self, name: str, value: int | None) -> None:
        if value is None:
            self.table.pop(name, None)
        else:
            self.table[name] = value
        self.file.note([(["t", name], value)], self.chunks)

    def chunks(self) -> Iterator[bytes]:
        return in_chunks({"t": dict(self.table)})


def read(disk: CrashDisk) -> dict[str, Any]:
    return Book(disk).table


def test_without_a_worker_each_change_is_in_the_file_at_once() -> None:
    disk = CrashDisk()
    book = Book(disk)
    for number in range(5):
        book.put(f"k{number}", number)
        assert load_table(disk, PATH) == {"t": book.table}
    book.put("k1", None)
    assert read(disk.crash(1)) == book.table
    book.file.close(book.chunks)
    assert disk.listdir("/store/config") == ["topics.json", "topics.json.bak"]


def test_a_change_outlives_the_process_when_it_is_noted() -> None:
    """Whatever the worker has done by then; and the next start resumes from there."""
    for steps in range(12):
        disk, worker = CrashDisk(), MemoryWorker()
        book = Book(disk, worker)
        for number in range(6):
            book.put(f"k{number % 4}", number)
            if number % 2:
                for _ in range(steps):
                    worker.perform()
            assert read_copy(disk) == book.table, (steps, number)


def read_copy(disk: CrashDisk) -> dict[str, Any]:
    """Return the table as a start would load it, on a copy of the disk with all writes, as loading writes."""
    copy = CrashDisk()
    copy.makedirs("/store/config")
    for name in disk.listdir("/store/config"):
        file = copy.open(f"/store/config/{name}", create=True)
        file.write(0, disk.read_bytes(f"/store/config/{name}"))
    return read(copy)


def test_many_changes_cost_few_writes_of_the_table() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    book.put("first", 0)
    book.clock.advance(500)
    worker.perform_all()
    renames: list[str] = []
    disk.watch = lambda operation: renames.append(operation.path) if operation.call == "rename" else None
    for number in range(1000):
        book.put(f"k{number}", number)
        worker.perform_all()
        book.file.retry(book.chunks)
    assert renames == []
    assert read_copy(disk) == book.table
    book.clock.advance(500 * REST)
    book.file.retry(book.chunks)
    worker.perform_all()
    assert load_table(disk, PATH) == {"t": book.table}
    assert not book.file.is_behind


def test_changes_during_a_write_are_kept() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    book.put("a", 1)
    book.clock.advance(10)
    book.put("b", 2)
    worker.perform()
    assert load_table(disk, PATH) == {"t": {"a": 1}}
    assert book.file.is_behind
    assert read_copy(disk) == {"a": 1, "b": 2}
    book.file.close(book.chunks)
    assert load_table(disk, PATH) == {"t": {"a": 1, "b": 2}}


def promise(promised: list[int], at: int) -> Callable[[OSError | None], None]:
    """Return a callback that notes that the state of this number is durable."""

    def report(outcome: OSError | None) -> None:
        assert outcome is None
        promised[0] = max(promised[0], at)

    return report


@pytest.mark.parametrize("lazy", [False, True])
def test_a_power_cut_at_any_operation_keeps_what_was_promised(lazy: bool) -> None:
    """Promised changes exist; of the others a prefix."""
    cuts = 0
    for seed in range(25):
        disk, worker = CrashDisk(), MemoryWorker()
        book = Book(disk, worker)
        states: list[dict[str, Any]] = [{}]
        promised = [0]

        def check(
            operation: Operation,
            disk: CrashDisk = disk,
            states: list[dict[str, Any]] = states,
            promised: list[int] = promised,
            seed: int = seed,
        ) -> None:
            nonlocal cuts
            cuts += 1
            left = read(disk.crash(seed * 997 + operation.number))
            assert left in states[promised[0] :], (seed, operation)

        disk.watch = check
        for number in range(12):
            states.append({**book.table, f"k{number % 5}": number})
            book.put(f"k{number % 5}", number)

            def report(
                outcome: OSError | None, at: int = len(states) - 1, promised: list[int] = promised
            ) -> None:
                assert outcome is None
                promised[0] = max(promised[0], at)

            book.file.when_durable(report)
            book.clock.advance(7 * (seed % 3))
            if not lazy or number % 4 == 3:
                worker.perform()
            if seed % 2:
                worker.perform()
        worker.perform_all()
        assert promised[0] == len(states) - 1
        book.file.close(book.chunks)
        disk.watch = None
        assert read(disk.crash(seed)) == book.table
    assert cuts > 1000


def test_starts_that_are_cut_lose_nothing() -> None:
    """A start with a journal writes the table; the power may be cut there too, repeatedly."""
    for seed in range(40):
        disk, worker = CrashDisk(), MemoryWorker()
        book = Book(disk, worker)
        book.put("a", 1)
        worker.perform_all()
        book.clock.advance(0)
        for number in range(5):
            book.file._ended = 10**9
            book.put(f"k{number}", number)
        worker.perform_all()
        for turn in range(6):
            disk = disk.crash(seed * 10 + turn)
            left: list[CrashDisk] = []
            wanted = (seed + turn) % 9 + 1

            def cut(operation: Operation, disk: CrashDisk = disk, wanted: int = wanted) -> None:
                if operation.number == wanted:
                    left.append(disk.crash(operation.number))  # noqa: B023

            disk.watch = cut
            assert read(disk) == book.table, (seed, turn)
            disk.watch = None
            disk = left[0] if left else disk
        assert read(disk) == book.table


def test_file_that_another_process_wrote_is_not_continued(caplog: pytest.LogCaptureFixture) -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    book.put("a", 1)
    worker.perform_all()
    book.file._ended = 10**9
    book.put("b", 2)
    save_table(disk, PATH, {"t": {"c": 3}})
    again = Book(disk)
    assert again.table == {"c": 3}
    assert "are ignored" in caplog.text
    again.put("d", 4)
    assert read(disk.crash(3)) == {"c": 3, "d": 4}


def test_journals_whose_changes_are_in_the_file_are_not_spoken_of(caplog: pytest.LogCaptureFixture) -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    for number in range(3):
        book.put(f"k{number}", number)
        worker.perform_all()
        book.clock.advance(60_000)
        book.file.retry(book.chunks)
        worker.perform_all()
    assert not book.file.is_behind and len(disk.listdir("/store/config")) > 2
    assert read_copy(disk) == book.table
    assert not caplog.records


def test_changes_from_journals_are_logged_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashDisk()
    book = Book(disk, MemoryWorker())
    for number in range(3):
        book.put(f"k{number}", number)
    with caplog.at_level("INFO"):
        assert read_copy(disk) == book.table
    assert f"3 changes from journals were applied to {PATH}" in caplog.messages


def test_a_backup_is_continued_to_the_end() -> None:
    """The file is damaged; its content is in the journal of the one before."""
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    for number in range(3):
        book.put(f"k{number}", number)
        worker.perform_all()
    book.file._ended = 10**9
    book.put("last", 9)
    disk.open(PATH).write(0, b"\0\0\0")
    assert read(disk) == book.table


@pytest.mark.parametrize("call", ["open", "truncate", "write", "sync", "rename", "sync_dir"])
@pytest.mark.parametrize("skip", range(6))
def test_a_disk_that_fails_at_any_call_costs_no_change(call: str, skip: int) -> None:
    disk = CrashDisk()
    book = Book(disk)
    book.put("a", 1)
    disk.fail_next(call, "/store/config", errno.ENOSPC, skip=skip)
    book.put("b", 2)
    book.put("a", 3)
    book.file.retry(book.chunks)
    assert not book.file.has_failed
    assert not book.file.is_behind
    assert read(disk.crash(skip)) == {"a": 3, "b": 2}


def test_append_raises_if_a_change_cannot_be_recorded() -> None:
    disk = CrashDisk()
    book = Book(disk)
    book.put("a", 1)
    disk.fail_next("write", "journal", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        book.file.append([(["t", "b"], 2)])
    book.put("c", 3)
    assert read(disk.crash(1)) == {"a": 1, "c": 3}


def test_journals_of_files_before_stand_in_nobodys_way() -> None:
    """Changes in all three, of which one continues the file: a start overwrites another."""
    disk = CrashDisk()
    Book(disk, MemoryWorker()).put("a", 1)
    for number in (1, 2):
        stale = Journal(disk, f"{PATH}.journal{number}")
        stale.begin(1)
        stale.bind(FileIdentity(7, number))
        stale.append(Numbered(1, [(["t", "x"], number)]))
    again = Book(disk)
    assert again.table == {"a": 1}
    again.put("b", 2)
    assert read(disk.kill()) == {"a": 1, "b": 2}


def test_a_table_that_took_long_is_saved_without_a_rest_where_that_is_asked_for() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    book = Book(disk, worker)
    book.put("a", 1)
    book.clock.advance(60_000)
    worker.perform_all()
    disk.fail_next("sync")
    book.put("b", 2)
    worker.perform_all()
    assert book.file.has_failed
    book.file.save(book.chunks)
    assert not worker.perform()
    book.file.save(book.chunks, at_once=True)
    worker.perform_all()
    assert not book.file.has_failed and not book.file.is_behind
    assert load_table(disk, PATH) == {"t": {"a": 1, "b": 2}}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_file_that_has_an_earlier_ones_content_has_its_own_journal(order: tuple[int, int]) -> None:
    """As after a value was set and removed, or a table was saved unchanged."""
    disk = CrashDisk()
    save_table(disk, PATH, {"t": {"a": 1}})
    text = disk.read_bytes(PATH)
    same = FileIdentity(len(text), zlib.crc32(text))
    earlier, newer = (Journal(disk, f"{PATH}.journal{number}") for number in order)
    earlier.begin(5)
    earlier.bind(same)
    newer.begin(6)
    newer.bind(same)
    newer.append(Numbered(6, [(["t", "b"], 2)]))
    assert read(disk) == {"a": 1, "b": 2}
