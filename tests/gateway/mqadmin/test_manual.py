"""The manual page."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.declaration import every
from mqgateway.gateway.mqadmin.manual import escaped, page
from tests.house.source import ROOT


def test_the_page_that_is_installed_is_made_of_the_commands_there_are() -> None:
    kept = (ROOT / "docs" / "mqadmin.1").read_text()
    assert kept == page(), "python -m mqgateway.gateway.mqadmin.manual > docs/mqadmin.1"


def test_every_command_has_its_options_there() -> None:
    shown = page()
    for command in every():
        start = shown.index(f".SS {command.name}\n")
        part = shown[start : shown.index("\n.S", start + 1)]
        assert part.count(".TP\n") == len(command.options), command.name
    assert "\\fB\\-\\-timeout\\fR \\fIvalue\\fR" in shown
    assert "\\fB\\-p\\fR, \\fB\\-\\-perm\\fR \\fI2|4|6\\fR" in shown
    assert "\\fB\\-bn\\fR, \\fB\\-\\-brokerName\\fR \\fIbroker\\fR\nbroker set (required)" in shown


def test_nothing_of_a_text_is_read_as_a_request() -> None:
    assert escaped(".TH x") == "\\&.TH x"
    assert escaped("a-b\\n") == "a\\-b\\en"
