"""Calls of commands of click's."""

from __future__ import annotations

import click
import pytest

from mqgateway.gateway.cli.calling import call


@click.group()
def tool() -> None:
    """A tool."""


@tool.command()
@click.argument("count", type=int)
def work(count: int) -> None:
    if count == 3:
        raise click.ClickException("three is too many.")
    if count == 4:
        raise click.Abort
    raise SystemExit(count)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["work"], 2, "tool: error: Missing argument 'COUNT'; see 'tool work --help'\n"),
        (
            ["work", "x"],
            2,
            "tool: error: Invalid value for 'COUNT': 'x' is not a valid integer; see 'tool work",
        ),
        (["rest"], 2, "tool: error: No such command 'rest'; see 'tool --help'\n"),
        (["work", "3"], 1, "tool: error: three is too many\n"),
        (["work", "4"], 130, ""),
        (["work", "--help"], 0, ""),
    ],
)
def test_call_ends_with_the_code_and_error_of_all_commands(
    arguments: list[str], code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tool, arguments, "tool") == code
    assert capsys.readouterr().err.startswith(error)


def test_call_without_a_command_shows_the_help_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tool, [], "tool") == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("Usage: tool ")
