"""Help of commands, laid out as by RocketMQ's tool; pure.

Options are sorted by name, ignoring case, and wrapped at 110 columns.
RocketMQ: `org.apache.commons.cli.HelpFormatter`, `MQAdminStartup.printHelp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.mqadmin.declaration import Command, CommandOption, NameKind
from mqgateway.gateway.mqadmin.parsing import OURS, options_of

WIDTH = 110
_NAME_COLUMN = 35
_INDENT = 7
_DISTANCE = 3


def overview(catalogue: Catalogue = MQADMIN) -> str:
    """Return the list of all commands, one a line."""
    program, is_standard = catalogue.program, catalogue is MQADMIN
    listed = {**catalogue.places, **catalogue.more}
    return "\n".join(
        [
            f"The most commonly used {program} commands are:" if is_standard else "Commands:",
            *(f"   {name:<{_NAME_COLUMN}} {what}" for name, (_, what) in listed.items()),
            "",
            f"See '{program} {'help <command>' if is_standard else '<command> --help'}' "
            "for more information on a specific command.",
            "",
        ]
    )


def help_of(command: Command, catalogue: Catalogue = MQADMIN) -> str:
    """Return the help of a command: usage, summary, options and examples. RocketMQ's part is first."""
    program = catalogue.program
    about = catalogue.places[command.name].about
    summary = _wrapped(f"{about[:1].upper()}{about[1:].rstrip('.')}.", WIDTH, 0)
    examples = catalogue.examples.get(command.name) or (example_of(command, program),)
    options = sorted(options_of(command.options), key=lambda one: one.key.lower())
    standard = [one for one in options if one not in OURS]
    lines = _wrapped(_summary(f"{program} {command.name}", command, standard), WIDTH, _INDENT)
    if catalogue is not MQADMIN:
        lines += ["", *summary, ""]
    lines += _explained(standard)
    lines += ["Every command also takes", *_explained(OURS)]
    if catalogue is MQADMIN:
        lines += ["", *summary]
    lines += ["", f"Example{'s' * (len(examples) > 1)}:", *(f"  {one}" for one in examples)]
    return "\n".join(lines) + "\n"


_SAMPLES = {
    NameKind.TOPIC: "Orders",
    NameKind.GROUP: "billing",
    NameKind.CLUSTER: "DefaultCluster",
    NameKind.BROKER: "broker-a",
    NameKind.ADDRESS: "127.0.0.1:10911",
    NameKind.FILE: "file.json",
    NameKind.PROFILE: "test",
}
_SAMPLES_BY_NAME = {
    "msgId": "0A0000025DA2CD48B2D347B7B6B80001",
    "messageId": "0A0000025DA2CD48B2D347B7B6B80001",
    "msgKey": "order-1",
    "body": "hello",
    "timestamp": "now",
    "controllerAddress": "127.0.0.1:9878",
    "subject": "User:alice",
    "subjects": "User:alice",
    "username": "alice",
    "usernames": "alice",
    "password": "secret12",
    "resources": "Topic:Orders",
    "actions": "Pub,Sub",
    "brokerContainerAddr": "127.0.0.1:10811",
    "key": "fileReservedTime",
    "value": "48",
}


def example_of(command: Command, program: str) -> str:
    """Return a call with the options that the command needs, and name servers."""
    words = [program, command.name]
    groups: set[str] = set()
    for one in command.options:
        if one.required or (one.group and one.group not in groups):
            groups.add(one.group)
            words.append(f"-{one.letters}" if one.letters else f"--{one.long}")
            words += [_sample(one)] * one.takes_value
    if not any(one.key == "n" for one in command.options):
        words += ["-n", "127.0.0.1:9876"]
    return " ".join(words)


def _sample(option: CommandOption) -> str:
    if isinstance(option.values, tuple):
        name = option.long.strip()
        return next(iter(option.values), None) or _SAMPLES_BY_NAME.get(name, "1")
    return _SAMPLES[option.values]


def closest(name: str, names: Iterable[str] = PLACES) -> list[str]:
    """Return the commands that are similar to a wrong name."""
    from difflib import get_close_matches  # slow to load, and wrong names are rare

    return get_close_matches(name, list(names), 3)


def _summary(name: str, command: Command, options: Sequence[CommandOption]) -> str:
    text = f"usage: {name}"
    for one in command.options:
        if one.is_operand:
            text += f" {one.long.upper()}" if one.required else f" [{one.long.upper()}]"
    shown: set[str] = set()
    for one in options:
        if one.is_operand:
            continue
        if not one.group:
            word = _called(one)
            text += f" {word}" if one.required else f" [{word}]"
        elif one.group in shown:
            text += " "  # as wide as RocketMQ's, which counts the members of a group separately
        else:
            shown.add(one.group)
            text += " " + " | ".join(_called(other) for other in options if other.group == one.group)
    return text


def _called(option: CommandOption) -> str:
    name = f"-{option.letters}" if option.letters else f"--{option.long}"
    return f"{name} <arg>" if option.takes_value else name


def _explained(options: Iterable[CommandOption]) -> list[str]:
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
