"""Commit-log files: every record in exactly one split, whatever is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.raft.files.entry import encode
from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.engine.store.record import blank
from mqgateway.pipeline import files
from mqgateway.pipeline.errors import BadOption, PipelineError
from mqgateway.pipeline.files import (
    Counts,
    DamagedBytes,
    FoundRecord,
    LogDirectory,
    Selection,
    Split,
    add_found,
    log_folders,
    scan,
    splits,
)
from mqgateway.pipeline.rows import Rows
from tests.support.engine.raft.ledgers import into_ledger, onto_real_disk, records_of
from tests.support.engine.upkeep.damage import filled
from tests.support.pipeline.records import batch, log, record

DISK = ReadOnlyDisk()
NAME = "0" * 20
ALL = Selection(frozenset(), False, True, True)


def written(path: Path, data: bytes, room: int = 1 << 16) -> Path:
    """Return a store with one file of the log."""
    folder = path / "commitlog"
    folder.mkdir(exist_ok=True, parents=True)
    with (folder / NAME).open("wb") as file:
        file.write(data)
        file.truncate(room)
    return path


def everything(path: Path, split_bytes: int) -> list[FoundRecord | DamagedBytes]:
    return [
        one
        for folder in log_folders(DISK, str(path))
        for split in splits(DISK, folder, split_bytes)
        for one in scan(DISK, split, True)
    ]


@pytest.mark.parametrize("split_bytes", [100, 333, 4096, 1 << 20])
def test_every_record_is_in_one_split(tmp_path: Path, split_bytes: int) -> None:
    records = log(60)
    store = written(tmp_path, b"".join(records) + blank(500))
    assert [one.data for one in everything(store, split_bytes) if isinstance(one, FoundRecord)] == records
    assert not [one for one in everything(store, split_bytes) if isinstance(one, DamagedBytes)]


@settings(max_examples=25)
@given(st.data())
def test_damage_costs_only_what_it_hits(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Of damaged records only the damage is reported; the others are found, whatever the splits."""
    records = log(30)
    broken = data.draw(st.sets(st.integers(0, 28), max_size=5))
    spoiled = [
        bytes(len(one))
        if number in broken and number % 2
        else (one[:90] + b"?" + one[91:] if number in broken else one)
        for number, one in enumerate(records)
    ]
    spoiled[29] = records[29]
    store = written(tmp_path_factory.mktemp("log"), b"".join(spoiled))
    found = everything(store, data.draw(st.sampled_from([150, 500, 5000])))
    assert [one.data for one in found if isinstance(one, FoundRecord)] == [
        one for number, one in enumerate(records) if number not in broken
    ]
    hit = {one.position for one in found if isinstance(one, DamagedBytes)}
    starts = {sum(map(len, records[:number])) for number in broken if not number % 2}
    if broken and all(number % 2 == 0 for number in broken):
        assert hit and hit <= starts


def test_record_larger_than_a_chunk_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    records = [record(0, b"a" * 5000)]
    records.append(record(1, b"b" * 3000, position=len(records[0])))
    store = written(tmp_path, b"".join(records))
    assert [one.data for one in everything(store, 700) if isinstance(one, FoundRecord)] == records


def test_log_folders_of_a_store(tmp_path: Path) -> None:
    written(tmp_path, b"")
    folder = str(tmp_path / "commitlog")
    here = [LogDirectory(str(tmp_path), folder)]
    assert log_folders(DISK, str(tmp_path)) == log_folders(DISK, folder) == here
    written(tmp_path / "data" / "store", b"")
    below = str(tmp_path / "data" / "store")
    assert log_folders(DISK, str(tmp_path / "data")) == [LogDirectory(below, f"{below}/commitlog")]
    with pytest.raises(BadOption, match="there are no commit-log files; give the broker's storePathRootDir"):
        log_folders(DISK, str(tmp_path / "nothing"))


def test_an_empty_log_has_no_splits(tmp_path: Path) -> None:
    (folder,) = log_folders(DISK, str(written(tmp_path, b"")))
    assert splits(DISK, folder, 100) == []


def test_record_across_the_end_of_a_split_is_read_whole(tmp_path: Path) -> None:
    """A record that crosses the end of its split is read whole; the next one is left to the next split."""
    records = log(3)
    store = written(tmp_path, b"".join(records))
    path = str(store / "commitlog" / NAME)
    split = Split(path, 0, 0, len(records[0]) + 5)
    assert [one.data for one in scan(DISK, split, True) if isinstance(one, FoundRecord)] == records[:2]


