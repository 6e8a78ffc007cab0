"""tox environments are made once for each description of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.stages import environments
from scripts.stages.environments import DESCRIBED_BY, NotPrepared, prepare, unprepared

MAKE = "import pathlib, sys\nfor name in sys.argv[3].split(','):\n    " + (
    "path = pathlib.Path('.tox', name); path.mkdir(parents=True); (path / 'pyvenv.cfg').touch()"
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose tox makes empty environments."""
    for name in DESCRIBED_BY:
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(environments, "TOX", (sys.executable, "-c", MAKE))
    return tmp_path


def test_environments_are_made_once(root: Path) -> None:
    log = root / "log"
    assert prepare(root, ["lint", "unit", "lint"], log) == ["lint", "unit"]
    assert prepare(root, ["unit", "compat"], log) == ["compat"]
    assert prepare(root, ["lint", "unit", "compat"], log) == []


@pytest.mark.parametrize("name", DESCRIBED_BY)
def test_changed_description_makes_them_again(root: Path, name: str) -> None:
    prepare(root, ["lint"], root / "log")
    (root / name).write_text("changed")
    assert unprepared(root, ["lint"]) == ["lint"]


def test_removed_environment_is_made_again(root: Path) -> None:
    prepare(root, ["lint"], root / "log")
    (root / ".tox" / "lint" / "pyvenv.cfg").unlink()
    assert unprepared(root, ["lint"]) == ["lint"]


def test_failure_shows_the_output_and_leaves_no_stamp(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        environments, "TOX", (sys.executable, "-c", "print('no such package'); raise SystemExit(1)")
    )
    with pytest.raises(NotPrepared, match="no such package"):
        prepare(root, ["lint"], root / "log")
    assert unprepared(root, ["lint"]) == ["lint"]
