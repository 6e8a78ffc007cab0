"""Properties of every command declaration."""

from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.mqadmin.declaration import Command, GivenOptions, UsageError, every, find, flag
from mqgateway.gateway.mqadmin.parsing import parse
from mqgateway.gateway.mqadmin.usage import help_of


def test_commands_are_those_of_the_table() -> None:
    assert [one.name for one in every()] == list(PLACES)
    assert find("noSuchCommand") is None


@pytest.mark.parametrize("command", every(), ids=lambda one: one.name)
def test_a_command_can_be_called_and_explained(command: Command) -> None:
    """Its help names every option, and what it requires is enough."""
    shown = help_of(command)
    given: list[str] = []
    seen: set[str] = set()
    for one in command.options:
        assert f"--{one.long}" in shown
        name = f"-{one.letters}" if one.letters else f"--{one.long}"
        if one.required or (one.group and one.group not in seen):
            given += [name, "1"]
            seen.add(one.group)
    values = parse(given, command.options).values
    assert len(values) == len(given) // 2
    keys = [one.key for one in command.options]
    assert len(keys) == len(set(keys)), "two options with one name"
    about = PLACES[command.name].about
    assert about[0].islower() and not about.endswith(".")


def test_values_are_read_as_java_reads_them() -> None:
    given = GivenOptions({"t": " topic ", "r": " 8 ", "o": "TRUE", "x": "yes"})
    assert given.need("t") == "topic"
    assert given.number("r", 1) == 8 and given.number("w", 3) == 3
    assert given.truth("o") and not given.truth("x") and given.truth("missing", True)
    assert given.text("missing") is None


def test_missing_or_invalid_value_is_refused() -> None:
    with pytest.raises(UsageError, match="not a whole number: 'four'"):
        GivenOptions({"r": "four"}).number("r", 8)
    with pytest.raises(UsageError, match="missing: -t"):
        GivenOptions({}).need("t")


def test_options_without_letters_go_by_their_long_name() -> None:
    assert flag("", "attributes", "x").key == "attributes"
