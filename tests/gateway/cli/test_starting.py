"""Commands that run one server read or print its settings, and report that it is up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import OptionSet, RemotingOptions, SettingProblem
from mqgateway.gateway.cli.boot import BootLine
from mqgateway.gateway.cli.starting import apply_given, say_ready, settings_to_run

GIVEN: dict[str, Any] = {
    "config": None,
    "pairs": (),
    "bind": None,
    "output": "text",
    "strict": False,
    "important": False,
    "print_config": False,
}


class Settings:
    """The settings of a server that only listens."""

    def __init__(self) -> None:
        self.options = OptionSet(RemotingOptions())


def read(given: dict[str, Any]) -> tuple[Settings, list[SettingProblem]]:
    settings = Settings()
    return settings, apply_given(settings.options, given, {"listenPort": given.get("port")})


def test_flags_win_over_pairs_and_pairs_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    file.write_text("listenPort=1\nuseTLS=true\nbindAddress=10.0.0.1\n")
    given = {
        **GIVEN,
        "config": str(file),
        "pairs": ("listenPort=2", "useTLS=false"),
        "port": 3,
        "bind": "::1",
    }
    settings = settings_to_run(given, read, [])
    assert settings is not None
    options = settings.options
    assert (options.get("listenPort"), options.get("useTLS"), options.get("bindAddress")) == (3, False, "::1")


def test_settings_that_are_printed_are_not_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings_to_run({**GIVEN, "important": True}, read, ["useTLS", "listenPort"]) is None
    assert capsys.readouterr().out == "useTLS=false\nlistenPort=10911\n"
    assert settings_to_run({**GIVEN, "print_config": True}, read, []) is None
    assert "useTLS=false" in capsys.readouterr().out


@pytest.mark.parametrize("pair", ["listenPort=many", "listenProt=1"])
def test_wrong_settings_end_the_process_if_they_are_strict(
    pair: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        settings_to_run({**GIVEN, "pairs": (pair,), "strict": True}, read, [])
    assert ended.value.code == 2
    assert pair.partition("=")[0] in capsys.readouterr().err


def test_settings_that_cannot_be_read_end_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(given: dict[str, Any]) -> tuple[Settings, list[SettingProblem]]:
        raise ConfigError("no such file")

    with pytest.raises(SystemExit) as ended:
        settings_to_run(GIVEN, refuse, [])
    assert ended.value.code == 2
    assert "no such file" in capsys.readouterr().err


def test_a_server_that_is_up_says_where_and_after_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    boot = BootLine("mqgateway.gateway.test", "The server boot success.")
    began = SystemClock().monotonic() - 1.5
    say_ready("text", {"server": "10.0.0.1:1"}, ["server       10.0.0.1:1"], boot, began)
    assert capsys.readouterr().out == "server       10.0.0.1:1\nThe server boot success.\nready in 1.50 s\n"
    say_ready("json", {"server": "10.0.0.1:1"}, [], boot, began)
    said = json.loads(capsys.readouterr().out)
    assert (said["server"], said["ready"], round(said["startedInSeconds"], 1)) == ("10.0.0.1:1", True, 1.5)
