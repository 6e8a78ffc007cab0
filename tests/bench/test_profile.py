"""Samples of perf, summed up by part of the server."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import profile
from bench.profile import Profile, section, shares

REPORT = """
# Overhead  Shared Object
    50.00%  libpython3.11.so.1.0
    20.00%  [kernel.kallsyms]
     1.00%  [vdso]
    12.50%  0123abcd__mypyc.cpython-311-x86_64-linux-gnu.so
     6.25%  native.cpython-311-x86_64-linux-gnu.so
     5.00%  libc.so.6
     0.25%  python3.11
"""


def test_parts_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=REPORT))
    assert shares(Path("it")) == pytest.approx(
        {
            "the system": 0.21,
            "interpreter": 0.5025,
            "compiled modules": 0.125,
            "extension": 0.0625,
            "other libraries": 0.05,
        }
    )


def test_a_row_before_and_after_stand_together() -> None:
    parts = dict.fromkeys(profile.PARTS, 1.0)
    one = Profile("sql", "SQL", "b", "2026-01-02", True, 5.0, parts)
    two = Profile("sync-1", "one", "b", "2026-01-02", True, 7.0, parts)
    old = Profile("sync-1", "one", "a", "2026-01-01", True, 9.0, parts)
    lines = section([one, old, two])[-3:]
    assert [line.split(" | ")[1] for line in lines] == [
        "2026-01-01 a, compiled",
        "2026-01-02 b, compiled",
        "2026-01-02 b, compiled",
    ]
    assert lines[0].startswith("| one |") and "| 9.0 | 1.0 | 1.0 |" in lines[0]
