"""The timer log: units in batches, over file borders, read back and looked through."""

import errno

import pytest

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.timer_log import MAGIC_BLANK, TAIL, UNIT_SIZE, TimerLog, Unit

FILE_SIZE = 4096
FIT = (FILE_SIZE - TAIL.size) // UNIT_SIZE


def unit(number: int, previous: int = -1) -> Unit:
    return Unit(previous, 1, 1000, number, 100 * number, 100, 7)


def log(disk: CrashDisk | None = None, position: int = 0) -> TimerLog:
    made = TimerLog(disk or CrashDisk(), "/timerlog", FILE_SIZE)
    made.load(repair=False)
    made.open_at(position)
    return made


def filled(count: int, disk: CrashDisk | None = None) -> tuple[TimerLog, list[int]]:
    made = log(disk)
    positions = [made.append(unit(number)) for number in range(count)]
    made.write()
    return made, positions


def test_read_back_from_any_place() -> None:
    made, positions = filled(3 * FIT)
    for order in (positions, positions[::-1]):
        assert [made.read(position) for position in order] == [unit(n) for n in map(positions.index, order)]
    assert made.read(made.position) is None
    assert made.read(-1) is None


def test_a_full_file_ends_with_a_tail() -> None:
    made, positions = filled(FIT + 1)
    assert positions[FIT] == FILE_SIZE
    first = made.files.file(0).read(FIT * UNIT_SIZE, TAIL.size)
    assert TAIL.unpack(first) == (FILE_SIZE - FIT * UNIT_SIZE, 0, MAGIC_BLANK)


def test_looked_through_over_borders() -> None:
    made, positions = filled(2 * FIT + 5)
    *found, end = made.scan(0)
    assert [position for position, _ in found] == positions
    assert end == (made.position, None)
    assert [at for at, one in made.scan(positions[FIT]) if one] == positions[FIT:]


@pytest.mark.parametrize("count", [0, 1, FIT - 1, FIT])
def test_the_end_is_found(count: int) -> None:
    made, _ = filled(count)
    assert [*made.scan(0)][-1] == (made.position, None)


def test_ends_where_a_unit_is_broken() -> None:
    disk = CrashDisk()
    made, positions = filled(10, disk)
    disk.flip("/timerlog/00000000000000000000", positions[4] + 3)
    assert [*made.scan(0)][-1] == (positions[4], None)
    assert made.read(positions[4]) is None


def test_cut_off_and_written_on() -> None:
    disk = CrashDisk()
    _, positions = filled(10, disk)
    made = log(disk, positions[3])
    assert [*made.scan(0)][-1] == (positions[3], None)
    assert made.append(unit(77)) == positions[3]
    made.write()
    assert made.read(positions[3]) == unit(77)
    assert made.read(positions[2]) == unit(2)


def test_a_batch_that_fails_leaves_nothing() -> None:
    disk = CrashDisk()
    made, positions = filled(5, disk)
    for number in range(200):
        made.append(unit(number))
    disk.fail_next("write", "timerlog", errno.ENOSPC, skip=1)
    with pytest.raises(OSError):
        made.write()
    assert made.position == positions[-1] + UNIT_SIZE
    assert [*made.scan(0)][-1] == (made.position, None)
    assert made.append(unit(9)) == made.position
    made.write()
    assert made.read(positions[-1] + UNIT_SIZE) == unit(9)


def test_files_whose_messages_are_gone_go() -> None:
    disk = CrashDisk()
    made, positions = filled(3 * FIT, disk)
    assert made.clean(lambda offset: offset < 100 * (2 * FIT - 1)) == 1
    assert made.begin == FILE_SIZE
    assert made.read(positions[0]) is None
    assert made.read(positions[FIT]) == unit(FIT)
    assert made.clean(lambda offset: True) == 1, "the last file stays"
