"""Parsing of command lines."""

from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.declaration import CommandOption, UsageError, flag
from mqgateway.gateway.mqadmin.parsing import parse

OPTIONS = (
    CommandOption("t", "topic", "x", required=True),
    CommandOption("b", "brokerId", "x"),
    CommandOption("bn", "brokerName", "x"),
    CommandOption("o", "offset", "x"),
    flag("l", "list", "x"),
    CommandOption("", "attributes", "x"),
)


@pytest.mark.parametrize(
    "line",
    ["-t T", "--topic T", "-topic T", "--topic=T", "-t=T", "-tT", "--top T"],
)
def test_an_option_is_written_in_many_ways(line: str) -> None:
    assert parse(line.split(), OPTIONS).values == {"t": "T"}


def test_options_of_two_letters_are_no_option_of_one_with_a_value() -> None:
    given = parse(["-t", "T", "-bn", "broker-a", "-b", "2"], OPTIONS)
    assert given.values == {"t": "T", "bn": "broker-a", "b": "2"}


def test_numbers_below_zero_are_values() -> None:
    assert parse(["-t", "T", "-o", "-1"], OPTIONS).number("o", 0) == -1


def test_attributes_may_begin_with_a_dash() -> None:
    assert parse(["-t", "T", "--attributes", "-xyz"], OPTIONS).text("attributes") == "-xyz"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", r"missing: -t \(--topic\)"),
        ("-t", r"the option -t \(--topic\) needs a value"),
        ("-t -l", r"the option -t \(--topic\) needs a value"),
        ("-t T -z", "there is no option -z"),
        ("-t T --list=x", "takes no value: '--list=x'"),
        ("-t T more", "unexpected argument 'more'"),
        ("-t T --broker x", r"the option --broker is ambiguous: .* or "),
    ],
)
def test_invalid_command_line_is_refused(line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse(line.split(), OPTIONS)


def test_of_a_group_exactly_one_is_given() -> None:
    where = (
        CommandOption("b", "brokerAddr", "x", group="where"),
        CommandOption("c", "clusterName", "x", group="where"),
    )
    assert parse(["-b", "x"], where).values == {"b": "x"}
    with pytest.raises(UsageError, match=r"missing: -b .* or -c "):
        parse([], where)
    with pytest.raises(UsageError, match="exclude each other"):
        parse(["-b", "x", "-c", "y"], where)


def test_with_help_nothing_need_be_complete() -> None:
    assert "h" in parse(["-h"], OPTIONS)


def test_a_commands_own_n_stands_for_the_common_one() -> None:
    with pytest.raises(UsageError, match="missing: -n"):
        parse([], (CommandOption("n", "nameserverAddr", "x", required=True),))
