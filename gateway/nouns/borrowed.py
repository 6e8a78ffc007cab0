"""Nouns that are commands of mqadmin, shown as a table; pure."""

from __future__ import annotations

from dataclasses import replace

from mqgateway.gateway.mqadmin.declaration import Text, command, find


def borrow(name: str, standard: str, text: Text, **operands: str) -> None:
    """Declare that a noun's command does what one of mqadmin does.

    `operands` are those of its options, by their letters, that may be given by their place, with what they
    are called here: `borrow("topic route", "topicRoute", ..., t="topic")`.
    """
    found = find(standard)
    assert found is not None, standard
    known = {one.key: one for one in found.options}
    placed = [replace(known.pop(key), long=long, is_operand=True) for key, long in operands.items()]
    command(name, *placed, *known.values(), text=text)(found.run)
