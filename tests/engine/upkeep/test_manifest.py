"""The manifest of a backup: it is parsed as written, and every change of it is detected."""

import os
from pathlib import Path

import pytest

from mqgateway.engine.errors import StoreError
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.manifest import KeptFile, Manifest, Shapes, backups, copy, decode, load

FILE = KeptFile("commitlog/00000000000000000000", 4096, 100, "ab", 7)
MANIFEST = Manifest(
    "/store", 5, 4096, 0, 100, 1, 2, Shapes(200, 0, 16, 64), {"consumequeue": {"t": {"0": 3}}}, [FILE]
)


def test_decode_inverts_encode() -> None:
    assert decode(MANIFEST.encode(), "m") == MANIFEST
    assert MANIFEST.file(FILE.path) == FILE
    assert MANIFEST.file("other") is None


@pytest.mark.parametrize("number", range(0, len(MANIFEST.encode()), 7))
def test_every_change_is_seen(number: int) -> None:
    data = MANIFEST.encode()
    with pytest.raises(StoreError):
        decode(data[:number] + bytes([data[number] ^ 4]) + data[number + 1 :], "m")


def test_only_whole_backups_are_listed(tmp_path: Path) -> None:
    for name in ("b", "a", "c.partial", "empty"):
        (tmp_path / name).mkdir()
        if name != "empty":
            (tmp_path / name / "manifest.json").write_bytes(MANIFEST.encode())
    assert backups(RealDisk(), str(tmp_path)) == ["a", "b"]
    with pytest.raises(StoreError, match="not a backup"):
        load(RealDisk(), str(tmp_path / "empty"))


def test_a_copy_has_holes_where_there_are_zeros(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    data = b"x" * 100 + bytes(20 << 20) + b"y" * 100
    source.write_bytes(data)
    copy(RealDisk(), str(source), str(target), len(data), 32 << 20)
    assert target.read_bytes() == data.ljust(32 << 20, b"\0")
    assert os.stat(target).st_blocks * 512 < 16 << 20