def test_add_found_adds_rows_and_counts() -> None:
    rows, counts = Rows(), Counts()
    for number, topic in enumerate(("t", "SCHEDULE_TOPIC_XXXX", "u")):
        add_found(rows, FoundRecord(0, record(number, topic=topic)), ALL, counts)
    add_found(rows, DamagedBytes(77, 10, "broken"), ALL, counts)
    assert rows.topics == [b"t", b"u", b""] and rows.notes == [None, None, "broken"]
    assert (counts.rows, counts.damages, counts.damaged_bytes) == (2, 1, 10)
    assert rows.heads[-1][6] == 77
    add_found(rows, FoundRecord(90, batch(7, [b"x", b"y"], position=90)), ALL, counts)
    assert rows.bodies[-2:] == [b"x", b"y"] and counts.rows == 4
    assert [(head[5], head[6]) for head in rows.heads[-2:]] == [(7, 90), (8, 90)]
    assert len(rows.topics) == len(rows.notes) == len(rows)


def test_selections() -> None:
    assert Selection(frozenset({"u"}), False, True, False).has("u")
    assert not Selection(frozenset({"u"}), True, True, False).has("t")
    assert Selection(frozenset(), True, True, False).has("SCHEDULE_TOPIC_XXXX")
    rows = Rows()
    add_found(rows, DamagedBytes(0, 1, "x"), ALL._replace(corrupt_rows=False), Counts())
    assert not len(rows)
    with pytest.raises(PipelineError, match=r"1 bytes at 0 of the log are not a record: x; .*skipCorrupt"):
        add_found(rows, DamagedBytes(0, 1, "x"), ALL._replace(skip_corrupt=False), Counts())


@pytest.mark.parametrize("older", [0, 1])
@pytest.mark.parametrize("split_bytes", [500, 4096, 1 << 20])
def test_the_entries_of_a_dledger_member(tmp_path: Path, split_bytes: int, older: int) -> None:
    disk = filled(80)
    names = disk.listdir("/store/commitlog")
    records = [data[:28] + data[36:] for data in records_of(disk, names)]
    root = onto_real_disk(into_ledger(disk, older), tmp_path).store_path_root_dir
    assert [folder.lead for folder in log_folders(DISK, root)] == [0] * older + [48]
    found = everything(Path(root), split_bytes)
    assert [one.data[:28] + one.data[36:] for one in found if isinstance(one, FoundRecord)] == records
    assert not [one for one in found if isinstance(one, DamagedBytes)]
    assert all(one.position == int.from_bytes(one.data[28:36], "big") for one in found)  # type: ignore[union-attr]


def test_damage_in_a_dledger_members_data(tmp_path: Path) -> None:
    root = Path(onto_real_disk(into_ledger(filled(80)), tmp_path).store_path_root_dir)
    before = everything(root, 4096)
    data = root / "dledger-n0" / "data" / NAME
    content = bytearray(data.read_bytes())
    content[before[2].position + 90] ^= 1
    data.write_bytes(content)
    found = everything(root, 4096)
    assert [one.position for one in found if isinstance(one, FoundRecord)] == [
        one.position for one in before if one is not before[2]
    ]
    (damage,) = [one for one in found if isinstance(one, DamagedBytes)]
    assert damage.position == before[2].position - 48


def test_old_entries_behind_a_members_end_are_left_out(tmp_path: Path) -> None:
    """Apache's members leave old entries there when they truncate their log."""
    disk = into_ledger(filled(80))
    root = Path(onto_real_disk(disk, tmp_path).store_path_root_dir)
    before = everything(root, 1 << 20)
    last = sorted((root / "dledger-n0" / "data").iterdir())[-1]
    content = bytearray(last.read_bytes())
    end = before[-1].position + len(before[-1].data) - int(last.name)  # type: ignore[union-attr]
    record = before[-1].data  # type: ignore[union-attr]
    place = int(last.name) + end + 40
    old = encode(9, 1, place, record[:28] + (place + 48).to_bytes(8, "big") + record[36:])
    content[end : end + 40 + len(old)] = b"x" * 40 + old
    last.write_bytes(content[:4096])
    assert everything(root, 1 << 20) == before
    (root / "dledger-n0" / "checkpoint").unlink()
    assert everything(root, 100) == before
