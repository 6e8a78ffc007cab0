import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.disk import File
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.real_disk import RealDisk, RealFile
from mqgateway.engine.tier.object_folder import MARKER, PARTIAL, PARTIAL_MILLIS, ObjectFolder
from mqgateway.engine.tier.object_store import ObjectExists, ObjectMissing, ObjectStoreUnavailable

NOW = 1_700_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> ObjectFolder:
    folder = ObjectFolder(RealDisk(), str(tmp_path / "tier"))
    folder.prepare(NOW)
    return folder


def test_created_object_is_read_by_ranges(store: ObjectFolder) -> None:
    store.create("a/b.seg", b"0123456789")
    assert store.get_range("a/b.seg", 0, 10) == b"0123456789"
    assert store.get_range("a/b.seg", 3, 4) == b"3456"
    assert store.head("a/b.seg") == 10


def test_create_of_an_existing_object_is_refused_and_changes_nothing(store: ObjectFolder) -> None:
    store.create("a", b"first")
    with pytest.raises(ObjectExists, match="the object a exists already"):
        store.create("a", b"second")
    assert store.get_range("a", 0, 5) == b"first"


def test_put_replaces_an_object(store: ObjectFolder) -> None:
    store.put("a", b"first")
    store.put("a", b"2nd")
    assert (store.head("a"), store.get_range("a", 0, 3)) == (3, b"2nd")


def test_range_beyond_the_end_is_damage(store: ObjectFolder) -> None:
    store.create("a", b"0123")
    with pytest.raises(CorruptFile, match="a at byte 2: 3 bytes were expected, and the object has 2"):
        store.get_range("a", 2, 3)


def test_missing_object_has_no_size_and_no_bytes(store: ObjectFolder) -> None:
    store.create("a", b"1")
    for name in ("b", "a/b", "c/d"):
        assert store.head(name) is None
        with pytest.raises(ObjectMissing):
            store.get_range(name, 0, 1)
        store.delete(name)
    assert store.head("a") == 1


def test_prefix_of_names_is_no_object(store: ObjectFolder) -> None:
    store.create("a/b", b"1")
    assert store.head("a") is None


def test_deleted_object_is_gone_and_may_be_created_again(store: ObjectFolder) -> None:
    store.create("a/b", b"1")
    store.delete("a/b")
    assert store.head("a/b") is None and list(store.list_from("")) == []
    store.create("a/b", b"22")
    assert list(store.list_from("")) == [("a/b", 2)]


NAMES = st.lists(st.sampled_from(["a", "b", "a-b", "a.c", "a+", "a0", "%"]), min_size=1, max_size=3)


@given(st.sets(NAMES.map("/".join), max_size=12), st.sampled_from(["", "a", "a/", "a/b", "a-b/", "x"]), NAMES)
def test_list_is_in_the_order_of_whole_names(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], prefix: str, after: list[str]
) -> None:
    """As S3 does it: `a-b/x` comes before `a/x`, as the hyphen comes before the slash."""
    store = ObjectFolder(RealDisk(), str(tmp_path_factory.mktemp("tier")))
    store.prepare(NOW)
    kept = {name for name in names if not any(other.startswith(f"{name}/") for other in names)}
    for name in kept:
        store.put(name, b"1")
    expected = sorted(name for name in kept if name.startswith(prefix))
    assert [name for name, _ in store.list_from(prefix)] == expected
    bound = "/".join(after)
    assert [name for name, _ in store.list_from(prefix, bound)] == [each for each in expected if each > bound]


