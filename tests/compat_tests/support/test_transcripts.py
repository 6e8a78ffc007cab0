"""Kept transcripts of Apache's servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat_tests.support import transcripts
from compat_tests.support.record import digest_of
from compat_tests.support.transcripts import TRANSCRIPTS, Transcripts, plain

MODULE, STEM = "compat_tests.test_lite", "test_lite"


class Servers:
    """Records which servers did the work."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, kind: str) -> Any:
        self.asked.append(kind)
        return [(kind, b"\0")]


def both(folder: Path, title: str = "first", **options: bool) -> tuple[list[str], tuple[Any, Any]]:
    """Return the servers that did the work, and both transcripts."""
    servers = Servers()
    return servers.asked, Transcripts(folder, **options).both(MODULE, title, servers)


def test_a_kept_transcript_is_used(tmp_path: Path) -> None:
    """Apache's server works once; values are the same from the file and from the server."""
    assert both(tmp_path) == both(tmp_path, is_recording=True)
    expected = ([["apache", repr(b"\0")]], [["ours", repr(b"\0")]])
    assert both(tmp_path) == (["ours"], expected)
    assert both(tmp_path, is_apache_asked=True) == (["apache", "ours"], expected)
    assert both(tmp_path, "second")[0] == ["apache", "ours"]


def test_transcripts_of_other_sources_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are dropped when a new one is kept."""
    both(tmp_path, is_recording=True)
    monkeypatch.setattr(transcripts, "digest_of", lambda stem: "changed")
    assert both(tmp_path)[0] == ["apache", "ours"]
    both(tmp_path, "second", is_recording=True)
    assert list(json.loads((tmp_path / f"{STEM}.json").read_text())["transcripts"]) == ["second"]


def test_plain_values_are_as_json_has_them() -> None:
    assert plain({1: (b"a", None)}) == {"1": ["b'a'", None]}


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.json")), ids=lambda path: path.stem)
def test_kept_transcripts_are_of_the_sources_of_today(path: Path) -> None:
    """A stale transcript makes Apache's server run in every run of the suite; record it again."""
    assert json.loads(path.read_text())["digest"] == digest_of(path.stem)
