"""Records at other positions, and a log that is copied file by file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.raft.files.properties import MemberProperties
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.record import decode, examine, fill_crc, with_room_for_crc
from mqgateway.engine.upkeep.convert_log import LogCopy
from mqgateway.engine.upkeep.convert_records import moved
from mqgateway.engine.upkeep.convert_transactions import TransactionOutcomes
from mqgateway.engine.upkeep.findings import Findings
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.ledger import LedgerFiles, find_log
from mqgateway.engine.upkeep.ledger_walk import LedgerWalk
from mqgateway.engine.upkeep.walk import LogWalk
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk, records_of
from tests.support.engine.upkeep.damage import filled


def fields_of_record(record: bytes) -> tuple[object, ...]:
    """Return the content of a record, without its position."""
    message = decode(record)
    place = message.topic, message.queue_id, message.queue_offset
    return (*place, message.body, message.properties, message.store_timestamp, message.size)


def test_a_record_elsewhere() -> None:
    record = records_of(filled(10), [f"{0:020d}"])[3]
    elsewhere = moved(record, 7_000_000)
    assert examine(elsewhere, 0, 7_000_000, True) == len(record)
    assert fields_of_record(elsewhere) == fields_of_record(record)


def test_checksum_of_a_whole_batch_is_computed_again() -> None:
    disk = filled(10, enabled_append_prop_crc=True)
    record = records_of(disk, [f"{0:020d}"])[3]
    assert record == fill_crc(record)
    elsewhere = moved(record, 7_000_000)
    assert elsewhere[-11:] != record[-11:]
    assert examine(elsewhere, 0, 7_000_000, True) == len(record)
    assert len(with_room_for_crc(b"")) == 20


def test_it_continues_where_it_was_and_forgets_what_was_not_noted(tmp_path: Path) -> None:
    settings = onto_real_disk(into_ledger(filled(80), 1), tmp_path)
    disk = RealDisk()
    files = find_log(Layout(disk, settings), Findings())
    assert isinstance(files, LedgerFiles)
    root = str(tmp_path / "new")

    def walk_of(part: LedgerFiles, shown: Callable[[int, int], None] = lambda *_: None) -> LogWalk:
        return LedgerWalk(part, Findings(), MemberProperties(), lambda _: True, shown)

    outcomes = TransactionOutcomes(lambda: walk_of(files))

    class Stopped(Exception):
        pass

    def copied(stop_at: int = -1) -> LogCopy:
        log = FileQueue(FilePool(disk), f"{root}/commitlog", files.file_size)
        copy = LogCopy(disk, root, "source", files, log, outcomes, False)

        def walk_since(part: LedgerFiles) -> LogWalk:
            seen.append(part.starts[0] if part.starts else -1)
            return walk_of(part, lambda done, _: stop(done))

        def stop(done: int) -> None:
            if stop_at >= 0 and done >= stop_at:
                raise Stopped

        copy.take(walk_since)
        return copy

    seen: list[int] = []
    with pytest.raises(Stopped):
        copied(8192)
    later = Path(f"{root}/commitlog/{1 << 20:020d}")
    later.write_bytes(bytes(files.file_size))
    whole = copied()
    assert seen == [0, 8192 - 4096]
    assert whole.next_file == files.starts[-1]
    assert not later.exists()
    assert copied().end == whole.end
    assert seen[2] == files.starts[-1]
    with pytest.raises(StoreUnavailable, match="is of another store, source: remove it"):
        log = FileQueue(FilePool(disk), f"{root}/commitlog", 1)
        LogCopy(disk, root, "another", files, log, outcomes, False)
