"""Resource commands of `mqgateway`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mqgateway.gateway.cli.main import main
from mqgateway.gateway.resources import ELSEWHERE, PLACES


def test_resource_alone_lists_its_commands() -> None:
    found = CliRunner().invoke(main, ["message"])
    assert found.exit_code == 0
    assert "message get " in found.output and "message tail " in found.output


def test_words_after_a_resource_are_passed_to_its_command() -> None:
    found = CliRunner().invoke(main, ["offset", "reset", "--help"])
    assert found.exit_code == 0 and found.output.startswith("usage: mqgateway offset reset GROUP TOPIC [")
    assert CliRunner().invoke(main, ["offset", "reset"]).exit_code == 2
    assert CliRunner().invoke(main, ["doctor"]).exit_code == 2


@pytest.mark.parametrize("name", ELSEWHERE)
def test_earlier_command_is_also_one_of_a_resource(name: str) -> None:
    found = CliRunner().invoke(main, [*name.split(), "--help"])
    assert found.exit_code == 0
    assert found.output.startswith(f"Usage: mqgateway {name} ")


def test_resource_that_runs_a_server_has_its_commands() -> None:
    text = " ".join(CliRunner().invoke(main, ["broker", "--help"]).output.split())
    for verb in ("list", "status"):
        about = PLACES[f"broker {verb}"].about
        assert f" {verb} {about[:1].upper()}{about[1:]}. " in text
    listed = CliRunner().invoke(main, ["broker", "list", "-h"])
    assert listed.output.startswith("usage: mqgateway broker list [")
    shown = CliRunner().invoke(main, ["broker", "-p", "--set", "listenPort=1234"])
    assert shown.exit_code == 0 and "listenPort=1234" in shown.output
