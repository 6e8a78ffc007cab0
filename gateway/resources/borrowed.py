"""Resource commands that are commands of mqadmin, shown as a table; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, Text, command, find


def borrow(
    name: str, standard: str, text: Text, check: Callable[[CommandCall], None] | None = None, **operands: str
) -> None:
    """Declare that a resource command does what one of mqadmin does.

    `operands` are those of its options, by their letters, that may be given by their place, with what they
    are called here: `borrow("topic route", "topicRoute", ..., t="topic")`. `check` is called first. It
    raises what is wrong with a call that servers would accept silently.
    """
    found = find(standard)
    assert found is not None, standard
    known = {one.key: one for one in found.options}
    placed = [replace(known.pop(key), long=long, is_operand=True) for key, long in operands.items()]
    run = found.run

    def checked(call: CommandCall) -> Iterator[Row]:
        if check is not None:
            check(call)
        return run(call)

    command(name, *placed, *known.values(), text=text)(run if check is None else checked)
