"""Mapped parts of the log: which are cached, and when their residency is checked again."""

from mqgateway.engine.store.commit_log import CommitLog
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.read_windows import FRESH_SECONDS, PART_SIZE, PARTS, ReadWindows
from mqgateway.engine.testing.crash_disk import CrashDisk, CrashFile

PLACE = ("/s", 0)
FILE_SIZE = PART_SIZE * (PARTS + 4)


class Watched(CrashFile):
    """A file with a settable residency, which counts the checks."""

    there = True
    read_at = 0

    def is_ready(self, offset: int, size: int) -> bool:
        self.read_at += 1
        return self.there and super().is_ready(offset, size)


class World:
    def __init__(self) -> None:
        disk = CrashDisk()
        disk.open("/f", create=True).truncate(FILE_SIZE)
        self.file = Watched(disk, "/f", disk._get("/f"))
        self.now = 100.0
        self.windows = ReadWindows(lambda: self.now)

    def get(self, offset: int, length: int = FILE_SIZE) -> tuple[int, int] | None:
        """Return begin and end of the window around an offset."""
        window = self.windows.get(PLACE, self.file, offset, length, FILE_SIZE)
        return None if window is None else window[1:]


def test_a_window_is_a_part_or_what_is_written_of_it() -> None:
    world = World()
    assert world.get(5) == (0, PART_SIZE)
    assert world.get(PART_SIZE + 5) == (PART_SIZE, 2 * PART_SIZE)
    assert world.get(2 * PART_SIZE, 2 * PART_SIZE + 10) == (2 * PART_SIZE, 2 * PART_SIZE + 10)


def test_it_is_asked_now_and_then_whether_it_is_still_in_memory() -> None:
    world = World()
    world.get(5)
    world.get(6)
    assert world.file.read_at == 1
    world.now += FRESH_SECONDS + 0.1
    world.file.there = False
    assert world.get(5) is None
    assert world.get(5) is None
    assert world.file.read_at == 2
    world.now += FRESH_SECONDS + 0.1
    world.file.there = True
    assert world.get(5) == (0, PART_SIZE)


def test_later_writes_are_visible_at_once() -> None:
    world = World()
    assert world.get(5, 10) == (0, 10)
    assert world.get(9, 20) == (0, 10)
    assert world.get(10, 20) == (0, 20)


def test_the_parts_that_were_read_last_are_kept() -> None:
    world = World()
    for number in range(PARTS):
        world.get(number * PART_SIZE)
    world.get(0)
    world.get(PARTS * PART_SIZE)
    read_at = world.file.read_at
    world.get(0)
    assert world.file.read_at == read_at
    world.get(PART_SIZE)
    assert world.file.read_at == read_at + 1


def test_a_file_that_goes_is_let_go() -> None:
    world = World()
    world.get(0)
    world.windows.forget("/other", 0)
    world.get(0)
    assert world.file.read_at == 1
    world.windows.forget(*PLACE)
    world.get(0)
    assert world.file.read_at == 2


def test_a_log_reads_records_apart_where_they_are() -> None:
    """Across parts and files, in memory or not, each record equals the result of a single read."""
    size = 2 * PART_SIZE + 4096
    pool = FilePool(CrashDisk())
    log = CommitLog(pool, "/log", size)
    log.cut(0)
    ends = (0, PART_SIZE - 50, PART_SIZE - 10, 2 * PART_SIZE - 3)
    block = bytes(range(256)) * (PART_SIZE // 512)
    for _ in range(8):
        log.reserve(len(block))
        log.write(block)
    places = [(0, start + end, 100) for start in (0, size) for end in ends]
    assert log.read_each(places) == [log.read(offset, 100) for _, offset, _ in places]
    there = [record for record in log.read_each(places) if record is not None]
    assert len(there) == len(places) - 1  # one crosses the end of a file
    assert log.read_joined(places) is None
    places = [place for place in places if log.read(place[1], 100) is not None]
    assert log.read_joined(places) == b"".join(there)
    assert (
        log.read_each([(0, log.end_offset - 5, 10), (0, log.end_offset, 1), (0, 3 * size, 1)]) == [None] * 3
    )
    pool.forget("/log", 0)
    assert log.read_each(places)[0] == block[:100]
