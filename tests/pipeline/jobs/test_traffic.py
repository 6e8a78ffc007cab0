"""Committed offsets of groups, and their lag."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.pipeline.jobs.traffic import committed, lags


def test_offsets_are_read_as_brokers_write_them(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / ("0" * 20)).touch()
    assert committed(ReadOnlyDisk(), str(tmp_path)) == {}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "consumerOffset.json").write_text('{"offsetTable":{"t@g":{0:5,1:7},"u@g":{0:1}}}')
    found = committed(ReadOnlyDisk(), str(tmp_path))
    assert found == {("g", "t", 0): 5, ("g", "t", 1): 7, ("g", "u", 0): 1}


def test_the_farthest_behind_comes_first() -> None:
    offsets = {("g", "t", 0): 5, ("g", "t", 1): 7, ("h", "t", 0): 1, ("g", "u", 0): 1}
    assert lags(offsets, {("t", 0): 8, ("t", 1): 7}) == [
        {"group": "h", "topic": "t", "lag": 7},
        {"group": "g", "topic": "t", "lag": 3},
    ]
