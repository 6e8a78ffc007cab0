"""Journals on disk: appended changes are read, as far as they are intact."""

import pytest

from mqgateway.engine.tables.journal import NO_FILE, FileIdentity, Journal, Numbered, apply
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/store/config/topics.json.journal0"
BASE = FileIdentity(3, 4)
CHANGES = [Numbered(7 + n, [(["t", f"k{n}"], {"a": n}), (["v"], n)]) for n in range(4)]


def journal(disk: CrashDisk, changes: list[Numbered] = CHANGES, base: FileIdentity = BASE) -> Journal:
    disk.makedirs("/store/config")
    made = Journal(disk, PATH)
    made.begin(7)
    made.bind(base)
    for change in changes:
        made.append(change)
    return made


def test_appended_changes_are_read() -> None:
    disk = CrashDisk()
    journal(disk)
    found = Journal(disk, PATH).read()
    assert found is not None
    assert (found.base, found.first, found.last, found.changes) == (BASE, 7, 10, CHANGES)


@pytest.mark.parametrize("value", [1 << 80, None, {"a": None}, "\u20ac", True, 1.5, [1, [2]]])
def test_values_of_any_kind_are_read_as_they_were(value: object) -> None:
    disk = CrashDisk()
    change = Numbered(7, [(["t", "k"], value)])
    journal(disk, [change])
    found = Journal(disk, PATH).read()
    assert found is not None and found.changes == [change]


def test_there_is_nothing_where_nothing_was_bound() -> None:
    disk = CrashDisk()
    assert Journal(disk, PATH).read() is None
    disk.makedirs("/store/config")
    made = Journal(disk, PATH)
    made.begin(7)
    assert Journal(disk, PATH).read() is None
    made.append(CHANGES[0])
    assert Journal(disk, PATH).read() is None
    made.bind(NO_FILE)
    found = Journal(disk, PATH).read()
    assert found is not None
    assert found.changes == CHANGES[:1]


def test_a_file_cut_or_flipped_anywhere_ends_at_a_whole_change() -> None:
    disk = CrashDisk()
    journal(disk)
    whole = disk.read_bytes(PATH)
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            file = disk.open(PATH)
            file.truncate(0)
            file.write(0, damaged)
            found = Journal(disk, PATH).read()
            assert found is None or found.changes == CHANGES[: len(found.changes)], at
            assert found is None or len(found.changes) < 4, at


def test_changes_of_an_earlier_life_of_the_file_are_not_read() -> None:
    """A power cut may restore their bytes behind the changes written in their place."""
    disk = CrashDisk()
    journal(disk)
    old = disk.read_bytes(PATH)
    other = [Numbered(7, [(["t", "k9"], {"a": 0}), (["v"], 0)])]
    journal(disk, other)
    new = disk.read_bytes(PATH)
    file = disk.open(PATH)
    file.write(0, new + old[len(new) :])
    found = Journal(disk, PATH).read()
    assert found is not None
    assert found.changes == other


def test_a_change_that_could_not_be_written_is_none() -> None:
    disk = CrashDisk()
    made = journal(disk, CHANGES[:1])
    disk.fail_next("write", PATH)
    with pytest.raises(OSError, match="Input/output"):
        made.append(CHANGES[1])
    other = Numbered(8, [(["x"], 1)])
    made.append(other)
    found = Journal(disk, PATH).read()
    assert found is not None
    assert found.changes == [CHANGES[0], other]


def test_changes_are_applied_as_they_say() -> None:
    table = {"t": {"a": 1, "b": 2}, "v": 1}
    apply(table, [(["t", "a"], None), (["t", "c"], 3), (["n", "m", "k"], "x"), (["v"], {}), (["w"], None)])
    assert table == {"t": {"b": 2, "c": 3}, "v": {}, "n": {"m": {"k": "x"}}}
