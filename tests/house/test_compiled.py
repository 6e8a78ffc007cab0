"""Modules that can be compiled: those named in setup.py are there, no extension is older than its source."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine", "gateway")


def listed() -> list[str]:
    """The modules that setup.py names."""
    text = (ROOT / "setup.py").read_text()
    inside = text.partition("HOT_MODULES = [")[2].partition("]")[0]
    return [line.strip().strip('",') for line in inside.splitlines() if line.strip()]


@pytest.mark.parametrize("path", listed())
def test_a_listed_module_is_there(path: str) -> None:
    assert (ROOT / path).is_file()


def test_no_compiled_module_is_older_than_its_source() -> None:
    """An extension hides the source beside it: a change of the source would have no effect."""
    compiled = [path for package in PACKAGES for path in (ROOT / package).rglob("*.so")]
    sources = {path: path.with_name(path.name.partition(".")[0] + ".py") for path in compiled}
    stale = [str(path) for path, source in sources.items() if path.stat().st_mtime < source.stat().st_mtime]
    assert not stale, "run scripts/compile again, or scripts/compile --undo"
