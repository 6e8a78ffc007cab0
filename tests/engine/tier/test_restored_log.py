"""Files of a restored log: records at their positions, fillers between them, blanks, and the marker."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import StoreError
from mqgateway.engine.store.dispatch_request import enters_queue
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.record import decode, examine
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.tier.restored_log import FILLER_MAX, FILLER_MIN, FILLER_TOPIC, RestoredLog, filler
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.walk import LogWalk

SIZE = 4096
TIME = 1_700_000_000_000
MAKER = "ab" * 8


class Written:
    """A restored log on a disk in memory."""

    def __init__(self, disk: CrashDisk | None = None, size: int = SIZE) -> None:
        self.disk = disk or CrashDisk()
        self.disk.makedirs("/log")
        self.files = FileQueue(FilePool(self.disk), "/log", size)
        self.durable: list[int] = []
        self.log = RestoredLog(self.files, self.durable.append, TIME)

    def rows(self) -> list[tuple[int, int, str, int]]:
        """Return position, size, topic and store time of each record."""
        files = FileQueue(FilePool(self.disk), "/log", self.files.file_size)
        files.load()
        findings = Findings()
        walk = LogWalk(files, findings, lambda _: False)
        found = []
        for data, at, position, size in walk.records():
            message = decode(data, at)
            if message.topic.startswith("r"):
                assert not enters_queue(message.sys_flag)
            found.append((position, size, message.topic, message.store_timestamp))
        assert not findings.errors, findings.kept
        assert not walk.has_rest
        return found


def record(position: int, size: int, time: int = TIME) -> bytes:
    """Return a record of a topic other than that of fillers."""
    data = filler(size, position, time)
    return data.replace(FILLER_TOPIC.encode(), b"o" * len(FILLER_TOPIC))


def at(position: int, size: int, time: int = TIME) -> tuple[int, bytes]:
    return position, record(position, size, time)


@pytest.mark.parametrize(
    "size", [FILLER_MIN, FILLER_MIN + 1, FILLER_MIN + 15, FILLER_MIN + 16, 500, FILLER_MAX]
)
def test_filler_of_any_size_is_a_record(size: int) -> None:
    data = filler(size, 77, TIME)
    assert examine(data, 0, 77, True) == size == len(data)
    assert FILLER_TOPIC.startswith(decode(data).topic)


def test_gaps_are_filled_with_records_of_the_time_before() -> None:
    written = Written()
    written.log.add([at(1000, 200, TIME + 5), at(300, 150, TIME + 1)])
    marker = written.log.end(1400, MAKER, TIME + 9)
    size = len(MAKER) + FILLER_MIN + 15
    assert marker == 1400
    assert written.rows() == [
        (0, 300, FILLER_TOPIC, TIME + 1),
        (300, 150, "o" * 16, TIME + 1),
        (450, 550, FILLER_TOPIC, TIME + 1),
        (1000, 200, "o" * 16, TIME + 5),
        (1200, 200, FILLER_TOPIC, TIME + 5),
        (1400, size, FILLER_TOPIC, TIME + 9),
    ]
    assert decode(written.files.read(marker, size)).body == MAKER.encode()


def test_time_after_adjoining_records_is_that_of_the_last() -> None:
    written = Written()
    written.log.add([(0, record(0, 200, TIME + 1) + record(200, 100, TIME + 2))])
    written.log.end(500, MAKER, TIME)
    assert written.rows()[2] == (300, 200, FILLER_TOPIC, TIME + 2)


def test_files_without_records_are_fillers_and_blanks() -> None:
    written = Written()
    written.log.add([at(SIZE, 200, TIME + 3)])
    written.log.add([at(4 * SIZE + 400, 200, TIME + 4)])
    written.log.end(4 * SIZE + 600, MAKER, TIME + 5)
    assert written.files.starts == [SIZE, 2 * SIZE, 3 * SIZE, 4 * SIZE]
    assert written.durable == [2 * SIZE, 3 * SIZE, 4 * SIZE]
    assert [row for row in written.rows() if row[0] in (2 * SIZE, 3 * SIZE)] == [
        (2 * SIZE, FILLER_MIN, "r", TIME + 3),
        (3 * SIZE, FILLER_MIN, "r", TIME + 3),
    ]


@pytest.mark.parametrize("end", [SIZE, SIZE - 8, SIZE - 60, 2 * SIZE, 2 * SIZE - 30])
def test_marker_that_does_not_fit_begins_the_next_file(end: int) -> None:
    written = Written()
    used = end % SIZE or SIZE - 8
    written.log.add([at((end - 1) // SIZE * SIZE, used)])
    marker = written.log.end(end, MAKER, TIME)
    assert marker == -(-end // SIZE) * SIZE
    assert [row[0] for row in written.rows()][-1] == marker


def test_log_without_records_has_the_marker_at_its_end() -> None:
    written = Written()
    assert written.log.end(3 * SIZE + 1000, MAKER, TIME) == 3 * SIZE + 1000
    assert written.files.starts == [3 * SIZE]
    assert [row[0] for row in written.rows()] == [3 * SIZE, 3 * SIZE + 1000]


def test_large_gap_has_several_fillers_and_takes_no_space() -> None:
    size = 4 * FILLER_MAX
    written = Written(size=size)
    written.log.add([at(0, 200), at(200 + 2 * FILLER_MAX + 10, 200)])
    written.log.end(400 + 2 * FILLER_MAX + 10, MAKER, TIME)
    sizes = [row[1] for row in written.rows()][1:-2]
    assert sizes == [FILLER_MAX, FILLER_MAX + 10 - FILLER_MIN, FILLER_MIN]


@pytest.mark.parametrize(
    ("chunks", "problem"),
    [
        ([at(SIZE - 100, 200)], "do not fit into files of 4096 bytes"),
        ([at(0, 100), at(SIZE, 100)], None),
        ([at(SIZE, 100), at(0, 100)], "do not fit into files of 4096 bytes"),
        ([at(0, 300), at(200, 200)], "two records of the tier are at 200 of the log"),
        ([at(0, 100), at(150, 100)], "at 100 of the log do not fit into files of 4096 bytes"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(
    chunks: Iterable[tuple[int, bytes]], problem: str | None
) -> None:
    written = Written()
    if problem is None:
        written.log.add(chunks)
        return
    with pytest.raises(StoreError, match=problem):
        written.log.add(chunks)
        written.log.end(2 * SIZE, MAKER, TIME)


def test_resumed_log_continues_after_its_durable_files() -> None:
    written = Written()
    written.log.add([at(0, 300)])
    written.log.add([at(SIZE, 300)])
    again = Written(written.disk)
    again.log.resume(SIZE)
    assert again.files.starts == [0]
    again.log.add([at(2 * SIZE, 300)])
    again.log.end(2 * SIZE + 300, MAKER, TIME)
    assert again.durable == [2 * SIZE]
    assert [row[0] for row in again.rows()][-3:] == [SIZE, 2 * SIZE, 2 * SIZE + 300]


@given(st.lists(st.tuples(st.booleans(), st.integers(FILLER_MIN + 15, 900)), max_size=30), st.randoms())
def test_any_choice_of_a_logs_records_is_a_log(chosen: list[tuple[bool, int]], random: object) -> None:
    """Records of a log, of which some are missing."""
    position, kept = 0, list[tuple[int, int]]()
    for is_kept, size in chosen:
        if position % SIZE + size + 8 > SIZE:
            position += SIZE - position % SIZE
        if is_kept:
            kept.append((position, size))
        position += size
    written = Written()
    for start in range(0, position, SIZE):
        chunks = [at(*each) for each in kept if start <= each[0] < start + SIZE]
        random.shuffle(chunks)  # type: ignore[attr-defined]
        written.log.add(chunks)
    marker = written.log.end(position, MAKER, TIME)
    rows = written.rows()
    assert [row[:2] for row in rows if row[2].startswith("o")] == kept
    assert rows[-1][0] == marker >= position
