"""`mqgateway admin` is mqadmin."""

from __future__ import annotations

from click.testing import CliRunner

from mqgateway.gateway.cli.main import main


def test_arguments_are_passed_to_mqadmin() -> None:
    found = CliRunner().invoke(main, ["admin", "topicRoute", "-h"])
    assert found.exit_code == 0 and found.output.startswith("usage: mqadmin topicRoute [-h] [-l]")
    assert "updateTopic" in CliRunner().invoke(main, ["admin"]).output
    assert CliRunner().invoke(main, ["admin", "topicRoute"]).exit_code == 2
