"""The log on files: what any log holds to, what is left on disk, and that power cuts lose nothing synced."""

import contextlib
import errno
import random
from zlib import crc32

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.raft.files.file_log import FileLog
from mqgateway.engine.raft.log import Entry, LogMismatch
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.testing.disk_faults import PowerCut

FOLDER = "/store/dledger-n0"
SIZE, INDEX_SIZE = 512, 128


def body_of(number: int, size: int = 30) -> bytes:
    text = b"%d " % number * size
    return crc32(text[:size]).to_bytes(4, "big") + text[:size]


def is_whole(body: bytes, position: int) -> bool:
    return body[:4] == crc32(body[4:]).to_bytes(4, "big")


def empty_disk() -> CrashDisk:
    """A disk with the store's folder, which was there before."""
    disk = CrashDisk()
    disk.makedirs("/store")
    disk.sync_dir("/")
    return disk


def opened(disk: CrashDisk) -> FileLog:
    return FileLog(disk, FOLDER, SIZE, INDEX_SIZE, is_whole)


def filled(count: int, disk: CrashDisk | None = None) -> FileLog:
    log = opened(disk or empty_disk())
    for number in range(count):
        log.append(1 + number // 10, body_of(number))
    return log


def synced(log: FileLog) -> FileLog:
    work = log.unsynced()
    assert work is not None
    work.sync()
    log.note_synced(work)
    return log


def state(log: FileLog) -> tuple[int, ...]:
    return log.begin_index, log.begin_position, log.end_index, log.end_term, log.end_position


def bodies(log: FileLog) -> list[bytes]:
    return [each.body for each in log.entries(log.begin_index, 1 << 20)]


def test_an_empty_log() -> None:
    log = opened(empty_disk())
    assert state(log) == (0, 0, -1, -1, 0)
    assert (log.term, log.vote, log.committed_index, log.synced_index) == (0, "", -1, -1)
    assert log.entry(0) is None
    assert log.entries(0, 100) == []
    assert log.unsynced() is None


def test_entries_lie_where_their_place_was() -> None:
    log = opened(empty_disk())
    for number in range(20):
        place = log.place(34)
        entry = log.append(1, body_of(number))
        assert (entry.index, entry.position) == (number, place)
        assert log.entry(number) == entry
    # Six fit a file and leave 20 bytes.
    assert log.place(34) == 1024 + 7 * 0 + 512 + 2 * 82
    assert [log.entry(number).position for number in (5, 6, 12, 18)] == [410, 512, 1024, 1536]  # type: ignore[union-attr]
    assert bodies(log) == [body_of(number) for number in range(20)]


def test_entries_by_size() -> None:
    log = filled(20)
    assert [each.index for each in log.entries(4, 82 * 3)] == [4, 5, 6]
    assert [each.index for each in log.entries(4, 1)] == [4]
    assert [each.index for each in log.entries(18, 1 << 20)] == [18, 19]
    assert log.entries(20, 100) == log.entries(-1, 100) == []


def test_more_than_a_file_can_hold() -> None:
    log = filled(1)
    assert log.place(SIZE - 56) == SIZE
    with pytest.raises(ValueError, match="does not fit"):
        log.append(1, bytes(SIZE - 55))


def test_a_leaders_entry_must_be_the_next() -> None:
    leader, log = filled(8), filled(6)
    for index in (5, 7):
        entry = leader.entry(index)
        assert entry is not None
        with pytest.raises(LogMismatch, match="which is 6 at 512"):
            log.append_entry(entry)
    for entry in leader.entries(6, 1000):
        log.append_entry(entry)
    assert state(log) == state(leader)
    for name in ("data/" + "0" * 20, f"data/{512:020d}", "index/" + "0" * 20):
        assert log.disk.read_bytes(f"{FOLDER}/{name}") == leader.disk.read_bytes(f"{FOLDER}/{name}")


def test_cut_and_continue() -> None:
    log = synced(filled(20))
    log.note_committed(19)
    log.cut(12)
    assert (log.end_index, log.end_term, log.committed_index, log.synced_index) == (12, 2, 12, 12)
    assert log.entry(13) is None
    assert log.data.starts == [0, 512, 1024]
    log.append(7, body_of(99))
    assert state(opened(log.disk)) == state(log) == (0, 0, 13, 7, 1024 + 2 * 82)
    log.cut(-1)
    assert state(log) == state(opened(log.disk)) == (0, 0, -1, -1, 0)


def test_entries_truncated_during_a_sync_are_not_synced() -> None:
    log = filled(10)
    work = log.unsynced()
    assert work is not None
    log.cut(4)
    log.append(9, body_of(50))
    work.sync()
    log.note_synced(work)
    assert log.synced_index == 4
    assert synced(log).synced_index == 5


def test_opened_log_is_synced_except_the_last_two_files() -> None:
    log = opened(filled(20).disk)  # type: ignore[arg-type]
    assert log.data.starts == [0, 512, 1024, 1536]
    assert log.synced_index == 11
    work = log.unsynced()
    assert work is not None
    assert len(work.files) == 2 + len(log.index.between(12 * 32, 20 * 32))
    log.note_synced(work)
    assert log.synced_index == 19
    assert log.unsynced() is None
    assert opened(filled(3).disk).synced_index == -1  # type: ignore[arg-type]


@pytest.mark.parametrize("position", [2048, 2048 + 100])
def test_reset(position: int) -> None:
    log = filled(20)
    log.reset(7, position)
    assert state(log) == (7, position, 6, -1, position)
    log.append_entry(Entry(7, 4, position, body_of(7)))
    log.append(4, body_of(8))
    assert log.data.starts == [2048]
    assert bodies(log) == [body_of(7), body_of(8)]
    again = opened(synced(log).disk.crash(1))
    assert state(again) == state(log)
    assert bodies(again) == bodies(log)


def test_old_files_go() -> None:
    log = filled(20)
    log.drop_files(2)
    assert state(log) == (12, 1024, 19, 2, 1536 + 164)
    assert log.entry(11) is None
    assert log.index.starts == [384, 512]
    assert state(opened(log.disk)) == state(log)
    log.drop_files(9)
    assert log.data.starts == [1536]


def test_term_vote_and_progress() -> None:
    log = filled(3)
    log.keep_vote(4, "n2")
    log.note_committed(2)
    log.save_progress()
    again = opened(log.disk)
    assert (again.term, again.vote, again.committed_index) == (4, "n2", 2)
    again.cut(0)
    assert opened(again.disk).committed_index == 0


@pytest.mark.parametrize("path", ["data", "index"])
@pytest.mark.parametrize("call", ["write", "open"])
def test_a_write_that_fails_moves_nothing(path: str, call: str) -> None:
    log = filled(12)  # the next one begins a file of both
    before = state(log)
    fault = log.disk.fail_next(call, f"{FOLDER}/{path}", errno.ENOSPC)  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="No space"):
        log.append(2, body_of(12))
    assert fault.has_hit
    assert state(log) == state(opened(log.disk)) == before
    log.append(2, body_of(12))
    assert bodies(log) == bodies(opened(log.disk)) == [body_of(number) for number in range(13)]


