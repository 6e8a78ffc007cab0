"""Execution of a call: arguments, servers, output and exit code.

`mqadmin --batch` reads one command per line from standard input; all commands share one set of connections.
RocketMQ: `MQAdminStartup`.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.gateway.cli.ending import DONE, FAILED, NOT_FOUND, USAGE, end_with, error_line
from mqgateway.gateway.cli.explaining import explained
from mqgateway.gateway.client.errors import BadArgument, BrokerError, ClientError, NoBroker
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue
from mqgateway.gateway.mqadmin.configuration import (
    NOWHERE,
    AdminConfiguration,
    configured,
    known_profiles,
    seconds,
)
from mqgateway.gateway.mqadmin.connection import Connect, Connections, SocketStream, encrypted, plain
from mqgateway.gateway.mqadmin.declaration import (
    Command,
    CommandCall,
    GivenOptions,
    NameKind,
    Notebook,
    Row,
    UsageError,
    find,
)
from mqgateway.gateway.mqadmin.parsing import check_words, parse
from mqgateway.gateway.mqadmin.servers import Servers

if TYPE_CHECKING:
    from mqgateway.gateway.mqadmin.completion import Offer

PARTLY = 4
"""Exit code of a call that succeeded at some servers and failed at others. Higher codes belong to single
commands."""

_NOT_FOUND_CODES = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.QUERY_NOT_FOUND,
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        ResponseCode.CONSUMER_NOT_ONLINE,
    }
)
_CLEAR = "\x1b[H\x1b[J"


def _wait(seconds: float) -> None:
    from threading import Event  # only needed by repeated commands

    Event().wait(seconds)


def _ask_secret(question: str) -> str:
    from getpass import getpass  # only needed by commands that ask for a secret

    return getpass(question)


def read_text_file(path: str) -> str | None:
    """Return the text of a file; None if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


