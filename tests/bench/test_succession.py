"""Runs of sets that get another master: kept, made in pieces, and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench import succession
from bench.succession_runs import OtherMachine, Runs, p99

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with runs that take no time; each third one fails."""
    turns: list[str] = []

    def work(kind: str, folder: Path) -> dict[str, float]:
        turns.append(kind)
        if len(turns) % 3 == 0:
            raise TimeoutError("java is not up within 60 s")
        names = [name for name, _ in succession.COLUMNS["kill"]]
        return dict.fromkeys(names, 100.0 * len(turns))

    monkeypatch.setitem(succession.WORKS, "kill", work)

    def run(*words: str) -> Result:
        kept = str(tmp_path / "runs.json")
        return CliRunner().invoke(succession.main, ["--row", "kill", "--json", kept, *words])

    return run


def test_run_that_fails_is_reported_and_the_others_continue(run: Run) -> None:
    said = run("--pairs", "2")
    assert said.exit_code == 0, said.output
    assert "kill 2/2 ours" in said.output
    assert "FAILED: TimeoutError: java is not up within 60 s" in said.output
    assert "| kill | sends again, ms | 200 (200; 1 runs, 1 failed) | 250 (400; 2 runs) |" in said.output


def test_runs_are_made_in_parts(run: Run, tmp_path: Path) -> None:
    page = str(tmp_path / "page.md")
    run("--pairs", "1")
    said = run("--pairs", "3", "--page", page)
    assert "kill 1/3" not in said.output and "kill 3/3 ours" in said.output
    kept = json.loads((tmp_path / "runs.json").read_text())
    count = {
        kind: len(kept["parts"]["kill"][kind]) + len(kept["failed"]["kill"][kind])
        for kind in ("apache", "ours")
    }
    assert count == {"apache": 3, "ours": 3}
    assert "## Another master" in Path(page).read_text()
    assert "kill 3/3" not in run("--pairs", "3").output


def test_no_run_begins_when_time_is_up(run: Run) -> None:
    said = run("--seconds", "-1")
    assert "time is up" in said.output and said.exit_code == 0


def test_both_take_turns() -> None:
    runs = Runs(["kill"], None, "here")
    turns = []
    while (kind := runs.next("kill", 2)) is not None:
        turns.append(kind)
        runs.take("kill", kind, {})
    assert turns == ["apache", "ours", "ours", "apache"]


def test_runs_of_another_machine_are_not_mixed_with_these(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    Runs(["kill"], path, "there").take("kill", "ours", {})
    with pytest.raises(OtherMachine, match="there"):
        Runs(["kill"], path, "here")


def test_p99_of_few_is_the_greatest() -> None:
    assert p99([3, 1, 2]) == 3
    assert p99(range(1, 201)) == 198
