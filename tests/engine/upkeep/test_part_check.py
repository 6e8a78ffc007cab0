"""Compacted parts of a store that no broker has open."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.findings import StoreFinding, StorePart
from tests.support.engine.compaction import CompactedTopic
from tests.support.engine.store.stores import options
from tests.support.engine.upkeep.backups import Place


def findings(root: Path) -> list[StoreFinding]:
    """Return what a check finds in the compacted parts."""
    report = check_store(RealDisk(), options(store_path_root_dir=str(root)))
    return [one for one in report.findings.kept if one.part is StorePart.COMPACTED]


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """Return the compacted part of a store that was stopped."""
    place = Place(tmp_path)
    topic = CompactedTopic(place.open())
    for number in range(10):
        topic.add((b"%d" % (number % 3), b"x"))
    topic.wait()
    topic.store.stop()
    return place.root / "kafkacompaction" / "batched" / "0"


def change(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_sound_part_has_no_findings(part: Path) -> None:
    assert findings(part.parents[2]) == []


def test_damaged_record_is_found(part: Path) -> None:
    change(part, 150)
    [found] = findings(part.parents[2])
    assert (found.path, found.offset, found.what) == (str(part), 0, "damaged record")


def test_damaged_index_is_found(part: Path) -> None:
    change(part, part.stat().st_size - 50)
    [found] = findings(part.parents[2])
    assert found.path == str(part) and "checksum of the index" in found.what
