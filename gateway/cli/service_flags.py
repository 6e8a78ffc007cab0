"""Common parts of the commands that run a service: flags, logging and reports of problems."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import click

from mqgateway.engine.clock import SystemClock, seconds_since_boot
from mqgateway.engine.options import SettingProblem
from mqgateway.engine.options.logs import LogOptions
from mqgateway.gateway.cli.calling import Called
from mqgateway.gateway.cli.ending import USAGE, complain, end_with
from mqgateway.gateway.cli.log_levels import LogLevels
from mqgateway.gateway.cli.logs import start_logging

STARTED_AT = "SERVE_STARTED_AT"
"""Variable in which `scripts/serve` passes the time at which it starts this program, in s since the epoch."""

LOG_FORMATS = ("text", "json")
FILE = click.Path(dir_okay=False)
PORT = click.IntRange(0, 65535)
HELP = {"help_option_names": ["-h", "--help"]}


class StandardCommand(Called):
    """A command with RocketMQ's name, whose long flags may also have one dash: `-namesrvAddr`.

    Standard: commons-cli, which matches a long name before it reads a word as single letters.
    """

    def main(self, *arguments: Any, **named: Any) -> Any:
        """See `click.Command.main`. Each of these commands is a console script."""
        end_with(lambda: super(StandardCommand, self).main(*arguments, **named))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        names = {name for parameter in self.params for name in parameter.opts if name.startswith("--")}
        words = [f"-{arg}" if f"-{arg}".partition("=")[0] in names else arg for arg in args]
        return super().parse_args(ctx, words)


standard = partial(click.command, cls=StandardCommand, context_settings=HELP)
"""Decorator that declares a command with RocketMQ's name."""


def important_flag(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flag that prints RocketMQ's important properties."""
    names = ("-m", "--printImportantConfig", "important")
    return click.option(*names, is_flag=True, help="Print the important settings and exit.")(command)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that every server command has."""
    for option in (
        click.option(
            "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Set a property; repeatable."
        ),
        click.option("--strict", is_flag=True, help="Refuse to start if a setting is invalid or unknown."),
        click.option(
            *("-p", "--print-config", "--printConfigItem", "print_config"),
            is_flag=True,
            help="Print all effective settings and exit.",
        ),
        click.option("--bind", metavar="ADDRESS", help="Listen on this address only.  [default: all]"),
        click.option(
            "--output",
            type=click.Choice(LOG_FORMATS),
            default="text",
            help="Format of output and logs.",
        ),
        click.option(
            "--log-level",
            type=click.Choice(("debug", "info", "warning", "error")),
            default="info",
            help="Minimum log level. logLevels sets the levels of single loggers.",
        ),
        click.option(
            "--log-dir",
            type=click.Path(file_okay=False),
            help="Log to files in this folder, named like RocketMQ's. Only warnings go to standard error.",
        ),
    ):
        command = option(command)
    return command


def fail(problems: Sequence[SettingProblem | str], output: str) -> NoReturn:
    """Report the problems of the settings and end with exit code 2."""
    if all(not isinstance(one, str) and one.severity == "warning" for one in problems):
        problems = [
            *problems,
            "not started because of these warnings and --strict; fix the settings or omit --strict",
        ]
    report(problems, output)
    raise SystemExit(USAGE)


def report(problems: Sequence[SettingProblem | str], output: str) -> None:
    """Print problems to standard error, one a line."""
    for problem in problems:
        if output == "json":
            fields = {"error": problem} if isinstance(problem, str) else vars(problem)
            click.echo(json.dumps(fields), err=True)
        else:
            severity = "error" if isinstance(problem, str) else problem.severity
            complain(str(problem), severity=severity)


def begin_logging(given: Mapping[str, Any], servers: Mapping[str, LogOptions]) -> LogLevels:
    """Start logging by the flags and the options of this process's servers, keyed by their names in `FILES`.

    Return the levels, which follow the options when they are polled. An unwritable folder ends the process.
    """
    try:
        start_logging(given["output"], given["log_level"], folder=log_folder(given), servers=list(servers))
    except OSError as error:
        fail([f"--log-dir: {error}; choose another folder"], given["output"])
    levels = LogLevels(list(servers.values()))
    levels.follow()
    return levels


def log_folder(given: Mapping[str, Any]) -> str | None:
    """Return the folder of `--log-dir`, None without it."""
    return os.path.abspath(given["log_dir"]) if given["log_dir"] else None


def process_start() -> float:
    """Return the start of this process by the monotonic clock, including that of the interpreter.

    The time of a script that ran before in the same process is excluded: it passes its end, in s since the
    epoch, in `STARTED_AT`.
    """
    import psutil

    clock = SystemClock()
    # Both are off by the same fraction of a second, which the kernel does not report.
    age: float = seconds_since_boot() - (psutil.Process().create_time() - psutil.boot_time())
    try:
        became = float(os.environ.get(STARTED_AT, 0))
    except ValueError:
        became = 0.0
    since_then = clock.millis() / 1000 - became
    return clock.monotonic() - max(0.0, min(age, since_then))
