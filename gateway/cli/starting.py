"""Steps of the commands that run one server: read or print its settings, and say that it is up."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import click

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.engine.options import OptionSet, SettingProblem, format_value
from mqgateway.gateway.cli.boot import BootLine, log_boot
from mqgateway.gateway.cli.environment import from_environment, unknown_variables
from mqgateway.gateway.cli.service_flags import fail, report
from mqgateway.gateway.cli.settings import from_file, from_flags, from_pairs, from_tls_file, listing, stop_for


class Settings(Protocol):
    """The settings of a server, all of them in one set."""

    options: OptionSet


S = TypeVar("S", bound=Settings)


def apply_given(
    options: OptionSet, given: Mapping[str, Any], flags: Mapping[str, Any]
) -> list[SettingProblem]:
    """Set options from file, environment, `--set` and flags; return what is wrong with them.

    `flags` are those of the command alone, by property. Raises `ConfigError`.
    """
    problems = unknown_variables(os.environ, [options])
    found = from_file(given["config"]) + from_environment(os.environ, options) + from_pairs(given["pairs"])
    found += from_flags({**flags, "bindAddress": given["bind"]})
    return problems + options.apply(from_tls_file(found) + found)


def settings_to_run(
    given: dict[str, Any],
    read: Callable[[dict[str, Any]], tuple[S, list[SettingProblem]]],
    important: Sequence[str],
) -> S | None:
    """Read settings and report what is wrong with them; None if they were only to be printed.

    Ends the process with exit code 2 if they cannot be used. `important` is what `-m` prints.
    """
    output = given["output"]
    try:
        settings, problems = read(given)
    except EngineError as error:
        fail([str(error)], output)
    if stop_for(problems, given["strict"]):
        fail(problems, output)
    report(problems, output)
    if given["important"]:
        click.echo("\n".join(f"{name}={format_value(settings.options.get(name))}" for name in important))
    elif given["print_config"]:
        click.echo(listing(settings.options, output))
    else:
        return settings
    return None


def say_ready(
    output: str, facts: Mapping[str, object], lines: Sequence[str], boot: BootLine, began: float
) -> None:
    """Say that a server is up, which began to start at `began` (s of the monotonic clock).

    `facts` are for `--output json`, `lines` for people.
    """
    seconds = SystemClock().monotonic() - began
    log_boot([boot])
    if output == "json":
        click.echo(json.dumps({**facts, "startedInSeconds": round(seconds, 3), "ready": True}))
    else:
        click.echo("\n".join([*lines, boot.text, f"ready in {seconds:.2f} s"]))
    sys.stdout.flush()
