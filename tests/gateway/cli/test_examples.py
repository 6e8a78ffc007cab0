"""Examples at the end of help; `tests/house/test_commands.py` holds that every command has one."""

import click
from click.testing import CliRunner

from mqgateway.gateway.cli.examples import examples


def test_help_shows_examples_a_line_each() -> None:
    command = click.Command("tool", epilog=examples("tool one", "tool two --long"))
    assert (
        CliRunner()
        .invoke(command, ["--help"])
        .output.endswith("Examples:\n    tool one\n    tool two --long\n")
    )