def test_one_of_many_writers_creates_an_object(store: ObjectFolder) -> None:
    outcomes = list[str]()

    def race(number: int) -> None:
        try:
            store.create("epochs/1", b"%d" % number)
            outcomes.append(str(number))
        except ObjectExists:
            outcomes.append("")

    threads = [threading.Thread(target=race, args=(number,)) for number in range(10, 26)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [winner] = [each for each in outcomes if each]
    assert len(outcomes) == 16 and store.get_range("epochs/1", 0, 2) == winner.encode()


class _Killed(Exception):
    """The writer's process ended."""


class _KillingDisk(RealDisk):
    """A disk whose user is killed before the change of a given number; it counts them."""

    def __init__(self, kill_at: int = -1) -> None:
        self.kill_at = kill_at
        self.changes = list[str]()

    def _count(self, change: str) -> None:
        if len(self.changes) == self.kill_at:
            raise _Killed
        self.changes.append(change)

    def open(self, path: str, create: bool = False) -> File:
        if create:
            self._count("open")
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        return _KillingFile(fd, path, self._count)

    def rename(self, old: str, new: str) -> None:
        self._count("rename")
        super().rename(old, new)

    def link(self, old: str, new: str) -> None:
        self._count("link")
        super().link(old, new)

    def unlink(self, path: str) -> None:
        self._count("unlink")
        super().unlink(path)

    def sync_dir(self, path: str) -> None:
        self._count("sync_dir")
        super().sync_dir(path)


class _KillingFile(RealFile):
    __slots__ = ("_count",)

    def __init__(self, fd: int, path: str, count: Callable[[str], None]) -> None:
        super().__init__(fd, path)
        self._count = count

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        super().write(offset, data[: len(data) // 2])
        self._count("write")
        super().write(offset, data)

    def sync(self) -> None:
        self._count("sync")
        super().sync()


def test_content_is_synced_before_the_name_and_the_name_before_the_answer(tmp_path: Path) -> None:
    disk = _KillingDisk()
    store = ObjectFolder(disk, str(tmp_path))
    store.prepare(NOW)
    disk.changes.clear()
    store.create("a", b"12")
    assert disk.changes == ["open", "write", "sync", "link", "unlink", "sync_dir"]
    disk.changes.clear()
    store.put("a", b"12")
    assert disk.changes == ["open", "write", "sync", "rename", "sync_dir"]
    disk.changes.clear()
    with pytest.raises(ObjectExists):
        store.create("a", b"12")
    assert disk.changes[-1] == "sync_dir"  # the other writer may not have come to it


@pytest.mark.parametrize("verb", ["create", "put"])
def test_killed_writer_leaves_a_whole_object_or_none(tmp_path: Path, verb: str) -> None:
    for step in range(10):
        disk = _KillingDisk()
        store = ObjectFolder(disk, str(tmp_path / str(step)))
        store.prepare(NOW)
        disk.kill_at = len(disk.changes) + step
        try:
            getattr(store, verb)("data/a", b"0123456789")
        except _Killed:
            assert step < 7
        disk.kill_at = -1
        found = list(store.list_from(""))
        assert found in ([], [("data/a", 10)])
        if found:
            assert store.get_range("data/a", 0, 10) == b"0123456789"
        else:
            store.create("data/a", b"x")


def test_partial_files_of_killed_writers_are_removed_after_a_day(tmp_path: Path) -> None:
    store = ObjectFolder(RealDisk(), str(tmp_path))
    store.prepare(NOW)
    for name, age in (("old", PARTIAL_MILLIS + 1000), ("new", PARTIAL_MILLIS - 1000)):
        (tmp_path / PARTIAL / name).write_bytes(b"1")
        os.utime(tmp_path / PARTIAL / name, ((NOW - age) / 1000,) * 2)
    store.prepare(NOW)
    assert os.listdir(tmp_path / PARTIAL) == ["new"]


def test_folder_without_its_marker_is_unavailable_in_every_verb(tmp_path: Path) -> None:
    """Such as an empty mount point: its history is elsewhere, not lost."""
    store = ObjectFolder(RealDisk(), str(tmp_path))
    for use in (
        lambda: store.create("a", b""),
        lambda: store.put("a", b""),
        lambda: store.get_range("a", 0, 1),
        lambda: list(store.list_from("")),
        lambda: store.delete("a"),
        lambda: store.head("a"),
    ):
        with pytest.raises(ObjectStoreUnavailable, match=f"no file {MARKER}; is its file system mounted"):
            use()
    assert os.listdir(tmp_path) == []


def test_failing_disk_makes_the_store_unavailable_and_leaves_no_partial_file(tmp_path: Path) -> None:
    class _Full(RealDisk):
        def link(self, old: str, new: str) -> None:
            raise OSError(95, "Operation not supported", old)

    store = ObjectFolder(_Full(), str(tmp_path))
    store.prepare(NOW)
    with pytest.raises(ObjectStoreUnavailable, match="Operation not supported"):
        store.create("a", b"1")
    assert os.listdir(tmp_path / PARTIAL) == [] and store.head("a") is None
