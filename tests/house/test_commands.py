"""All commands have one form: a summary sentence and an example in their help, errors on standard error, exit
codes that are documented."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mqgateway.gateway.cli.calling import call
from mqgateway.gateway.cli.container import mqbrokercontainer
from mqgateway.gateway.cli.controller import mqcontroller
from mqgateway.gateway.cli.main import main, mqbroker, mqnamesrv
from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.declaration import Command, every
from mqgateway.gateway.mqadmin.main import Surroundings, Tool
from mqgateway.gateway.mqadmin.parsing import parse
from mqgateway.gateway.mqadmin.usage import help_of
from mqgateway.gateway.resources import ABOUT, CATALOGUE
from tests.house.source import ROOT

DECLARED = [(catalogue, command) for catalogue in (MQADMIN, CATALOGUE) for command in every(catalogue)]
HIDDEN_FORMS = re.compile(r"""echo\(\s*f?["']error|["'](error|Error): """)


def _of_click(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if name != "mqgateway" and name.split()[1] in {*ABOUT, "admin"} - {"broker"}:
        return  # a door to commands that are declared
    if name.startswith("mqgateway broker "):
        return
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for one in command.list_commands(context):
            found = command.get_command(context, one)
            assert found is not None
            yield from _of_click(found, f"{name} {one}")


CLICKS = [
    *_of_click(main, "mqgateway"),
    *((one.name or "", one) for one in (mqbroker, mqnamesrv, mqbrokercontainer, mqcontroller)),
]


@pytest.mark.parametrize(("name", "command"), CLICKS, ids=[name for name, _ in CLICKS])
def test_command_help_has_a_summary_and_an_example(name: str, command: click.Command) -> None:
    summary = (command.help or "").split("\n\n")[0]
    assert re.match(r"[A-Z][^\n]*[.:]", summary.replace("\n", " ")), summary
    shown = (command.epilog or "").partition("Examples:")[2]
    assert re.search(r"\n  .*\b(mqgateway|mq[a-z]+) ", shown), "no example"


def _ids(one: tuple[Catalogue, Command]) -> str:
    return f"{one[0].program} {one[1].name}"


@pytest.mark.parametrize("one", DECLARED, ids=_ids)
def test_declared_command_help_has_a_summary_and_examples_that_can_be_parsed(
    one: tuple[Catalogue, Command],
) -> None:
    catalogue, command = one
    lines = help_of(command, catalogue).splitlines()
    about = catalogue.places[command.name].about
    assert any(line.startswith(f"{about[:1].upper()}{about[1:40]}") for line in lines)
    at = next(number for number, line in enumerate(lines) if line in ("Example:", "Examples:"))
    for line in lines[at + 1 :]:
        program, *words = shlex.split(line)
        name, rest = catalogue.split(words)
        assert (program, name) == (catalogue.program, command.name)
        parse(rest, command.options)


@pytest.mark.parametrize("one", DECLARED, ids=_ids)
def test_declared_command_rejects_an_unknown_option_on_standard_error(
    one: tuple[Catalogue, Command],
) -> None:
    catalogue, command = one
    out: list[str] = []
    err: list[str] = []
    around = Surroundings(out.append, err.append, environment={})
    assert Tool(around, catalogue).run([*command.name.split(), "--no-such-option"]) == 2
    expected = "".join(err)
    assert out == [] and expected.count("\n") == 1
    assert expected.startswith(f"{catalogue.program}: error: there is no option --no-such-option; see '")


@pytest.mark.parametrize(("name", "command"), CLICKS, ids=[name for name, _ in CLICKS])
def test_command_rejects_an_unknown_option_on_standard_error(
    name: str, command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(command, ["--no-such-option"], name) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith(f"{name.split()[0]}: error: No such option '--no-such-option'")
    assert captured.err.endswith(f"; see '{name} --help'\n")


def test_help_lists_every_command_below_one_subject() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    for name in main.list_commands(click.Context(main)):
        assert len(re.findall(rf"^  {name} +[A-Z]", text, re.MULTILINE)) == 1, name


@pytest.mark.parametrize("folder", ["gateway/cli", "gateway/resources", "gateway/mqadmin"])
def test_no_command_makes_the_form_of_errors_itself(folder: str) -> None:
    for path in sorted(Path(ROOT, folder).rglob("*.py")):
        assert not HIDDEN_FORMS.search(path.read_text()), f"{path}: use gateway.cli.ending.complain"