@dataclass(slots=True)
class Surroundings:
    """Process environment of a call: streams, files, clock, connections."""

    write: Callable[[str], object]
    complain: Callable[[str], object]
    lines: Iterable[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    connect: Connect = plain
    clock: Clock = field(default_factory=SystemClock)
    wait: Callable[[float], object] = _wait
    read_file: Callable[[str], str | None] = read_text_file
    notebook: Notebook = field(default_factory=Notebook)
    profiles: Notebook = field(default_factory=Notebook)
    is_terminal: bool = False
    ask_secret: Callable[[str], str] = _ask_secret


def main() -> None:
    """Run the console script."""
    end_with(lambda: console(sys.argv[1:]))


def console(
    arguments: Sequence[str],
    catalogue: Catalogue = MQADMIN,
    notebook: Notebook | None = None,
    profiles: Notebook | None = None,
) -> int:
    """Run a call with this process's standard streams; return the exit code."""
    around = Surroundings(
        sys.stdout.write,
        sys.stderr.write,
        sys.stdin,
        notebook=notebook or Notebook(),
        profiles=profiles or Notebook(),
        is_terminal=sys.stdout.isatty(),
    )
    ended = Tool(around, catalogue).run(arguments)
    return DONE if os.environ.get("MQADMIN_EXIT_ZERO") == "1" else ended


class Tool:
    """Calls that run one after the other and share connections."""

    def __init__(self, around: Surroundings, catalogue: Catalogue = MQADMIN) -> None:
        self._around = around
        self._catalogue = catalogue
        self._connections: dict[AdminConfiguration, Connections] = {}

    def run(self, arguments: Sequence[str]) -> int:
        """Run one call, or a batch; return the exit code."""
        apart = {"--batch": self._batch, "--complete": self._complete, "--completion": self._completion}
        try:
            if arguments and arguments[0] in apart:
                return apart[arguments[0]](arguments[1:])
            return self._one(arguments)
        finally:
            for connections in self._connections.values():
                connections.close()

    def _batch(self, common: Sequence[str]) -> int:
        """Run one call a line, each with the common options; return the highest exit code."""
        import shlex  # only needed here

        worst = DONE
        for line in self._around.lines:
            try:
                words = shlex.split(line, comments=True)
            except ValueError as error:
                self._fail(f"{error}: {line.strip()}")
                worst = max(worst, USAGE)
                continue
            if words:
                worst = max(worst, self._one([*words, *common]))
        return worst

    def _completion(self, arguments: Sequence[str]) -> int:
        """Print the script that a shell evaluates to complete our commands."""
        from mqgateway.gateway.mqadmin.shells import SHELLS, script

        shell = arguments[0] if arguments else ""
        if shell not in SHELLS:
            self._fail(f"--completion must be one of {', '.join(SHELLS)}, not {shell!r}")
            return USAGE
        self._around.write(script(shell, self._catalogue.program))
        return DONE

    def _complete(self, arguments: Sequence[str]) -> int:
        """Print the candidates for the next word, as a shell requests them at each completion."""
        from mqgateway.gateway.mqadmin.completion import offered
        from mqgateway.gateway.mqadmin.shells import answer

        def offer(words: list[str], current: str) -> Offer:
            return offered(words, current, self.names, self._catalogue)

        self._around.write(answer(arguments, offer))
        return DONE

    def names(self, kind: NameKind, given: GivenOptions) -> list[str]:
        """Return the names of a kind for a shell; none if no server answers in time."""
        from mqgateway.gateway.mqadmin import completion

        environment, read_file = self._around.environment, self._around.read_file
        try:
            if kind is NameKind.PROFILE:
                return sorted(known_profiles(environment, read_file).by_name)
            chosen = configured(given, environment, read_file)
            connect = self._connect(chosen)

            def soon(host: str, port: int, seconds: float) -> SocketStream:
                return connect(host, port, min(seconds, completion.SECONDS))

            known = chosen.name_servers or self._catalogue.name_servers
            asked = known[: completion.NAME_SERVERS_MAX]
            connections = Connections(soon, self._around.clock, chosen.credentials)
            try:
                return completion.known(kind, Servers(asked, connections, completion.SECONDS))
            finally:
                connections.close()
        except (ClientError, UsageError):
            return []

    def _one(self, arguments: Sequence[str]) -> int:
        asks_for_help = not arguments or arguments[0] in ("help", "-h", "--help")
        words = arguments[1:] if asks_for_help else arguments
        if not words:
            return self._show_overview()
        name, rest = self._catalogue.split(words)
        found = find(name, self._catalogue)
        if found is None:
            return self._unknown(name if self._catalogue is MQADMIN else " ".join(words[:2]))
        try:
            given = GivenOptions({"h": ""}) if asks_for_help else parse(rest, found.options)
            if "h" in given:
                return self._help(found)
            if self._catalogue is not MQADMIN:
                check_words(given, found.options)
            return self._repeat(found, given)
        except (UsageError, BadArgument) as error:
            self._fail(f"{error}; see '{self._catalogue.program} {self._help_word(found.name)}'")
            return USAGE

    def _repeat(self, command: Command, given: GivenOptions) -> int:
        """Run a command once, or repeatedly until it is interrupted; return the exit code."""
        intervals = [one.key for one in command.options if one.long == "interval"]
        key = next((one for one in ("watch", *intervals) if one in given), None)
        is_looked_at = self._around.is_terminal and "json" not in given
        every = command.every if is_looked_at or not command.is_live else None
        pause = every if key is None else seconds(given, key, 1.0)
        if pause is None:
            return self._perform(command, given)
        while True:
            if self._around.is_terminal:
                self._around.write(_CLEAR)
            self._perform(command, given)
            self._around.wait(pause)

    def _perform(self, command: Command, given: GivenOptions) -> int:
        around = self._around
        chosen = NOWHERE
        if not command.is_local:
            chosen = configured(given, around.environment, around.read_file)
        is_dry = "dry-run" in given
        name_servers = chosen.name_servers or self._catalogue.name_servers
        servers = Servers(name_servers, self._connected(chosen), chosen.timeout, is_dry=is_dry)
        call = CommandCall(
            given,
            servers,
            around.clock.millis,
            around.clock.monotonic,
            is_dry=is_dry,
            wait=around.wait,
            remark=lambda text: around.complain(error_line(text, self._catalogue.program, "note")),
            ask_secret=around.ask_secret,
            notebook=around.notebook,
            profiles=around.profiles,
        )
        if around.is_terminal:
            call = replace(call, note=self._note, confirm=self._confirm)
        rows: list[Row] = []
        failure: ClientError | None = None
        try:
            found = _begun(command.run(call))
            if is_dry or "json" in given:
                for row in found:
                    rows.append(row)
            else:
                for text in command.text(call, found):
                    around.write(text)
        except ClientError as error:
            failure = error
        if is_dry and "json" not in given and (failure is None or rows or servers.withheld):
            self._show_plan(command, call, rows)
        if "json" in given:
            self._show_json(command, call, servers.withheld or rows, failure)
        for one in servers.errors:
            self._fail(one["error"])
        if failure is not None:
            self._fail(explained(failure))
            is_wrong_usage = isinstance(failure, BadArgument) and self._catalogue is not MQADMIN
            return USAGE if is_wrong_usage else _code_of(failure)
        if call.ended is not None:
            return call.ended
        if servers.failures:
            return PARTLY if servers.parts_done else _code_of(servers.failures[0])
        return DONE

    def _note(self, text: object) -> None:
        """Show the progress in place of the previous text; an empty text ends the line."""
        self._around.complain(f"\r\x1b[K{text}" + "\n" * (not text))

    def _confirm(self, question: str) -> bool:
        self._around.complain(f"{question} [y/N] ")
        return next(iter(self._around.lines), "").strip().lower() in ("y", "yes")

    def _show_plan(self, command: Command, call: CommandCall, rows: Sequence[Row]) -> None:
        """Print the requests of a dry run; for a command that changes nothing its results."""
        for one in call.servers.withheld:
            fields = " ".join(f"{name}={value}" for name, value in one["fields"].items())
            body = f" {one['body']}" if "body" in one else ""
            self._around.write(f"would ask {one['server']}: {one['request']} {fields}{body}\n")
        if not call.servers.withheld:
            for text in command.text(call, rows):
                self._around.write(text)

    def _show_json(
        self, command: Command, call: CommandCall, rows: Sequence[Row], failure: ClientError | None
    ) -> None:
        from mqgateway.gateway.mqadmin.rendering import as_json

        errors: list[dict[str, Any]] = list(call.servers.errors)
        if failure is not None:
            entry: dict[str, Any] = {"server": getattr(failure, "address", ""), "error": explained(failure)}
            if isinstance(failure, BrokerError):
                entry["code"] = failure.code
            errors.append(entry)
        self._around.write(as_json(command.name, rows, call.summary, errors))

    def _connected(self, chosen: AdminConfiguration) -> Connections:
        if chosen not in self._connections:
            connect = self._connect(chosen)
            self._connections[chosen] = Connections(connect, self._around.clock, chosen.credentials)
        return self._connections[chosen]

    def _connect(self, chosen: AdminConfiguration) -> Connect:
        return encrypted(chosen.certificates) if chosen.tls else self._around.connect

    def _show_overview(self) -> int:
        from mqgateway.gateway.mqadmin.usage import overview

        self._around.write(overview(self._catalogue))
        return DONE

    def _help(self, command: Command) -> int:
        from mqgateway.gateway.mqadmin.usage import help_of

        self._around.write(help_of(command, self._catalogue))
        return DONE

    def _help_word(self, name: str) -> str:
        return f"help {name}" if self._catalogue is MQADMIN else f"{name} --help"

    def _unknown(self, name: str) -> int:
        from mqgateway.gateway.mqadmin.usage import closest

        near = closest(name, self._catalogue.places)
        meant = f"did you mean {' or '.join(near)}?" if near else ""
        if self._catalogue is MQADMIN:
            self._around.write(f"The sub command {name} not exist.\n")
            if meant:
                self._around.complain(f"{meant}\n")
        else:
            self._fail(f"there is no command {name!r}; {meant or f'see {self._catalogue.program!r} --help'}")
        return USAGE

    def _fail(self, text: str) -> None:
        self._around.complain(error_line(text, self._catalogue.program))


def _begun(rows: Iterator[Row]) -> Iterator[Row]:
    """Return the rows after computing the first one, so that an early failure prints no title line."""
    return itertools.chain(list(itertools.islice(rows, 1)), rows)


def _code_of(failure: ClientError) -> int:
    if isinstance(failure, NoBroker):
        return NOT_FOUND
    is_nothing = isinstance(failure, BrokerError) and failure.code in _NOT_FOUND_CODES
    return NOT_FOUND if is_nothing else FAILED
