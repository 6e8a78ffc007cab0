"""Behaviour of every table of entries with a version and a file, on entries of one field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pytest

from mqgateway.engine import json_members
from mqgateway.engine.clock import ManualClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.tables.config_table import ConfigTable, StoredTable
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import MemoryWorker, Worker

PATH = "/store/config/things.json"
NOW = 1_700_000_000_000


@dataclass(slots=True)
class Thing:
    key: str
    size: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"name": self.key, "size": self.size}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(json_members.read_name(value, "name"), json_members.read(value, "size", 0))


class Things(ConfigTable[Thing]):
    """A table in which every name that begins with `*` is an implicit entry of size 7."""

    entry = Thing
    member = "things"
    sides = ("marks",)

    def _implied(self, name: str) -> Thing | None:
        return Thing(name, 7) if name.startswith("*") else None

    def mark(self, name: str, **marks: int) -> None:
        """Set side data of an entry."""
        self._sides["marks"][name] = marks
        self._changed(sides=[("marks", name)])


def things(disk: CrashDisk, worker: Worker | None = None) -> Things:
    made = Things(disk, PATH, ManualClock(NOW), worker, [Thing("first", 1)])
    made.load()
    return made


def test_a_new_table_has_the_built_in_entries_and_a_version_of_its_time() -> None:
    made = things(CrashDisk())
    assert (made.names(), len(made), made.get("first")) == (["first"], 1, Thing("first", 1))
    assert made.data_version == DataVersion(0, 0, NOW)


def test_each_change_raises_the_version_and_outlives_the_process() -> None:
    disk = CrashDisk()
    made = things(disk)
    made.put(Thing("a", 1))
    made.put(Thing("a", 2), Thing("b"))
    made.mark("a", left=3)
    assert made.delete("b") and not made.delete("b")
    again = things(disk.kill())
    assert made.data_version.counter == 4
    assert again.to_json() == made.to_json()
    assert [thing.key for thing in again.all()] == ["first", "a"]


def test_side_data_is_deleted_with_or_without_entry() -> None:
    disk = CrashDisk()
    made = things(disk)
    made.put(Thing("a"))
    made.mark("a", left=1)
    made.mark("b", left=2)
    assert made.delete("a") and made.delete("b")
    assert things(disk.kill()).to_json()["marks"] == {}


def test_implied_entries_are_there_but_never_kept() -> None:
    disk = CrashDisk()
    made = things(disk)
    made.put(Thing("*x", 3), Thing("a"))
    assert ("*x" in made, made.get("*x"), "*x" in made.names()) == (True, Thing("*x", 7), False)
    assert ("a" in made, "b" in made, 5 in made) == (True, False, False)
    assert "*x" not in things(disk).to_json()["things"]


def test_a_master_s_table_is_taken_over_whole_with_its_version() -> None:
    master, disk = things(CrashDisk()), CrashDisk()
    master.put(Thing("a", 1))
    master.mark("a", left=1)
    slave = things(disk)
    slave.put(Thing("own"))
    assert slave.adopt(master.to_json())
    assert slave.to_json() == master.to_json() == things(disk.kill()).to_json()
    assert not slave.adopt({**master.to_json(), "things": {}})


@pytest.mark.parametrize(
    "bad", [{"things": []}, {"things": {"a": {"name": "a", "size": "x"}}}, {"marks": {"a": 1}}]
)
def test_of_a_table_with_a_fault_nothing_is_taken_over(bad: dict[str, Any]) -> None:
    slave = things(CrashDisk())
    before = slave.to_json()
    with pytest.raises(ConfigError):
        slave.adopt({"dataVersion": {"counter": 9}, **bad})
    assert slave.to_json() == before


def test_unknown_members_are_kept_in_file() -> None:
    disk = CrashDisk()
    entry = {"name": "a", "size": 1, "newer": [1]}
    save_table(disk, PATH, {"things": {"a": entry}, "new": 5, "dataVersion": {"counter": 2}})
    made = things(disk)
    made.put(Thing("a", 2))
    made.close()
    written = load_table(disk, PATH)
    assert written is not None
    assert (written["new"], written["things"]["a"]) == (5, {**entry, "size": 2})
    assert written["dataVersion"]["counter"] == 3
    made.delete("a")
    made.put(Thing("a"))
    made.close()
    written = load_table(disk, PATH)
    assert written is not None and "newer" not in written["things"]["a"]


def test_a_write_that_fails_is_tried_again_and_the_one_before_is_kept() -> None:
    disk = CrashDisk()
    made = things(disk)
    made.put(Thing("a"))
    disk.fail_next("sync", PATH)
    made.put(Thing("b"))
    made.retry()
    made.put(Thing("c"))
    made.close()
    assert set(things(disk.kill()).names()) == {"first", "a", "b", "c"}
    disk.unlink(PATH)
    assert "b" in things(disk), "the backup"


def test_writes_can_be_left_to_a_worker() -> None:
    disk, worker = CrashDisk(), MemoryWorker()
    made = things(disk, worker)
    made.put(*[Thing(f"t{number}") for number in range(9)])
    assert worker.waiting == 1
    worker.perform_all()
    made.close()
    written = load_table(disk, PATH)
    assert written is not None and len(written["things"]) == 10


class Stored(StoredTable[Thing]):
    """A table without implied entries."""

    entry = Thing
    member = "things"


def test_a_stored_table_has_exactly_what_was_put() -> None:
    made = Stored(CrashDisk(), PATH, ManualClock(NOW))
    assert (made.names(), made.get("*any"), "*any" in made) == ([], None, False)
    made.put(Thing("first", 1))
    assert made.names() == ["first"]
