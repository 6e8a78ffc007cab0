"""Flags and error output common to all commands that run a service."""

import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import SettingProblem
from mqgateway.gateway.cli.service_flags import STARTED_AT, common_options, fail, process_start

PROBLEM = SettingProblem("a", "b", "no such property", file="f", line=3, severity="warning")


def test_every_service_has_these_flags() -> None:
    given: dict[str, object] = {}
    command = click.command()(common_options(lambda **flags: given.update(flags)))
    flags = ["--set", "a=1", "--set", "b=2", "--strict", "-p", "--bind", "::1", "--output", "json"]
    result = CliRunner().invoke(command, [*flags, "--log-level", "error"])
    assert result.exit_code == 0, result.output
    assert given == {
        "pairs": ("a=1", "b=2"),
        "strict": True,
        "print_config": True,
        "bind": "::1",
        "output": "json",
        "log_level": "error",
        "log_dir": None,
    }


def test_wrong_settings_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        fail(["no such file"], "text")
    assert end.value.code == 2
    assert capsys.readouterr().err == "mqgateway: error: no such file\n"


def test_a_problem_is_a_line_or_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "json"):
        with pytest.raises(SystemExit):
            fail([PROBLEM], form)
    text, strict, form, _ = capsys.readouterr().err.splitlines()
    assert strict.startswith("mqgateway: error: not started because of these warnings and --strict")
    assert text == "mqgateway: warning: f:3: a=b: no such property"
    assert json.loads(form)["line"] == 3


def test_the_process_began_before_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert process_start() <= SystemClock().monotonic()
    monkeypatch.setenv(STARTED_AT, "no time")
    assert process_start() <= SystemClock().monotonic()


def test_the_process_began_when_it_was_started() -> None:
    """The start time is exact to 10 ms, the kernel's unit, not to the second of the machine's boot time."""
    script = "from mqgateway.gateway.cli.service_flags import process_start; print(process_start())"
    environment = {name: value for name, value in os.environ.items() if name != STARTED_AT}
    before = SystemClock().monotonic()
    output = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert before - 0.02 < float(output.stdout) < SystemClock().monotonic()


def test_work_of_a_script_before_the_start_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installing takes a minute on first use, in the same process."""
    clock = SystemClock()
    before = clock.monotonic()
    monkeypatch.setenv(STARTED_AT, f"{clock.millis() / 1000:.3f}")
    assert abs(process_start() - before) < 1
    monkeypatch.setenv(STARTED_AT, f"{clock.millis() / 1000 + 3600:.3f}")
    assert process_start() <= clock.monotonic(), "a clock that was set back"
