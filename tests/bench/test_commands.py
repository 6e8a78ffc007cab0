"""Costs of command calls, measured on calls that were made."""

from __future__ import annotations

import sys

import pytest

from bench.commands import Calls, measured, modules_of, section


def test_calls_are_made_and_counted() -> None:
    found = measured("a", [sys.executable, "-I", "-S", "-c", "print(1)"], 3, 7)
    assert (found.title, found.calls, found.modules) == ("a", 3, 7)
    assert 0 < found.p50_ms <= found.p99_ms
    with pytest.raises(RuntimeError, match=r"a: nothing"):
        measured("a", [sys.executable, "-I", "-S", "-c", "raise SystemExit('nothing')"], 1)


def test_modules_are_counted_at_the_end() -> None:
    assert modules_of("import json") > modules_of("pass") > 10


def test_the_table_has_a_line_for_each() -> None:
    lines = section([Calls("`x`", 100, 50.4, 80.6, 40.1, 120), Calls("Apache's", 5, 1000, 1200, 1500, None)])
    assert lines[-2:] == ["| `x` | 100 | 50 | 81 | 40 | 120 |", "| Apache's | 5 | 1000 | 1200 | 1500 |  |"]
