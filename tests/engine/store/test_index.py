"""The index against a plain list, and its files against the schema."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.store import schema
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.testing.crash_disk import CrashDisk

NOW = 1_700_000_000_000
SLOTS, ENTRIES = 7, 20


def index(disk: CrashDisk, entries: int = ENTRIES) -> Index:
    return Index(disk, "/s/index", SLOTS, entries, disk.unlink)


def add(target: Index, key: str, offset: int, time: int = NOW, **more: str) -> None:
    target.note("t", {"KEYS": key, **more}, offset, time)


def find(target: Index, key: str, begin: int = 0, end: int = 1 << 60, limit: int = 64) -> list[int]:
    target.apply(NOW)
    return target.find(target.hashes.of_key("t", key), begin, end, limit)


def write_headers(target: Index) -> None:
    for file, header in target.headers():
        file.write_header(header)


def test_the_schema_reads_the_file() -> None:
    disk = CrashDisk()
    target = index(disk)
    add(target, "k1 k2", 100, NOW, UNIQ_KEY="u", TAGS="x")
    add(target, "k1", 200, NOW + 2500)
    target.apply(NOW)
    write_headers(target)
    (name,) = disk.listdir("/s/index")
    assert len(name) == 17 and name.isdigit()
    read = schema.index_file(SLOTS, ENTRIES).parse(disk.read_bytes(f"/s/index/{name}"))
    header = read.header
    assert (header.begin_timestamp, header.end_timestamp) == (NOW, NOW + 2500)
    assert (header.begin_physical_offset, header.end_physical_offset) == (100, 200)
    assert header.next_entry == 6
    assert header.used_slots == sum(slot > 0 for slot in read.slots)
    assert [(e.physical_offset, e.seconds) for e in read.entries[1:6]] == [(100, 0)] * 4 + [(200, 2)]
    hashes = KeyHashes()
    keys = ["u", "k1", "k2"]
    wanted = [hashes.of_key("t", key) for key in keys] + [hashes.of_tags("t", "x"), hashes.of_key("t", "k1")]
    assert [e.key_hash for e in read.entries[1:6]] == wanted
    for slot, number in enumerate(read.slots):
        while number:
            assert read.entries[number].key_hash % SLOTS == slot
            assert read.entries[number].previous_entry < number
            number = read.entries[number].previous_entry


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=90), st.integers(1, 70))
def test_it_finds_what_a_list_would_find(steps: list[tuple[str, bool]], limit: int) -> None:
    disk = CrashDisk()
    target = index(disk)
    model: dict[str, list[int]] = {}
    for number, (key, apply) in enumerate(steps):
        add(target, key, number * 10)
        model.setdefault(key, []).insert(0, number * 10)
        if apply:
            target.apply(NOW + number)
    for key in "abcdefgh":
        assert find(target, key, limit=limit) == model.get(key, [])[:limit]
    write_headers(target)
    target.close()
    again = index(disk)
    again.load(True, 0, 0)
    for key in "abcdefgh":
        assert find(again, key, limit=limit) == model.get(key, [])[:limit]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=90), st.integers(0, 900))
def test_after_an_unclean_stop_slots_come_from_the_entries(keys: list[str], below: int) -> None:
    """The entries before the border are kept, those after it are removed, whatever slots and counts
    contain.
    """
    disk = CrashDisk()
    target = index(disk)
    for number, key in enumerate(keys):
        add(target, key, number * 10)
    target.apply(NOW)
    for name in disk.listdir("/s/index"):
        file = disk.open(f"/s/index/{name}")
        file.write(40, b"\xff" * 4 * SLOTS)
        file.write(32, (3).to_bytes(4, "big") * 2)
    again = index(disk)
    again.load(False, 0, below)
    for key in "abcdefgh":
        assert find(again, key) == [
            i * 10 for i in range(len(keys) - 1, -1, -1) if keys[i] == key and i * 10 < below
        ]
    add(again, "new", 5000)
    assert find(again, "new") == [5000]


def test_lost_entries_end_what_is_kept() -> None:
    disk = CrashDisk()
    target = index(disk)
    for number in range(10):
        add(target, "k", 100 + number)
    target.apply(NOW)
    (name,) = disk.listdir("/s/index")
    disk.open(f"/s/index/{name}").write(40 + 4 * SLOTS + 20 * 5, bytes(20))
    again = index(disk)
    again.load(False, 0, 1 << 60)
    assert find(again, "k") == [103, 102, 101, 100]


def test_times_narrow_a_query_to_whole_seconds() -> None:
    target = index(CrashDisk())
    for number in range(5):
        add(target, "k", number, NOW + number * 1000)
    assert find(target, "k", NOW + 1000, NOW + 2999) == [2, 1]
    assert find(target, "k", NOW + 9000, NOW + 9999) == []


def test_files_of_a_wrong_length_are_removed() -> None:
    disk = CrashDisk()
    disk.makedirs("/s/index")
    disk.open("/s/index/20240101000000000", create=True).write(0, b"short")
    target = index(disk)
    target.load(True, 0, 0)
    assert disk.listdir("/s/index") == []


def test_expired_files_go_but_never_the_last() -> None:
    disk = CrashDisk()
    target = index(disk, entries=5)
    for number in range(12):
        add(target, "k", number)
    target.apply(NOW)
    assert len(target.files) == 3
    assert target.drop_before(6) == 1
    assert target.drop_before(1000) == 1
    assert len(disk.listdir("/s/index")) == 1
    assert find(target, "k") == [11, 10, 9, 8]


def test_a_failed_write_loses_nothing() -> None:
    disk = CrashDisk()
    target = index(disk)
    add(target, "k", 1)
    target.apply(NOW)
    add(target, "k", 2)
    disk.fail_next("write", "/s/index", errno.ENOSPC)
    with pytest.raises(OSError):
        target.apply(NOW)
    assert target.files[-1].next_entry == 2
    assert find(target, "k") == [2, 1]


def test_inserted_entries_are_not_inserted_again() -> None:
    target = index(CrashDisk())
    for offset in (5, 7):
        add(target, "k", offset)
    target.apply(NOW)
    add(target, "k", 5)
    assert find(target, "k") == [7, 5]
