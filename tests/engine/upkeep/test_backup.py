"""A backup of an open store: linked, copied and kept files, and refusals."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.backup import list_backups
from mqgateway.engine.upkeep.manifest import damaged
from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.stores import Bench, message
from tests.support.engine.upkeep.backups import Place
from tests.support.engine.upkeep.damage import change


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def bench(place: Place) -> Iterator[Bench]:
    """Yield an open store with three files of log."""
    bench = place.open()
    for number in range(20):
        bench.put(message("orders", 0, b"%d" % number + b"x" * 400))
    yield bench
    bench.store.stop()


class NoLinks(RealDisk):
    """A disk on which every backup is on another file system."""

    def link(self, old: str, new: str) -> None:
        raise OSError(18, os.strerror(18), new)


def names(files: object) -> list[str]:
    return [Path(one.path).name for one in files]  # type: ignore[attr-defined]


def test_full_files_are_linked_and_the_newest_is_copied_to_its_end(place: Place, bench: Bench) -> None:
    report = place.back_up()
    assert names(report.linked) == [f"{0:020d}", f"{4096:020d}"]
    assert names(report.copied) == [f"{8192:020d}"]
    kept = Path(report.folder) / "store" / "commitlog"
    assert (kept / f"{0:020d}").samefile(place.root / "commitlog" / f"{0:020d}")
    assert not (kept / f"{8192:020d}").samefile(place.root / "commitlog" / f"{8192:020d}")
    assert (kept / f"{8192:020d}").stat().st_size == 4096
    manifest = report.manifest
    assert (manifest.log_start, manifest.log_end) == (0, bench.store.max_physical_offset)
    assert manifest.ends["consumequeue"] == {}  # nothing is written yet: the log has it


def test_the_next_one_keeps_what_has_not_changed(place: Place, bench: Bench) -> None:
    first = place.back_up(is_copy=True)
    assert not first.linked
    for number in range(10):
        bench.put(message("orders", 0, b"more %d" % number + b"x" * 400))
    second = place.back_up(is_copy=True)
    assert names(second.unchanged) == [f"{0:020d}", f"{4096:020d}"]
    assert names(second.copied) == [f"{8192:020d}", f"{12288:020d}"]
    old, new = (Path(one.folder) / "store" / "commitlog" / f"{0:020d}" for one in (first, second))
    assert new.samefile(old)
    assert list(list_backups(RealDisk(), str(place.target))) == [
        Path(one.folder).name for one in (first, second)
    ]
    RealDisk().rmtree(first.folder)
    assert damaged(RealDisk(), second.folder, second.manifest) == []


def test_files_are_copied_without_hard_links(place: Place, bench: Bench) -> None:
    report = place.back_up(NoLinks())
    assert not report.linked
    assert len(report.copied) == 3
    assert damaged(RealDisk(), report.folder, report.manifest) == []


def test_each_change_of_a_backup_is_seen(place: Place, bench: Bench) -> None:
    place.table("topics.json", '{"topicConfigTable":{}}')
    report = place.back_up(is_copy=True)
    kept = Path(report.folder) / "store"
    change(RealDisk(), str(kept / "commitlog" / f"{0:020d}"), 100, b"?")
    (kept / "commitlog" / f"{4096:020d}").unlink()
    (kept / "config" / "topics.json").write_text("{}")
    found = damaged(RealDisk(), report.folder, report.manifest)
    assert [line.rpartition("/")[2].partition(":")[0] for line in found] == [
        f"{0:020d}",
        f"{4096:020d}",
        "topics.json",
    ]
    manifest = Path(report.folder) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"log_start":0', b'"log_start":1'))
    with pytest.raises(StoreError, match="was changed"):
        list_backups(RealDisk(), str(place.target))


def test_a_table_that_changes_meanwhile_is_read_again(place: Place, bench: Bench) -> None:
    place.table("topics.json", '{"topicConfigTable":{}}')

    class Changing(RealDisk):
        times = 0

        def read_bytes(self, path: str) -> bytes:
            data = super().read_bytes(path)
            if path.endswith("topics.json") and self.times < 2:
                self.times += 1
                place.table("topics.json", '{"topicConfigTable":{}}' + " " * self.times)
            return data

        def read_only(self) -> Disk:
            return self

    report = place.back_up(Changing())
    assert (Path(report.folder) / "store" / "config" / "topics.json").read_text().endswith("  ")


def test_unsupported_store_is_refused_and_nothing_is_left(place: Place, bench: Bench) -> None:
    (place.root / "config" / "users").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="users is a folder"):
        place.back_up()
    (place.root / "config" / "users").rmdir()
    (place.root / "compaction" / "compactionLog" / "t").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="compaction topics"):
        place.back_up()
    (place.root / "dledger-n0" / "data").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="is a DLedger member's"):
        place.back_up()
    assert list(place.target.iterdir()) == []


def test_damage_in_the_newest_file_is_reported(place: Place, bench: Bench) -> None:
    change(RealDisk(), f"{place.root}/commitlog/{8192:020d}", 600, b"????????")
    with pytest.raises(StoreError, match="cannot be read from"):
        place.back_up()


def test_full_disk_is_reported_before_anything_is_copied(place: Place, bench: Bench) -> None:
    class Full(RealDisk):
        def usage(self, path: str) -> tuple[int, int]:
            return 1 << 30, 100

    with pytest.raises(OSError, match="bytes are needed"):
        place.back_up(Full(), is_copy=True)
    assert list(place.target.iterdir()) == []


def test_files_that_are_removed_meanwhile_are_not_missed(place: Place, bench: Bench) -> None:
    class Removing(RealDisk):
        def link(self, old: str, new: str) -> None:
            if old.endswith(f"{4096:020d}"):
                raise FileNotFoundError(old)
            super().link(old, new)

    report = place.back_up(Removing())
    assert names(report.manifest.files) == [f"{8192:020d}"]
    assert report.manifest.log_start == 8192
    assert os.listdir(f"{report.folder}/store/commitlog") == [f"{8192:020d}"]


@pytest.mark.parametrize("disk", [RealDisk(), NoLinks()])
def test_compacted_parts_are_kept_and_restored(place: Place, disk: RealDisk) -> None:
    topic = CompactedTopic(place.open())
    for number in range(10):
        topic.add((b"%d" % (number % 3), b"x"))
    topic.wait()
    first = place.back_up(disk)
    topic.add((b"0", b"new"))
    topic.wait()
    second = place.back_up(disk)
    assert "kafkacompaction/batched/0" in [one.path for one in first.linked or first.copied]
    assert not damaged(disk, first.folder, first.manifest)
    topic.store.stop()
    place.restore(second)
    restored = CompactedTopic(place.open(place.restored))
    assert restored.offsets() == [7, 8, 9, 10]
    assert restored.store.compacted_parts.parts["batched", 0].end == 10
    restored.store.stop()