def test_damage_is_reported_where_it_is_read() -> None:
    log = filled(6)
    log.disk.open(f"{FOLDER}/data/{0:020d}").write(82, b"\xff")
    with pytest.raises(CorruptFile, match="entry 1 is not there"):
        log.entries(0, 1000)


class History:
    """Changes of a log on a disk that loses power, and the entries that must survive."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.disk = empty_disk()
        self.log = opened(self.disk)
        self.ever: dict[int, set[tuple[int, bytes]]] = {}
        self.now: list[tuple[int, bytes]] = []
        self.promised = 0
        self.vote = {(0, "")}
        self.term = 1

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.7:
            body = body_of(self.random.randrange(1 << 30), self.random.choice((1, 10, 60, 200)))
            self.ever.setdefault(len(self.now), set()).add((self.term, body))
            self.log.append(self.term, body)
            self.now.append((self.term, body))
        elif choice < 0.85:
            work = self.log.unsynced(thorough=self.random.random() < 0.2)
            if work is not None:
                work.sync()
                self.log.note_synced(work)
            self.promised = self.log.synced_index + 1
        elif choice < 0.93 and self.now:
            keep = self.random.randrange(max(0, len(self.now) - 8), len(self.now))
            self.promised = min(self.promised, keep)
            self.log.cut(keep - 1)
            del self.now[keep:]
            self.term += 1
        else:
            self.vote.add((self.term, "n1"))
            self.log.keep_vote(self.term, "n1")
            self.vote = {(self.term, "n1")}

    def power_goes(self, seed: int) -> None:
        self.disk = self.disk.crash(seed)
        self.log = opened(self.disk)
        log = self.log
        assert (log.term, log.vote) in self.vote
        found = [(each.term, each.body) for each in log.entries(0, 1 << 30)]
        while len(found) <= log.end_index:
            found += [(each.term, each.body) for each in log.entries(len(found), 1 << 30)]
        assert found[: self.promised] == self.now[: self.promised]
        for index, each in enumerate(found):
            assert each in self.ever[index], index
        assert [term for term, _ in found] == sorted(term for term, _ in found)
        self.now = found
        self.vote = {(log.term, log.vote)}


@pytest.mark.parametrize("seed", range(60))
def test_power_cuts_lose_nothing_that_was_synced(seed: int) -> None:
    history = History(seed)
    for life in range(4):
        history.disk.cut_at = history.disk.operations + history.random.randrange(20, 120)
        with contextlib.suppress(PowerCut):
            history.live(60)
        history.power_goes(100 * seed + life)


def test_after_a_clean_stop_only_entries_after_the_noted_end_are_read() -> None:
    log = synced(filled(60))
    log.save_progress()
    disk = log.disk
    seen: list[int] = []

    def look(body: bytes, position: int) -> bool:
        seen.append(position)
        return is_whole(body, position)

    again = FileLog(disk, FOLDER, SIZE, INDEX_SIZE, look, clean=True)
    assert (state(again), len(seen)) == (state(log), 1)
    assert bodies(again) == bodies(log)
    # An index that does not have it is not believed.
    disk.open(f"{FOLDER}/index/{again.index.starts[-1]:020}").truncate(0)
    seen.clear()
    assert state(FileLog(disk, FOLDER, SIZE, INDEX_SIZE, look, clean=True)) == state(log)
    assert len(seen) > 1


def test_an_entry_is_found_by_where_it_ends() -> None:
    log = filled(12)
    ends = [log.end_of(index)[0] for index in range(12)]
    assert [log.last_before(end) for end in ends] == list(range(12))
    assert [log.last_before(end - 1) for end in ends] == list(range(-1, 11))
    assert log.end_of(-1) == (0, -1)
