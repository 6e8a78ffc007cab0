"""What the commands that run a service have in common: flags, and how problems are reported."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import Problem

STARTED_AT = "SERVE_STARTED_AT"
"""The variable by which `scripts/serve` says when it was done with what comes before."""

LOG_FORMATS = ("text", "json")
FILE = click.Path(dir_okay=False)
HELP = {"help_option_names": ["-h", "--help"]}


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags every server command has."""
    for option in (
        click.option(
            "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Set a property; repeatable."
        ),
        click.option("--strict", is_flag=True, help="Do not start when any setting is wrong or unknown."),
        click.option("-p", "--print-config", is_flag=True, help="Print all effective settings and exit."),
        click.option("--bind", metavar="ADDRESS", help="Listen on this address only.  [default: all]"),
        click.option(
            "--output",
            type=click.Choice(LOG_FORMATS),
            default="text",
            help="Form of what is printed and logged.",
        ),
        click.option(
            "--log-level",
            type=click.Choice(("debug", "info", "warning", "error")),
            default="info",
            help="Least level that is logged to standard error.",
        ),
    ):
        command = option(command)
    return command


def fail(problems: Sequence[Problem] | Sequence[str], output: str) -> None:
    """Report what is wrong with the settings and end with exit code 2."""
    report(problems, output)
    raise SystemExit(2)


def report(problems: Sequence[Problem] | Sequence[str], output: str) -> None:
    """Print problems to standard error, one a line."""
    for problem in problems:
        if output == "json":
            fields = {"error": problem} if isinstance(problem, str) else vars(problem)
            click.echo(json.dumps(fields), err=True)
        else:
            severity = "error" if isinstance(problem, str) else problem.severity
            click.echo(f"{severity}: {problem}", err=True)


def process_start() -> float:
    """When this process began, on the monotonic clock: starting the interpreter is part of the start.

    What a script did in the same process before it became this program is not: it says when, in s since the
    epoch, by `STARTED_AT`.
    """
    import psutil

    clock = SystemClock()
    try:
        became = float(os.environ.get(STARTED_AT, 0))
    except ValueError:
        became = 0.0
    began: float = max(psutil.Process().create_time(), became)
    return clock.monotonic() - max(0.0, clock.millis() / 1000 - began)
