"""The wheel: slots by time, found again, looked through, emptied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.wheel import SLOT_SIZE, Slot, Wheel

START = 1_700_000_000_000


def wheel(disk: CrashDisk | None = None, precision: int = 1000, slots: int = 50) -> Wheel:
    made = Wheel(disk or CrashDisk(), "/timerwheel", precision, slots)
    made.open()
    return made


def test_a_slot_is_for_its_step_of_time_only() -> None:
    turning = wheel()
    assert turning.is_new
    slot = Slot(START + 5000, 0, 52, 2)
    turning.put(slot)
    assert turning.get(START + 5999) == slot
    assert turning.get(START + 6000) is None
    assert turning.get(START + 5000 + 100_000) is None, "one turn later it is another slot"
    turning.put(Slot(START + 105_000, 104, 104, 1))
    assert turning.get(START + 5000) is None


def test_found_again() -> None:
    disk = CrashDisk()
    wheel(disk).put(Slot(START, 0, 0, 1))
    again = wheel(disk)
    assert not again.is_new
    assert again.get(START) == Slot(START, 0, 0, 1)


def test_slots_for_other_times_than_their_own_are_misplaced() -> None:
    disk = CrashDisk()
    turning = wheel(disk)
    turning.put(Slot(START, 0, 0, 1))
    turning.put(Slot(START + 7000, 52, 52, 1))
    assert list(turning.misplaced()) == []
    number = START // 1000 % 50
    data = disk.read_bytes("/timerwheel")
    one = data[number * SLOT_SIZE : (number + 1) * SLOT_SIZE]
    disk.open("/timerwheel").write((number + 3) % 50 * SLOT_SIZE, one)
    assert list(wheel(disk).misplaced()) == [(number + 3) % 50]


def test_a_file_of_another_length_is_no_wheel() -> None:
    disk = CrashDisk()
    wheel(disk)
    with pytest.raises(CorruptFile, match="a wheel has"):
        wheel(disk, slots=51)


@given(st.sets(st.integers(0, 99)), st.integers(0, 99), st.integers(0, 250))
def test_used_slots_of_a_time(steps: set[int], begin: int, count: int) -> None:
    turning = wheel()
    for step in steps:
        turning.put(Slot(START + step * 1000, step, step, 1))
    found = turning.used(START + begin * 1000, START + (begin + count) * 1000)
    assert [slot.first for slot in found] == [step for step in sorted(steps) if begin <= step < begin + count]


@given(st.sets(st.integers(0, 99)), st.integers(0, 99), st.integers(0, 250))
def test_cleared_slots(steps: set[int], begin: int, count: int) -> None:
    turning = wheel()
    for step in steps:
        turning.put(Slot(START + step * 1000, step, step, 1))
    turning.clear(START + begin * 1000, START + (begin + count) * 1000)
    left = [slot.first for slot in turning.used(START, START + 100_000)]
    cleared = {step % 100 for step in range(begin, begin + min(count, 100))}
    assert left == sorted(steps - cleared)


def test_slots_beyond_the_log() -> None:
    turning = wheel()
    turning.put(Slot(START, 0, 52, 2))
    turning.put(Slot(START + 1000, 104, 104, 1))
    assert turning.beyond(104) == [Slot(START + 1000, 104, 104, 1)]
    assert len(turning.beyond(0)) == 2
    assert turning.beyond(105) == []


def test_finer_steps() -> None:
    turning = wheel(precision=10)
    turning.put(Slot(START + 20, 0, 0, 1))
    assert turning.floor(START + 29) == START + 20
    assert turning.get(START + 29) is not None
    assert turning.get(START + 30) is None
