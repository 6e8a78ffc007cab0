"""The end of a log that is opened: torn ends, indexes that do not fit, and damage that is not a torn end."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.raft.files.entry import encode
from mqgateway.engine.raft.files.recovery import find_end
from mqgateway.engine.testing.crash_disk import CrashDisk
from tests.engine.raft.files.test_file_log import FOLDER, SIZE, bodies, body_of, filled, opened, state


def written(disk: CrashDisk, position: int, data: bytes) -> None:
    start = position - position % SIZE
    disk.open(f"{FOLDER}/data/{start:020d}").write(position - start, data)


@pytest.mark.parametrize(
    "torn",
    [
        encode(20, 3, 1536 + 164, body_of(20))[:60],
        encode(21, 3, 1536 + 164, body_of(20)),
        encode(20, 1, 1536 + 164, body_of(20)),
        encode(20, 3, 1536 + 165, body_of(20)),
        encode(20, 3, 1536 + 164, bytes(range(200))[:400]),
        b"\xff\xff\x00\x00 anything",
    ],
)
def test_a_torn_end_is_cleared(torn: bytes) -> None:
    log = filled(20)
    written(log.disk, 1536 + 164, torn)
    again = opened(log.disk)
    assert state(again) == state(log)
    assert log.disk.read_bytes(f"{FOLDER}/data/{1536:020d}")[164:] == bytes(SIZE - 164)


def test_an_entry_that_the_index_lacks_is_there() -> None:
    log = filled(20)
    written(log.disk, 1536 + 164, encode(20, 3, 1536 + 164, body_of(20)))
    assert opened(log.disk).entry(20) is not None


@pytest.mark.parametrize("lost", [[0], [128], [512], [0, 128, 256, 384, 512]])
def test_index_is_rebuilt(lost: list[int]) -> None:
    log = filled(20)
    before = {start: log.disk.read_bytes(f"{FOLDER}/index/{start:020d}") for start in log.index.starts}
    for start in lost:
        log.disk.unlink(f"{FOLDER}/index/{start:020d}")
    again = opened(log.disk)
    assert bodies(again) == [body_of(number) for number in range(20)]
    assert {start: log.disk.read_bytes(f"{FOLDER}/index/{start:020d}") for start in before} == before


def test_an_index_that_says_something_else_is_mended() -> None:
    log = filled(20)
    log.disk.open(f"{FOLDER}/index/{512:020d}").write(20, b"\x07")
    assert bodies(opened(log.disk)) == [body_of(number) for number in range(20)]


def test_damage_that_would_take_more_than_a_file_is_refused() -> None:
    log = filled(20)
    written(log.disk, 512 + 10, b"\xff")
    with pytest.raises(CorruptFile, match="no entry follows, though files up to 2048 are there"):
        opened(log.disk)
    assert log.disk.read_bytes(f"{FOLDER}/data/{1536:020d}").startswith(encode(18, 2, 1536, body_of(18)))


def test_a_missing_file_is_refused() -> None:
    log = filled(20)
    log.disk.unlink(f"{FOLDER}/data/{512:020d}")
    with pytest.raises(CorruptFile, match="missing"):
        opened(log.disk)


def test_a_file_without_an_entry_begins_where_it_does() -> None:
    """As where a broker's older log ends at this offset."""
    log = filled(0)
    log.reset(0, 1024)
    assert state(opened(log.disk)) == (0, 1024, -1, -1, 1024)


@pytest.mark.parametrize("noted", [-1, 3, 12, 19, 99])
def test_end_of_a_log_that_another_process_has_open(noted: int) -> None:
    log = filled(20)
    written(log.disk, 1536 + 164, b"x" * 20 + encode(22, 1, 1536 + 184, body_of(20)))
    before = log.disk.operations
    assert find_end(log.data, log.index, noted) == 1536 + 164
    assert log.disk.operations == before
