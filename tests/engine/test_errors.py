"""Errors say where."""

from mqgateway.engine.errors import CorruptFile


def test_a_corrupt_file_names_path_and_offset() -> None:
    assert str(CorruptFile("commitlog/0", 91, "bad magic")) == "commitlog/0 at byte 91: bad magic"
