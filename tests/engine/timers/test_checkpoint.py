"""The checkpoint: both parts are read back; ours is ignored if RocketMQ has written since."""

from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.timers.checkpoint import FILE_SIZE, Stable, TimerCheckpoint

PATH = "/store/config/timercheck"


def filled(disk: CrashDisk) -> TimerCheckpoint:
    made = TimerCheckpoint(disk, PATH)
    made.load()
    made.read_time, made.log_position, made.queue_offset, made.master_queue_offset = 1, 2, 3, 4
    made.data_version.next(99)
    made.precision, made.is_clean, made.reached = 100, True, 12
    made.stable = Stable(5, 6, 7, 8)
    made.save()
    return made


def test_read_back() -> None:
    disk = CrashDisk()
    made = filled(disk)
    again = TimerCheckpoint(disk, PATH)
    again.load()
    assert again.encode() == made.encode() and len(made.encode()) == 56
    assert (again.precision, again.is_clean, again.reached) == (100, True, 12)
    assert again.stable == Stable(5, 6, 7, 8)
    assert disk.size(PATH) == FILE_SIZE


def test_a_new_one_says_nothing() -> None:
    made = TimerCheckpoint(CrashDisk(), PATH)
    made.load()
    assert (made.read_time, made.precision, made.stable) == (0, 0, None)


def test_of_a_broker_of_the_standard_only_its_own_part_counts() -> None:
    disk = CrashDisk()
    made = filled(disk)
    made.read_time = 77
    disk.open(PATH).write(0, made.encode())
    again = TimerCheckpoint(disk, PATH)
    again.load()
    assert (again.read_time, again.queue_offset) == (77, 3)
    assert (again.precision, again.is_clean, again.stable) == (0, False, None)


def test_a_damaged_part_of_ours_is_not_used() -> None:
    disk = CrashDisk()
    filled(disk)
    disk.flip(PATH, 100)
    again = TimerCheckpoint(disk, PATH)
    again.load()
    assert again.stable is None and again.read_time == 1


def test_the_name_outlives_a_power_cut() -> None:
    disk = CrashDisk()
    made = filled(disk)
    assert made.file is not None
    made.file.sync()
    for seed in range(5):
        again = TimerCheckpoint(disk.crash(seed), PATH)
        again.load()
        assert again.stable == Stable(5, 6, 7, 8)
