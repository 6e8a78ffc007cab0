"""What a command of mqadmin is; pure.

    @command(
        "topicClusterList",
        Option("t", "topic", "the topic", required=True),
        text=each("{cluster}\\n"),
    )
    def clusters(call: Call) -> Iterator[Row]:
        ...

The function gives rows, plain JSON values by name, as they come to be known; `text` makes of them what the
standard prints, and `--json` shows the same rows. What is no row, as a total, goes into `call.summary`.
RocketMQ: `SubCommand`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mqgateway.gateway.mqadmin.commands import PLACES, CommandEntry

if TYPE_CHECKING:
    from mqgateway.gateway.mqadmin.servers import Servers

Row = Mapping[str, Any]
"""What a command found or did, once: plain JSON values by name, in camel case."""


class UsageError(Exception):
    """What was typed is not what the command takes."""


class NameKind(Enum):
    """What a value is the name of, so that a shell can ask which there are."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    BROKER = "broker"
    ADDRESS = "address"
    """A broker's, as host:port."""
    FILE = "file"
    PROFILE = "profile"


TRUTH = ("true", "false")


@dataclass(frozen=True, slots=True)
class CommandOption:
    """An option: `-t`, `--topic`. Of those that share a `group` exactly one is to be given. `values` is what
    a shell may complete: the words there are, or of what the value is a name."""

    letters: str
    long: str
    about: str
    takes_value: bool = True
    required: bool = False
    group: str = ""
    values: NameKind | tuple[str, ...] = ()
    is_operand: bool = False
    """Whether it may be given by its place alone: `reset billing Orders` is `reset -g billing -t Orders`."""

    @property
    def key(self) -> str:
        """By what it is found in what was given."""
        return self.letters or self.long

    @property
    def name(self) -> str:
        """As its user may write it: `-t (--topic)`, `--to`, or `TOPIC` for an operand."""
        if self.is_operand:
            return self.long.upper()
        long = f"--{self.long.strip()}"
        return f"-{self.letters} ({long})" if self.letters else long


def flag(letters: str, long: str, about: str) -> CommandOption:
    """An option without a value."""
    return CommandOption(letters, long, about, takes_value=False)


def operand(
    letters: str,
    long: str,
    about: str,
    *,
    required: bool = True,
    values: NameKind | tuple[str, ...] = (),
) -> CommandOption:
    """An option that may be given by its place alone."""
    return CommandOption(letters, long, about, required=required, values=values, is_operand=True)


class GivenOptions:
    """The options that were given, by their letters. What cannot be read is a `UsageError`."""

    def __init__(self, values: Mapping[str, str], names: Mapping[str, str] | None = None) -> None:
        self.values = dict(values)
        self._names = names or {}

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str) -> str | None:
        """The value without blanks around it; None when it was not given."""
        value = self.values.get(key)
        return None if value is None else value.strip()

    def need(self, key: str) -> str:
        """The same of one that has to be given."""
        value = self.text(key)
        if value is None:
            raise UsageError(f"missing: {self.name(key)}")
        return value

    def name(self, key: str) -> str:
        """How a user writes the option."""
        return self._names.get(key, f"-{key}" if len(key) == 1 else f"--{key}")

    def number(self, key: str, default: int) -> int:
        """A whole number."""
        value = self.text(key)
        if value is None:
            return default
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{self.name(key)} is not a whole number: {value!r}") from None

    def truth(self, key: str, default: bool = False) -> bool:
        """`true` in any case is true, and anything else is not, as Java reads it."""
        value = self.text(key)
        return default if value is None else value.lower() == "true"


class Notebook:
    """A text that outlives the call, and where it lies; this one forgets it."""

    name = "memory"

    def __init__(self) -> None:
        self.text = ""

    def read(self) -> str:
        """What was written last, nothing at first."""
        return self.text

    def write(self, text: str) -> None:
        """Keep this instead. Raises `ClientError` where that is not possible."""
        self.text = text


def _nothing(_: object) -> None:
    """Nobody looks on, and nothing is waited for."""


def _nobody(_: str) -> bool:
    """Nobody is there to consent."""
    return False


def _no_secret(_: str) -> str:
    """Nobody is there to tell one."""
    raise UsageError("no terminal to ask on")


@dataclass(slots=True)
class CommandCall:
    """One call of a command. `now` is ms since the epoch, `monotonic` seconds from some start.

    `wait` lets seconds pass, `note` tells a person who looks on how far it is, `remark` adds a line to
    standard error, `confirm` asks for consent, `ask_secret` for what is not shown. What is kept from one call
    to the next lies in `notebook`, and what a user keeps of servers in `profiles`.
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
    confirm: Callable[[str], bool] = _nobody
    ask_secret: Callable[[str], str] = _no_secret
    notebook: Notebook = field(default_factory=Notebook)
    profiles: Notebook = field(default_factory=Notebook)
    ended: int | None = None
    """How the call ends when it comes to its end, where that is not as usual."""


Run = Callable[[CommandCall], Iterator[Row]]
Text = Callable[[CommandCall, Iterable[Row]], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is declared."""

    name: str
    options: tuple[CommandOption, ...]
    run: Run
    text: Text
    every: float | None = None
    """After how many seconds it begins anew, if it does not end by itself."""
    is_live: bool = False
    """Whether it begins anew for who looks on at a terminal only."""
    is_local: bool = False
    """Whether no server is asked, so that it does not matter which there are."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The commands of a program, of one word or two, in modules below `package`.

    What is listed with them, and is declared in another way, is in `more`. `name_servers` are those that are
    asked when none are given. `examples` are calls by command; its help makes one of the options otherwise.
    """

    program: str
    package: str
    places: Mapping[str, CommandEntry]
    more: Mapping[str, CommandEntry] = field(default_factory=dict)
    name_servers: tuple[str, ...] = ()
    examples: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def split(self, arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
        """The name of the command that was typed, and what came after it."""
        pair = " ".join(arguments[:2])
        return (pair, arguments[2:]) if pair in self.places else (arguments[0], arguments[1:])


LOCAL_NAME_SERVERS = ("127.0.0.1:9876",)
"""The name servers of a call that names none, of both catalogues."""

MQADMIN = Catalogue("mqadmin", "mqgateway.gateway.mqadmin.commands", PLACES, name_servers=LOCAL_NAME_SERVERS)
"""The standard's commands."""

_DECLARED: dict[str, Command] = {}


def command(
    name: str,
    *options: CommandOption,
    text: Text,
    every: float | None = None,
    is_live: bool = False,
    is_local: bool = False,
) -> Callable[[Run], Run]:
    """This function is what a command does; what that is in words, its catalogue says."""

    def declare(run: Run) -> Run:
        _DECLARED[name] = Command(name, options, run, text, every, is_live, is_local)
        return run

    return declare


def find(name: str, catalogue: Catalogue = MQADMIN) -> Command | None:
    """The command of that name; only its own module is loaded."""
    if name not in catalogue.places:
        return None
    import_module(f"{catalogue.package}.{catalogue.places[name].module}")
    return _DECLARED[name]


def every(catalogue: Catalogue = MQADMIN) -> list[Command]:
    """All commands, in the order in which they are listed."""
    return [found for name in catalogue.places if (found := find(name, catalogue))]
