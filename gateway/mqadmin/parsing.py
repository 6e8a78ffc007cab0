"""Parsing of command lines, as RocketMQ's tool parses them; pure.

An option is `-t VALUE`, `-tVALUE`, `-t=VALUE`, `--topic VALUE`, `--topic=VALUE` or `-topic VALUE`. A long
name may be abbreviated to a unique prefix. A word that looks like an option is one if it is known. After an
option with a value, other words with a leading dash are its value, such as negative numbers.
RocketMQ: `org.apache.commons.cli.DefaultParser`, `ServerUtil.parseCmdLine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgateway.gateway.mqadmin.declaration import CommandOption, GivenOptions, NameKind, UsageError

HELP = CommandOption("h", "help", "print this help", takes_value=False)
NAME_SERVERS = CommandOption(
    "n", "namesrvAddr", "name servers as host:port, separated by ';' (default: NAMESRV_ADDR)"
)
OURS = (
    CommandOption("", "json", "print one JSON object", takes_value=False),
    CommandOption("", "timeout", "timeout of a request in seconds (default: 5)"),
    CommandOption("", "watch", "repeat at this interval in seconds, until interrupted"),
    CommandOption("", "dry-run", "change nothing, print the requests that would be sent", takes_value=False),
    CommandOption(
        "",
        "profile",
        "use the servers and credentials of this profile (mqgateway profile)",
        values=NameKind.PROFILE,
    ),
    CommandOption("", "tls", "connect with TLS", takes_value=False),
    CommandOption(
        "",
        "tls-ca",
        "connect with TLS and verify servers by the CA certificates in this file",
        values=NameKind.FILE,
    ),
    CommandOption("", "access-key", "access key that signs requests (default: ROCKETMQ_ACCESS_KEY)"),
    CommandOption("", "secret-key", "secret key that signs requests (default: ROCKETMQ_SECRET_KEY)"),
    CommandOption("", "credentials", "file with both keys, in the form of tools.yml", values=NameKind.FILE),
)
"""Options of every command that RocketMQ's tool does not have."""


def options_of(declared: Iterable[CommandOption]) -> list[CommandOption]:
    """Return the options of a command and the common ones. A command's own `-n` replaces the common one."""
    own = list(declared)
    taken = {one.key for one in own}
    return [*own, *(one for one in (HELP, NAME_SERVERS) if one.key not in taken), *OURS]


def parse(arguments: Sequence[str], declared: Iterable[CommandOption]) -> GivenOptions:
    """Return the given options. Raises `UsageError`; with `-h` required options may be missing."""
    options = options_of(declared)
    values: dict[str, str] = {}
    operands = [one.key for one in options if one.is_operand]
    waiting = iter(arguments)
    for word in waiting:
        place = next((key for key in operands if key not in values), None)
        if place is not None and not word.startswith("-"):
            values[place] = word
            continue
        option, value = option_of(word, options)
        if option.takes_value:
            if value is None:
                value = next(waiting, None)
            if value is None or (value.startswith("-") and _is_option(value, options)):
                raise UsageError(f"the option {option.name} needs a value")
        elif value is not None:
            raise UsageError(f"the option {option.name} takes no value: {word!r}")
        values.setdefault(option.key, value or "")
    if HELP.key not in values:
        _check(values, options)
    return GivenOptions(values, {one.key: one.name for one in options})


def _check(values: dict[str, str], options: Sequence[CommandOption]) -> None:
    missing = [one.name for one in options if one.required and one.key not in values]
    groups: dict[str, list[CommandOption]] = {}
    for one in options:
        if one.group:
            groups.setdefault(one.group, []).append(one)
    for members in groups.values():
        found = [one.name for one in members if one.key in values]
        if len(found) > 1:
            raise UsageError(
                f"the options {found[0]} and {found[1]} exclude each other: give only one of them"
            )
        if not found:
            missing.append(" or ".join(one.name for one in members))
    if missing:
        raise UsageError(f"missing: {', '.join(missing)}")


def check_words(given: GivenOptions, options: Iterable[CommandOption]) -> None:
    """Raise `UsageError` for a value that is not an allowed word. RocketMQ accepts any for some options."""
    for one in options:
        words = one.values if isinstance(one.values, tuple) else ()
        value = given.text(one.key)
        if words and value is not None and value.lower() not in {word.lower() for word in words}:
            raise UsageError(f"{one.name} is {' or '.join(words)}, not {value!r}")


def option_of(word: str, options: Sequence[CommandOption]) -> tuple[CommandOption, str | None]:
    """Return the option that a word names, and its value if the word contains it. Raises `UsageError`."""
    if not word.startswith("-") or word == "-":
        raise UsageError(f"unexpected argument {word!r}")
    name, is_assigned, value = word.lstrip("-").partition("=")
    given = value if is_assigned else None
    if not word.startswith("--"):
        for one in options:
            if one.letters == name:
                return one, given
    named = [one for one in options if one.long.strip() == name]
    named = named or [one for one in options if name and one.long.startswith(name)]
    if len(named) > 1:
        raise UsageError(f"the option {word} is ambiguous: {' or '.join(one.name for one in named)}")
    if named:
        return named[0], given
    for one in options:
        if not word.startswith("--") and one.takes_value and len(one.letters) == 1 and word[1] == one.letters:
            return one, word[2:]
    raise UsageError(f"there is no option {word}")


def _is_option(word: str, options: Sequence[CommandOption]) -> bool:
    try:
        option_of(word, options)
    except UsageError:
        return False
    return not word.lstrip("-")[:1].isdigit()
