"""Copies have the same bytes, and the same holes."""

from pathlib import Path

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.upkeep.copies import CHUNK_SIZE, copy_file, copy_folder


def test_holes_stay_holes(tmp_path: Path) -> None:
    path, target = tmp_path / "one", tmp_path / "deep" / "two"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(3 * CHUNK_SIZE + 7)
        file.write(b"end")
        file.truncate(9 * CHUNK_SIZE)
    copy_file(RealDisk(), str(path), str(target))
    assert target.read_bytes() == path.read_bytes()
    assert target.stat().st_blocks <= path.stat().st_blocks + 2 * CHUNK_SIZE // 512


def test_chunks_may_be_changed(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"abc")

    def change(data: bytearray) -> None:
        data[1] = ord("x")

    (tmp_path / "two").write_bytes(b"longer than that")
    copy_file(RealDisk(), str(tmp_path / "one"), str(tmp_path / "two"), change)
    assert (tmp_path / "two").read_bytes() == b"axc"


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c"):
        (tmp_path / "one" / name).write_text(name)
    copy_folder(RealDisk(), str(tmp_path / "one"), str(tmp_path / "two"), lambda name: name == "b")
    assert sorted(path.name for path in (tmp_path / "two").rglob("*")) == ["a", "c", "deep"]
    copy_folder(RealDisk(), str(tmp_path / "none"), str(tmp_path / "three"), lambda _: False)
    assert not (tmp_path / "three").exists()
