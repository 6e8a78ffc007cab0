"""Completion of command lines; pure except for the queries of names.

Commands, their options and the words that an option takes are those of the declarations. Topics, groups,
clusters and brokers are queried from a name server, with a short timeout so that the user does not wait.
`shells` integrates it into a shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from mqgateway.gateway.client import admin_names as names
from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.declaration import CommandOption, GivenOptions, NameKind, UsageError, find
from mqgateway.gateway.mqadmin.parsing import option_of, options_of
from mqgateway.gateway.mqadmin.servers import Servers

SECONDS = 0.5
"""Timeout of a connection attempt, and of an answer."""
NAME_SERVERS_MAX = 2
"""Maximum number of name servers that are tried."""
_RETRY = "%RETRY%"


class Candidate(NamedTuple):
    """A word that may come next, and its description, empty if the word needs none."""

    word: str
    about: str = ""


class Offer(NamedTuple):
    """Candidates for a word; `has_files` if it is a file name, which the shell completes itself."""

    candidates: Sequence[Candidate] = ()
    has_files: bool = False


Ask = Callable[[NameKind, GivenOptions], Iterable[str]]
"""Function that returns the names of a kind; the options given so far determine the servers to query."""


def offered(words: Sequence[str], current: str, ask: Ask, catalogue: Catalogue = MQADMIN) -> Offer:
    """Return the candidates for the word that is being typed, after the given words."""
    if catalogue is MQADMIN and (not words or list(words) == ["help"]):
        return _starting(current, _commands())
    if len(words) == 1 and (found := _verbs(words[0], catalogue)):
        return _starting(current, found)
    name, rest = catalogue.split(words)
    command = find(name, catalogue)
    if command is None and name != "--batch":
        return Offer()
    options = options_of(command.options if command is not None else ())
    values, waiting = _read(rest, options)
    if waiting is not None:
        return _values(waiting, current, "", GivenOptions(values), ask)
    name, is_assigned, start = current.partition("=")
    if is_assigned and name.startswith("--"):
        try:
            option, _ = option_of(name, options)
        except UsageError:
            return Offer()
        return _values(option, start, f"{name}=", GivenOptions(values), ask)
    due = next((one for one in options if one.is_operand and one.key not in values), None)
    if due is not None and not current.startswith("-"):
        named = _values(due, current, "", GivenOptions(values), ask)
        if named.candidates or named.has_files:
            return named
    return _starting(current, _unused(options, values, current))


def known(kind: NameKind, servers: Servers) -> list[str]:
    """Return the names of a kind that a name server knows. Groups are those with a retry topic. Raises
    `ClientError`."""
    if kind is NameKind.TOPIC:
        topics = servers.ask_names(names.all_topics())
        return sorted(topics)
    if kind is NameKind.GROUP:
        topics = servers.ask_names(names.all_topics())
        return sorted(one.removeprefix(_RETRY) for one in topics if one.startswith(_RETRY))
    clusters = servers.clusters()
    if kind is NameKind.CLUSTER:
        return sorted(clusters.cluster_addr_table)
    if kind is NameKind.BROKER:
        return sorted(clusters.broker_addr_table)
    groups = clusters.broker_addr_table.values()
    return sorted(address for one in groups for address in one.broker_addrs.values())


def _commands() -> Iterator[Candidate]:
    yield from (Candidate(name, about) for name, (_, about) in MQADMIN.places.items())
    yield Candidate("help", "show the options of a command")
    yield Candidate("--batch", "read one command per line from standard input")


def _verbs(resource: str, catalogue: Catalogue) -> list[Candidate]:
    """Return the second words of a resource's commands; none if the word is a command of one word."""
    listed = {**catalogue.places, **catalogue.more}
    return [
        Candidate(name.removeprefix(f"{resource} "), about)
        for name, (_, about) in listed.items()
        if name.startswith(f"{resource} ")
    ]


def _starting(current: str, candidates: Iterable[Candidate]) -> Offer:
    return Offer([one for one in candidates if one.word.startswith(current)])


def _read(
    words: Iterable[str], options: Sequence[CommandOption]
) -> tuple[dict[str, str], CommandOption | None]:
    """Return the given options, and the option whose value comes next. Unknown words are skipped."""
    values: dict[str, str] = {}
    waiting: CommandOption | None = None
    operands = [one.key for one in options if one.is_operand]
    for word in words:
        if waiting is not None:
            values[waiting.key] = word
            waiting = None
            continue
        place = next((key for key in operands if key not in values), None)
        if place is not None and not word.startswith("-"):
            values[place] = word
            continue
        try:
            option, value = option_of(word, options)
        except UsageError:
            continue
        values[option.key] = value or ""
        if option.takes_value and value is None:
            waiting = option
    return values, waiting


def _values(option: CommandOption, current: str, before: str, given: GivenOptions, ask: Ask) -> Offer:
    """Return the values of an option, each with the prefix `before` of the same word.

    Values that begin with `%` (retry and dead-letter topics) are offered only once the user types it.
    """
    if isinstance(option.values, tuple):
        found: Iterable[str] = option.values
    elif option.values is NameKind.FILE:
        return Offer(has_files=True)
    else:
        found = ask(option.values, given)
    shown = [one for one in found if one.startswith(current) and (current or not one.startswith("%"))]
    return Offer([Candidate(f"{before}{one}") for one in shown])


def _unused(options: Sequence[CommandOption], given: dict[str, str], current: str) -> Iterator[Candidate]:
    """Yield the options that can still be given, required ones first.

    Each is offered by its short name, unless it has none or the current word begins with two dashes.
    """
    excluded = {one.group for one in options if one.key in given and one.group}
    for option in sorted(options, key=lambda one: not (one.required or one.group)):
        if option.key in given or option.group in excluded:
            continue
        is_long = current.startswith("--") or not option.letters
        name = option.long.strip()
        if not is_long:
            yield Candidate(f"-{option.letters}", option.about)
        elif " " not in name:
            yield Candidate(f"--{name}", option.about)
