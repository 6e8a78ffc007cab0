"""The help of commands, laid out as the standard's tool lays it out; pure.

Options stand in the order of their names whatever their case, wrapped at 110 columns.
Standard: `org.apache.commons.cli.HelpFormatter`, `MQAdminStartup.printHelp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.mqadmin.declaration import Command, Option, every
from mqgateway.gateway.mqadmin.parsing import OURS, options_of

WIDTH = 110
_NAME_COLUMN = 35
_INDENT = 7
_DISTANCE = 3


def overview() -> str:
    """All commands, a line each."""
    lines = ["The most commonly used mqadmin commands are:"]
    lines += [f"   {one.name:<{_NAME_COLUMN}} {one.about}" for one in every()]
    return "\n".join(
        [*lines, "", "See 'mqadmin help <command>' for more information on a specific command.", ""]
    )


def help_of(command: Command) -> str:
    """How a command is called, and what its options mean."""
    options = sorted(options_of(command.options), key=lambda one: one.key.lower())
    standard = [one for one in options if one not in OURS]
    lines = _wrapped(_summary(command.name, standard), WIDTH, _INDENT)
    lines += _explained(standard)
    lines += ["Every command also takes", *_explained(OURS)]
    return "\n".join(lines) + "\n"


def closest(name: str) -> list[str]:
    """The commands that a wrong name may have meant."""
    from difflib import get_close_matches  # slow to load, and wrong names are rare

    return get_close_matches(name, PLACES, 3)


def _summary(name: str, options: Sequence[Option]) -> str:
    text = f"usage: mqadmin {name}"
    shown: set[str] = set()
    for one in options:
        if not one.group:
            word = _called(one)
            text += f" {word}" if one.required else f" [{word}]"
        elif one.group in shown:
            text += " "  # as wide as the standard's, which counts the members of a group one by one
        else:
            shown.add(one.group)
            text += " " + " | ".join(_called(other) for other in options if other.group == one.group)
    return text


def _called(option: Option) -> str:
    name = f"-{option.letters}" if option.letters else f"--{option.long}"
    return f"{name} <arg>" if option.takes_value else name


def _explained(options: Iterable[Option]) -> list[str]:
    named = []
    for one in options:
        name = f" -{one.letters},--{one.long}" if one.letters else f"    --{one.long}"
        named.append((name + " <arg>" * one.takes_value, one.about))
    column = max(len(name) for name, _ in named) + _DISTANCE
    lines = []
    for name, about in named:
        lines += _wrapped(f"{name:<{column}}{about}", WIDTH, column)
    return lines


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    lines = []
    while len(text) > width:
        at = text.rfind(" ", indent + 1, width + 1)
        if at < 0:
            break
        lines.append(text[:at].rstrip())
        text = " " * indent + text[at:].lstrip()
    return [*lines, text.rstrip()]
