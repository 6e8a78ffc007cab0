"""`mqgateway pipeline`: flags, errors and reports, without Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli import pipeline as commands
from mqgateway.gateway.cli.main import main
from mqgateway.pipeline.errors import DataLoss, PipelineError
from mqgateway.pipeline.jobs.report import Report


class Session:
    """A stand-in for a Spark session."""

    stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Arguments of the jobs, which are replaced and need no Spark."""
    calls: dict[str, Any] = {"session": Session()}

    def new_session(name: str, master: str, settings: dict[str, str]) -> Session:
        calls["spark"] = (master, settings)
        session: Session = calls["session"]
        return session

    session = ModuleType("mqgateway.pipeline.jobs.session")
    session.new_session = new_session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mqgateway.pipeline.jobs.session", session)
    for module, name in (
        ("archive", "archive"),
        ("replay", "replay"),
        ("orders", "count_orders"),
        ("traffic", "traffic"),
    ):
        job = ModuleType(f"mqgateway.pipeline.jobs.{module}")

        def run(session: Any, *args: Any, kind: str = module, **given: Any) -> Report:
            calls["job"] = (kind, args, given)
            if "failure" in calls:
                raise calls["failure"]
            return Report(kind, rows=3, batches=1, seconds=1.5)

        setattr(job, name, run)
        monkeypatch.setitem(sys.modules, f"mqgateway.pipeline.jobs.{module}", job)
    return calls


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["pipeline", *arguments])


def test_archive(calls: dict[str, Any]) -> None:
    result = run(
        "archive", "T", "/out", "-n", "a:1", "--option", "maxOffsetsPerTrigger=9", "--conf", "spark.x=1"
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 3
    kind, args, given = calls["job"]
    assert (kind, args[1]) == ("archive", "/out")
    assert args[0] == {"nameServer": "a:1", "topic": "T", "maxOffsetsPerTrigger": "9"}
    assert given["trigger_seconds"] is None and calls["spark"] == ("local[*]", {"spark.x": "1"})
    assert calls["session"].stopped


def test_archive_by_pattern_and_without_end(calls: dict[str, Any]) -> None:
    assert run("archive", "or.*", "/out", "--pattern", "--follow", "5", "--quiet").exit_code == 0
    _, args, given = calls["job"]
    assert args[0]["topicPattern"] == "or.*" and given["trigger_seconds"] == 5.0
    given["notify"]("nothing is shown")


def test_the_other_jobs(calls: dict[str, Any], tmp_path: Path) -> None:
    assert run("replay", "/out", "T2", "--speed", "2", "--day", "2026-01-02").exit_code == 0
    kind, args, given = calls["job"]
    assert (kind, args[0], args[1]["topic"], given["speed"]) == ("replay", "/out", "T2", 2.0)
    assert run("orders", "T", "/out", "stats", "--rejects", "bad").exit_code == 0
    kind, args, given = calls["job"]
    assert (kind, args[1:], given["rejects_topic"]) == ("orders", ("/out", "stats"), "bad")
    report = tmp_path / "report.json"
    assert run("traffic", str(tmp_path), "--step", "hour", "--report", str(report)).exit_code == 0
    assert calls["job"][2]["step"] == "hour" and json.loads(report.read_text())["job"] == "traffic"


def test_a_failure_is_one_line(calls: dict[str, Any]) -> None:
    calls["failure"] = RuntimeError(
        f"Job aborted\n  at x\nmqgateway.pipeline.errors.DataLoss: {DataLoss('gone')}\n"
    )
    result = run("archive", "T", "/out")
    assert result.exit_code == 1
    starting, ready, error = result.stderr.splitlines()
    assert starting == "starting Spark at local[*]" and ready.startswith("Spark is ready after ")
    assert error.startswith("mqgateway: error: gone. Some data")
    assert calls["session"].stopped


def test_a_sentence_is_found_in_the_middle_of_a_line() -> None:
    text = "[PYTHON_ERROR] Failed to plan: pipeline.errors.BadOption: option x='1': no\n SQLSTATE: 38000"
    assert commands.brief(RuntimeError(text)) == "option x='1': no"


def test_a_session_that_cannot_begin_says_why(calls: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PipelineError("PYSPARK_PYTHON=x cannot load it")

    monkeypatch.setattr(sys.modules["mqgateway.pipeline.jobs.session"], "new_session", refuse)
    result = run("archive", "T", "/out")
    assert result.exit_code == 1 and "error: PYSPARK_PYTHON=x cannot load it" in result.stderr


def test_wrong_pairs_are_refused(calls: dict[str, Any]) -> None:
    result = run("archive", "T", "/out", "--option", "x")
    assert result.exit_code != 0 and "x is not NAME=VALUE" in result.output


def test_without_spark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mqgateway.pipeline.jobs.session", None)
    result = run("archive", "T", "/out")
    assert result.exit_code == 1 and "pip install 'mqgateway[spark]'" in result.output


def test_errors_without_ours_are_cut() -> None:
    assert commands.brief(RuntimeError("a\n\nb\nc\nd")) == "a\nb\nc"
