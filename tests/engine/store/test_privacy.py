"""A store that other users may read is reported once, with the remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store.privacy import warn_if_others_may_read


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a store with a private log file and table, in a directory that is not private."""
    root = tmp_path / "store"
    (root / "config").mkdir(parents=True)
    for file in (root / "00000000000000000000", root / "config" / "topics.json"):
        file.touch()
        file.chmod(0o600)
    root.chmod(0o755)
    return root


def test_private_files_are_not_worth_a_line(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_if_others_may_read(RealDisk(), str(root), [str(root / "00000000000000000000")])
    assert caplog.messages == []


@pytest.mark.parametrize("name", ["00000000000000000000", "config/topics.json"])
def test_readable_file_is_named_in_warning(root: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    os.chmod(root / name, 0o644)
    warn_if_others_may_read(RealDisk(), str(root), [str(root / "00000000000000000000")])
    (line,) = caplog.messages
    assert line.startswith(str(root / name)) and f"chmod -R go-rwx {root}" in line


def test_private_folder_hides_what_it_holds(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.chmod(root / "config" / "topics.json", 0o644)
    root.chmod(0o700)
    warn_if_others_may_read(RealDisk(), str(root), [])
    assert caplog.messages == []
