"""One file of the index."""

from mqgateway.engine.store.index_file import IndexFile
from mqgateway.engine.testing.crash_disk import CrashDisk

NOW = 1_700_000_000_000
SLOTS, ENTRIES = 7, 6
PATH = "/index/1"


def made(disk: CrashDisk | None = None) -> IndexFile:
    disk = disk or CrashDisk()
    disk.makedirs("/index")
    return IndexFile(disk, PATH, SLOTS, ENTRIES, create=True)


def test_file_takes_entries_until_it_is_full() -> None:
    file = made()
    wanted = [(number, 100 * number, NOW + number) for number in range(1, 9)]
    assert file.put(wanted[:2]) == 2 and not file.is_full
    assert file.put(wanted[2:]) == 3 and file.is_full
    assert file.put(wanted[5:]) == 0
    assert list(file.entries()) == [(key_hash, offset) for key_hash, offset, _ in wanted[:5]]


def test_entries_of_a_hash_are_found_newest_first_beside_others_of_its_slot() -> None:
    file = made()
    file.put([(3, 100, NOW), (3 + SLOTS, 200, NOW), (3, 300, NOW + 5000)])
    assert file.find(3, 0, 1 << 60, 9) == [300, 100]
    assert file.find(3, 0, NOW, 9) == [100]
    assert file.find(3 + SLOTS, 0, 1 << 60, 9) == [200]
    assert file.find(4, 0, 1 << 60, 9) == []


def test_last_entries_of_one_message_are_counted() -> None:
    file = made()
    file.put([(1, 100, NOW), (2, 200, NOW), (3, 200, NOW)])
    assert file.count_at_end() == 2


def test_written_header_is_read_by_the_next_process() -> None:
    disk = CrashDisk()
    file = made(disk)
    file.put([(1, 100, NOW), (2, 200, NOW + 3000)])
    file.write_header(file.header())
    file.close_window()
    again = IndexFile(disk, PATH, SLOTS, ENTRIES)
    assert again.header() == file.header() == (NOW, NOW + 3000, 100, 200, 2, 3)
    assert again.may_have(NOW + 3000, NOW + 9000) and not again.may_have(NOW + 3001, NOW + 9000)


def test_rebuilt_file_has_the_entries_before_an_offset() -> None:
    file = made()
    file.put([(3, 100, NOW), (3, 200, NOW), (3, 300, NOW)])
    file.rebuild(300)
    assert file.find(3, 0, 1 << 60, 9) == [200, 100]
    assert (file.next_entry, file.end_offset) == (3, 200)
