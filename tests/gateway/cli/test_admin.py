"""`mqgateway admin` is mqadmin."""

from __future__ import annotations

from click.shell_completion import ShellComplete
from click.testing import CliRunner

from mqgateway.gateway.cli.main import main


def test_what_is_typed_reaches_mqadmin() -> None:
    found = CliRunner().invoke(main, ["admin", "topicRoute", "-h"])
    assert found.exit_code == 0 and found.output.startswith("usage: mqadmin topicRoute [-h] [-l]")
    assert "updateTopic" in CliRunner().invoke(main, ["admin"]).output
    assert CliRunner().invoke(main, ["admin", "topicRoute"]).exit_code == 2


def test_what_may_come_next_is_what_mqadmin_offers() -> None:
    shell = ShellComplete(main, {}, "mqgateway", "_MQGATEWAY_COMPLETE")

    def offered(*words: str) -> list[str]:
        return [one.value for one in shell.get_completions(["admin", *words[:-1]], words[-1])]

    assert offered("topicRo") == ["topicRoute"]
    assert offered("topicRoute", "--js") == ["--json"]
    assert offered("updateTopicPerm", "-p", "") == ["2", "4", "6"]
    found = shell.get_completions(["admin", "updateTopicList", "-f"], "to")
    assert [(one.value, one.type) for one in found] == [("to", "file")]
