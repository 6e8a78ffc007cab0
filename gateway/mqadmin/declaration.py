"""Declarations of mqadmin commands; pure.

    @command(
        "topicClusterList",
        CommandOption("t", "topic", "topic", required=True),
        text=each("{cluster}\\n"),
    )
    def clusters(call: CommandCall) -> Iterator[Row]:
        ...

The function yields rows, plain JSON values by name, as they become known. `text` converts them to RocketMQ's
output, and `--json` shows the same rows. Values that belong to no row, such as a total, go into
`call.summary`. RocketMQ: `SubCommand`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue

if TYPE_CHECKING:
    from mqgateway.gateway.mqadmin.servers import Servers

Row = Mapping[str, Any]
"""One result of a command: plain JSON values by name, in camel case."""


class UsageError(Exception):
    """Arguments that the command does not accept."""


class NameKind(Enum):
    """Kind of name that a value is, so that a shell can complete it."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    BROKER = "broker"
    ADDRESS = "address"
    """Address of a broker, as host:port."""
    FILE = "file"
    PROFILE = "profile"


TRUTH = ("true", "false")


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option: `-t`, `--topic`. Exactly one of the options that share a `group` must be given.

    `values` is for the completion by a shell: the allowed words, or the kind of name.
    """

    letters: str
    long: str
    about: str
    takes_value: bool = True
    required: bool = False
    group: str = ""
    values: NameKind | tuple[str, ...] = ()
    is_operand: bool = False
    """True if it may be given by position alone: `reset billing Orders` is `reset -g billing -t Orders`."""

    @property
    def key(self) -> str:
        """Key of the option in `GivenOptions`."""
        return self.letters or self.long

    @property
    def name(self) -> str:
        """Name as the user may write it: `-t (--topic)`, `--to`, or `TOPIC` for an operand."""
        if self.is_operand:
            return self.long.upper()
        long = f"--{self.long.strip()}"
        return f"-{self.letters} ({long})" if self.letters else long


def flag(letters: str, long: str, about: str) -> CommandOption:
    """Return an option without a value."""
    return CommandOption(letters, long, about, takes_value=False)


def operand(
    letters: str,
    long: str,
    about: str,
    *,
    required: bool = True,
    values: NameKind | tuple[str, ...] = (),
) -> CommandOption:
    """Return an option that may be given by position alone."""
    return CommandOption(letters, long, about, required=required, values=values, is_operand=True)


class GivenOptions:
    """The given options by their keys. Methods raise `UsageError` for values that cannot be parsed."""

    def __init__(self, values: Mapping[str, str], names: Mapping[str, str] | None = None) -> None:
        self.values = dict(values)
        self._names = names or {}

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str | None:
        """Return the value, stripped; None if the option was not given."""
        value = self.values.get(key)
        return None if value is None else value.strip()

    def need(self, key: str) -> str:
        """Return the stripped value of an option that must be given."""
        value = self.text(key)
        if value is None:
            raise UsageError(f"missing: {self.name(key)}")
        return value

    def name(self, key: str) -> str:
        """Return the option as a user writes it."""
        return self._names.get(key, f"-{key}" if len(key) == 1 else f"--{key}")

    def number(self, key: str, default: int) -> int:
        """Return the value as an integer, `default` if the option was not given."""
        value = self.text(key)
        if value is None:
            return default
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{self.name(key)} is not a whole number: {value!r}") from None

    def truth(self, key: str, default: bool = False) -> bool:
        """Return True for `true` in any case, False for other values, as Java parses them."""
        value = self.text(key)
        return default if value is None else value.lower() == "true"


class Notebook:
    """A text that outlives the call, and its location. This class keeps it in memory only."""

    name = "memory"

    def __init__(self) -> None:
        self.text = ""

    def read(self) -> str:
        """Return the text that was written last, initially empty."""
        return self.text

    def write(self, text: str) -> None:
        """Replace the text. Raises `ClientError` if it cannot be stored."""
        self.text = text


def _nothing(_: object) -> None:
    """Do nothing: the call is not interactive."""


def _decline(_: str) -> bool:
    """Decline: the call is not interactive."""
    return False


def _no_secret(_: str) -> str:
    """Raise `UsageError`: the call is not interactive."""
    raise UsageError("no terminal to ask on")


@dataclass(slots=True)
class CommandCall:
    """One call of a command. `now` is ms since the epoch, `monotonic` seconds from some start.

    `wait` sleeps for some seconds, `note` shows the progress on a terminal, `remark` adds a line to standard
    error, `confirm` asks for consent, `ask_secret` reads a secret without echo. `notebook` is text that is
    kept between calls, `profiles` the user's file of profiles.
    """

    given: GivenOptions
    servers: Servers
    now: Callable[[], int]
    monotonic: Callable[[], float]
    summary: dict[str, Any] = field(default_factory=dict)
    is_dry: bool = False
    wait: Callable[[float], object] = _nothing
    note: Callable[[str], object] = _nothing
    remark: Callable[[str], object] = _nothing
    confirm: Callable[[str], bool] = _decline
    ask_secret: Callable[[str], str] = _no_secret
    notebook: Notebook = field(default_factory=Notebook)
    profiles: Notebook = field(default_factory=Notebook)
    ended: int | None = None
    """Exit code of a completed call, None for the usual one."""


Run = Callable[[CommandCall], Iterator[Row]]
Text = Callable[[CommandCall, Iterable[Row]], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Command:
    """A declared command."""

    name: str
    options: tuple[CommandOption, ...]
    run: Run
    text: Text
    every: float | None = None
    """Interval in seconds of a command that repeats, None for one that runs once."""
    is_live: bool = False
    """True if it repeats only if its output is a terminal."""
    is_local: bool = False
    """True if it queries no server and needs no configuration of servers."""


_DECLARED: dict[str, Command] = {}


def command(
    name: str,
    *options: CommandOption,
    text: Text,
    every: float | None = None,
    is_live: bool = False,
    is_local: bool = False,
) -> Callable[[Run], Run]:
    """Declare the decorated function as a command. Its description is in the catalogue."""

    def declare(run: Run) -> Run:
        _DECLARED[name] = Command(name, options, run, text, every, is_live, is_local)
        return run

    return declare


def find(name: str, catalogue: Catalogue = MQADMIN) -> Command | None:
    """Return the command of a name, None if there is none; only its own module is loaded."""
    if name not in catalogue.places:
        return None
    import_module(f"{catalogue.package}.{catalogue.places[name].module}")
    return _DECLARED[name]


def every(catalogue: Catalogue = MQADMIN) -> list[Command]:
    """Return all commands in the order of the catalogue."""
    return [found for name in catalogue.places if (found := find(name, catalogue))]
