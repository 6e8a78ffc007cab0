"""Every benchmark is a command of `python -m bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bench.__main__ import GROUPS, main, summary

NAMES = [name for names in GROUPS.values() for name in names]


def test_help_lists_all_benchmarks_with_their_summaries() -> None:
    shown = " ".join(CliRunner().invoke(main, ["--help"]).output.split())
    for name in NAMES:
        assert f" {name} {summary(name)}" in shown


def test_every_module_with_a_command_is_listed() -> None:
    folder = Path(__file__).parents[2] / "bench"
    commands = {path.stem for path in folder.glob("*.py") if "@benchmark(" in path.read_text()}
    assert commands == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "spark"])  # it needs an extra
def test_help_of_a_benchmark_begins_with_its_summary(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"]).output
    assert f"{name} [OPTIONS]" in shown and f"Example: python -m bench {name} -" in shown
    assert summary(name) in " ".join(shown.split())


def test_unknown_name_is_refused() -> None:
    result = CliRunner().invoke(main, ["row"])
    assert result.exit_code == 2 and "No such command 'row'" in result.output


@pytest.mark.parametrize("words", [[], ["--row", "sync-64"]])
def test_options_without_a_name_are_those_of_messages(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    fake = click.Command("messages", params=[click.Option(["--row"])], callback=lambda row: given.append(row))
    monkeypatch.setattr("bench.messages.main", fake)
    assert CliRunner().invoke(main, words).exit_code == 0
    assert given == [words[-1] if words else None]


def test_help_imports_no_benchmark() -> None:
    program = "import sys, bench.__main__ as it; it.main(['--help'], standalone_mode=False); "
    program += "sys.exit('psutil' in sys.modules or 'twisted' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
