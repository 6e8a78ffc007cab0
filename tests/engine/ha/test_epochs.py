"""The file of epochs: its bytes, its durability, and its state after the log is truncated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.disk import make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.ha.epochs import (
    ENDLESS,
    Epoch,
    EpochEnd,
    Epochs,
    consistent_point,
    end_of_epoch,
    format_epochs,
    parse_epochs,
)
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut

PATH = "/store/epochFileCheckpoint"


def epochs(disk: CrashDisk, end: int = 1 << 40) -> Epochs:
    """Return the epochs as loaded at a start."""
    found = Epochs(disk, PATH)
    found.load(end)
    return found


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (b"1\n1725254278\n1-0\n", [Epoch(1, 0)]),
        (b"2\n1767234045\n1-0\n2-82193\n", [Epoch(1, 0), Epoch(2, 82193)]),
    ],
)
def test_the_bytes_are_those_of_the_standard(text: bytes, entries: list[Epoch]) -> None:
    """Captured from brokers of 5.5.0."""
    assert format_epochs(entries) == text
    assert parse_epochs(text) == entries


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not a list"),
        (b"1\n", "not a list"),
        (b"1\nx\n1-0\n", "not a list"),
        (b"1\n0\n1-0-5\n", "not a list"),
        (b"1\n0\n1\n", "not a list"),
        (b"2\n0\n1-0\n", "announced"),
        (b"2\n1767234045\n1-0\n2-8219", "checksum"),
        (b"2\n0\n2-0\n1-5\n", "order"),
        (b"2\n0\n1-5\n2-5\n", "order"),
        (b"{}\n\xff\xfe\n", "not a list"),
    ],
)
def test_damaged_file_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_epochs(text)


def test_a_checksum_of_0_is_not_looked_at() -> None:
    assert parse_epochs(b"1\n0\n3-7\n") == [Epoch(3, 7)]


def test_without_epochs_there_is_no_file() -> None:
    disk = CrashDisk()
    found = epochs(disk)
    found.begin(0, 100)
    found.cut(0)
    assert found.last == 0
    assert not disk.exists(PATH)


def test_epochs_are_read_again() -> None:
    disk = CrashDisk()
    found = epochs(disk)
    for number, start in ((1, 0), (4, 500), (5, 900)):
        found.begin(number, start)
    assert epochs(disk).entries == [Epoch(1, 0), Epoch(4, 500), Epoch(5, 900)]
    assert disk.read_bytes(f"{PATH}.bak") == format_epochs(found.entries[:2])


def test_an_epoch_that_is_known_keeps_its_place() -> None:
    found = epochs(CrashDisk())
    found.begin(3, 100)
    found.begin(3, 200)
    found.begin(2, 300)
    assert found.entries == [Epoch(3, 100)]


def test_an_epoch_of_which_the_log_has_nothing_gives_way() -> None:
    """Its master may have written at the same offset: that is not this log."""
    found, its_masters = epochs(CrashDisk()), epochs(CrashDisk())
    for one in (found, its_masters):
        one.begin(1, 0)
        one.begin(2, 100)
    found.begin(3, 100)
    assert found.entries == [Epoch(1, 0), Epoch(3, 100)]
    assert consistent_point(its_masters.entries, 150, found.entries, 180) == 100
    found.begin(4, 101)
    assert found.entries == [Epoch(1, 0), Epoch(3, 100), Epoch(4, 101)]


def test_epochs_behind_end_of_log_are_removed() -> None:
    disk = CrashDisk()
    found = epochs(disk)
    for number, start in ((1, 0), (2, 500), (3, 900)):
        found.begin(number, start)
    assert epochs(disk, 900).last == 3
    assert epochs(disk, 899).last == 2
    assert epochs(disk).entries == [Epoch(1, 0), Epoch(2, 500)]
    shorter = epochs(disk)
    shorter.begin(7, 400)
    assert shorter.entries == epochs(disk).entries == [Epoch(1, 0), Epoch(7, 400)]


def test_nothing_is_left_for_the_standards_broker_to_find_once_all_epochs_are_gone() -> None:
    disk = CrashDisk()
    found = epochs(disk)
    found.begin(1, 100)
    found.begin(2, 200)
    assert epochs(disk, 50).entries == []
    assert not disk.exists(PATH)
    assert not disk.exists(f"{PATH}.bak")


@pytest.mark.parametrize("text", [b"", b"2\n17672", b"3\n1\n1-0\n"])
def test_the_backup_counts_where_the_file_is_damaged(text: bytes) -> None:
    disk = CrashDisk()
    found = epochs(disk)
    found.begin(1, 0)
    found.begin(2, 500)
    file = disk.open(PATH)
    file.truncate(0)
    file.write(0, text)
    assert epochs(disk).entries == [Epoch(1, 0)]
    backup = disk.open(f"{PATH}.bak")
    backup.truncate(0)
    with pytest.raises(ConfigError, match="are unknown"):
        epochs(disk)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(1, 12), st.integers(0, 20)),
        max_size=8,
    ),
    st.integers(0, 60),
    st.integers(0, 1 << 30),
)
def test_whatever_the_power_cuts_off_an_epoch_that_was_begun_is_there(
    steps: list[tuple[bool, int, int]], operations: int, seed: int
) -> None:
    """After a crash at any operation of the disk the file is as before the last step, or as after it."""
    disk = CrashDisk()
    make_directories(disk, "/store")
    found = epochs(disk)
    before = after = list(found.entries)
    disk.cut_at = disk.operations + 1 + operations
    try:
        for begins, number, start in steps:
            before = list(found.entries)
            wanted = Epochs(CrashDisk(), PATH)
            wanted.entries = before
            step = wanted.begin if begins else wanted.cut
            step(*((number, start) if begins else (start,)))
            after = wanted.entries
            (found.begin if begins else found.cut)(*((number, start) if begins else (start,)))
            assert found.entries == after
    except PowerCut:
        disk = disk.crash(seed)
        assert epochs(disk).entries in (before, after)
    else:
        assert epochs(disk).entries == after


def test_epoch_of_an_offset() -> None:
    found = epochs(CrashDisk())
    assert found.at(7) == (Epoch(0, 0), ENDLESS)
    found.begin(1, 100)
    found.begin(4, 300)
    assert found.at(99) == (Epoch(0, 0), 100)
    assert found.at(100) == found.at(299) == (Epoch(1, 100), 300)
    assert found.at(300) == (Epoch(4, 300), ENDLESS)


def test_slave_that_continues_forgets_an_epoch_without_records() -> None:
    found = epochs(CrashDisk())
    found.begin(1, 0)
    found.begin(2, 100)
    found.cut_from(100)
    assert found.entries == [Epoch(1, 0)]


@pytest.mark.parametrize(
    ("own", "own_end", "masters", "master_end", "point"),
    [
        ("1-0", 100, "1-0", 80, 80),  # the master has less
        ("1-0", 100, "1-0 2-90", 500, 90),  # another one led from 90 on
        ("1-0 2-50", 70, "1-0 3-60", 90, 50),  # epoch 2 is ours alone, and 1 ended at 50 here
        ("1-0 2-50 3-60", 70, "1-0 2-50 4-65", 90, 60),
        ("1-0 2-50", 70, "1-0 2-60", 90, 50),  # the same number somewhere else is another epoch
        ("2-0", 70, "3-0", 90, -1),
        ("", 0, "1-0", 10, -1),
        ("1-0", 10, "", 0, -1),
    ],
)
def test_consistent_point_of_two_logs(
    own: str, own_end: int, masters: str, master_end: int, point: int
) -> None:
    def read(text: str) -> list[Epoch]:
        return [Epoch(*map(int, part.split("-"))) for part in text.split()]

    assert consistent_point(read(own), own_end, read(masters), master_end) == point


@given(st.data())
def test_logs_are_one_up_to_where_they_part(data: st.DataObject) -> None:
    """Logs grow by epochs; a follower has a prefix of another log, truncated where they diverge."""
    logs: list[tuple[list[Epoch], list[int]]] = [([], []) for _ in range(3)]
    for number in range(1, data.draw(st.integers(1, 6)) + 1):
        entries, units = logs[data.draw(st.integers(0, 2))]
        if not entries or entries[-1].start < len(units):
            entries.append(Epoch(number, len(units)))
        units += [number] * data.draw(st.integers(0, 5))
        for other_entries, other_units in logs:
            if other_units is units or data.draw(st.booleans()):
                continue
            point = consistent_point(other_entries, len(other_units), entries, len(units))
            if other_units and point < 0:
                continue  # both began with nothing
            point = point if other_units else 0
            assert other_units[:point] == units[:point]
            end = data.draw(st.integers(point, len(units)))
            other_units[:] = units[:end]
            other_entries[:] = [entry for entry in entries if entry.start < end]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [(0, (0, 10)), (1, (1, 50)), (2, (1, 50)), (3, (3, ENDLESS)), (4, (3, ENDLESS))],
)
def test_epoch_ends_where_the_next_one_begins(wanted: int, found: tuple[int, int]) -> None:
    assert end_of_epoch([Epoch(1, 10), Epoch(3, 50)], wanted) == EpochEnd(*found)
    assert end_of_epoch([], wanted) == EpochEnd(wanted, ENDLESS)
