"""Which files of a log or queue can be used, and what is said of the others."""

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout, find_files, hold, place, read
from tests.support.engine.store.stores import ROOT, options
from tests.support.engine.upkeep.damage import filled, put_file


def files_of(disk: Disk, sizes: dict[str, int]) -> tuple[FileQueue, Findings]:
    for name, size in sizes.items():
        put_file(disk, f"/q/{name}", b"x" * size)
    findings = Findings()
    return find_files(FilePool(disk), "/q", StorePart.QUEUE, findings, "do it"), findings


def test_the_length_is_the_one_that_most_files_have() -> None:
    files, findings = files_of(CrashDisk(), {f"{n * 100:020d}": 100 for n in range(3)})
    assert (files.file_size, files.starts) == (100, [0, 100, 200])
    assert not findings.kept


def test_a_file_of_another_length_is_left_out_and_reported() -> None:
    files, findings = files_of(CrashDisk(), {f"{0:020d}": 100, f"{100:020d}": 100, f"{200:020d}": 60})
    assert files.starts == [0, 100]
    assert "has 60 bytes" in findings.kept[0].what


def test_a_gap_names_the_missing_file() -> None:
    files, findings = files_of(CrashDisk(), {f"{n:020d}": 100 for n in (0, 100, 300)})
    assert files.starts == [0, 100, 300]
    assert findings.kept[0].path == f"/q/{200:020d}"
    assert findings.errors == 1
    assert read(files, 200, 10) == b""
    assert read(files, 190, 100) == b"x" * 10


def test_an_empty_last_file_is_a_note_and_any_other_an_error() -> None:
    _, findings = files_of(CrashDisk(), {f"{0:020d}": 100, f"{100:020d}": 0})
    assert findings.errors == 0
    assert "next start removes it" in findings.kept[0].what
    _, findings = files_of(CrashDisk(), {f"{0:020d}": 0, f"{100:020d}": 100})
    assert findings.errors == 1


def test_a_strange_name_is_noted() -> None:
    _, findings = files_of(CrashDisk(), {f"{0:020d}": 100, "notes.txt": 5})
    assert findings.kept[0].path == "/q/notes.txt"
    assert findings.errors == 0


def test_the_place_of_an_offset() -> None:
    files, _ = files_of(CrashDisk(), {f"{0:020d}": 100})
    assert place(files, 130) == (f"/q/{100:020d}", 30)


def test_the_lock_is_taken_until_it_is_closed() -> None:
    disk = filled(1)
    layout = Layout(disk, options())
    lock = hold(disk, layout)
    assert lock is not None
    with pytest.raises(StoreUnavailable):
        hold(disk, layout)
    lock.close()
    again = hold(disk, layout)
    assert again is not None
    again.close()


def test_a_store_without_a_lock_file_needs_no_lock() -> None:
    disk = filled(1)
    disk.unlink(f"{ROOT}/lock")
    assert hold(disk, Layout(disk, options())) is None


def test_queue_folders_are_those_with_a_number() -> None:
    disk = filled(11)
    put_file(disk, f"{ROOT}/consumequeue/orders/notes/x", b"")
    folders = list(Layout(disk, options()).queue_folders(f"{ROOT}/consumequeue"))
    assert [(topic, queue_id) for topic, queue_id, _ in folders] == [
        ("SCHEDULE_TOPIC_XXXX", 2),
        ("orders", 0),
        ("orders", 1),
        ("pay", 0),
    ]
