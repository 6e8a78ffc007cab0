"""Shared options of benchmarks, the file of figures, and sections of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from bench.frame import Invocation, benchmark, write_section


class Row(NamedTuple):
    name: str


ROWS = (Row("first"), Row("second"))
CALLS: list[tuple[Invocation, int]] = []


@benchmark("it --row first", rows=[row.name for row in ROWS], pairs=3, is_scaled=True, is_kept=True)
@click.option("--topics", default=7)
def full(given: Invocation, topics: int) -> None:
    """Measure it."""
    CALLS.append((given, topics))


@benchmark("it --page page.md")
def plain(given: Invocation) -> None:
    """Measure it."""
    given.save(rows=[1])
    given.write("it", ["## It", "", "[1]"])


@pytest.fixture(autouse=True)
def calls() -> None:
    CALLS.clear()


def test_options_reach_the_benchmark(tmp_path: Path) -> None:
    words = ["--row", "second", "--pairs", "5", "--scale", "0.5", "--topics", "2", "--no-run"]
    files = ["--json", str(tmp_path / "it.json"), "--page", str(tmp_path / "it.md")]
    assert CliRunner().invoke(full, [*words, *files]).exit_code == 0
    [(given, topics)] = CALLS
    assert (given.names, given.pairs, given.scale, topics, given.no_run) == (("second",), 5, 0.5, 2, True)
    assert (given.json_path, given.page_path) == (tmp_path / "it.json", tmp_path / "it.md")
    assert given.select(ROWS) == [ROWS[1]] and not given.selects("first")


def test_defaults_select_all_rows() -> None:
    assert CliRunner().invoke(full, []).exit_code == 0
    [(given, topics)] = CALLS
    assert (given.pairs, given.scale, topics, given.no_run) == (3, 1.0, 7, False)
    assert given.select(ROWS) == list(ROWS) and given.json_path is None and given.page_path is None


@pytest.mark.parametrize("option", ["--row", "--pairs", "--scale", "--no-run"])
def test_a_benchmark_has_the_options_of_its_declaration(option: str) -> None:
    assert option in CliRunner().invoke(full, ["--help"]).output
    assert option not in CliRunner().invoke(plain, ["--help"]).output


def test_help_ends_with_the_example() -> None:
    assert (
        CliRunner().invoke(plain, ["--help"]).output.endswith("Example: python -m bench it --page page.md\n")
    )


def test_figures_and_sections_are_written(tmp_path: Path) -> None:
    figures, page = tmp_path / "it.json", tmp_path / "it.md"
    result = CliRunner().invoke(plain, ["--json", str(figures), "--page", str(page)])
    assert result.output == "## It\n\n[1]\n"
    assert "## It\n\n[1]\n\n<!-- end of it -->" in page.read_text()
    kept = json.loads(figures.read_text())
    assert kept["rows"] == [1] and kept.keys() == {"machine", "date", "commit", "compiled", "rows"}


def test_a_section_is_replaced_in_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for name, text in (("a", "one"), ("b", "two"), ("a", r"three \1")):
        write_section(page, name, [text])
    text = page.read_text()
    assert "one" not in text and text.index(r"three \1") < text.index("two")
    assert text.startswith("# Benchmarks\n") and text.count("<!-- end of a -->") == 1
