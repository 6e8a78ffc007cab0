"""Click commands `mqgateway topic`, `group`, `doctor` and so on, which call the resource commands in
`gateway.resources`, or click commands that belong to a resource."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from mqgateway.gateway.cli import examples
from mqgateway.gateway.cli.calling import call as call_command
from mqgateway.gateway.resources import ABOUT, ELSEWHERE, PLACES, RUN_SERVERS


def called(arguments: tuple[str, ...]) -> int:
    """Run a command line whose first word is a resource. Return the exit code."""
    from mqgateway.gateway.resources.main import called as call

    name = " ".join(arguments[:2])
    if name not in ELSEWHERE:
        return call(arguments)
    found = import_module(f"mqgateway.gateway.cli.{ELSEWHERE[name][0]}")
    command: click.Command = getattr(found, arguments[1])
    return call_command(command, list(arguments[2:]), f"mqgateway {name}")


def _command(name: str, about: str, *words: str) -> click.Command:
    """Return a command that passes its arguments on, preceded by `words`."""

    def run(arguments: tuple[str, ...]) -> None:
        raise SystemExit(called((*words, *arguments)))

    return click.Command(
        name,
        callback=run,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        help=about,
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
        add_help_option=False,
    )


RESOURCE_COMMANDS = [_command(name, about, name) for name, about in ABOUT.items() if name not in RUN_SERVERS]


def with_verbs(resource: str, run: Callable[..., None], options: Callable[..., Any]) -> click.Group:
    """Return a group that runs a server when called alone, and has the resource commands of its name."""

    def alone(**given: Any) -> None:
        if click.get_current_context().invoked_subcommand is None:
            run(**given)

    alone.__doc__ = run.__doc__
    group = click.group(resource, epilog=examples.BROKER, invoke_without_command=True)(options(alone))
    for name, (_, about) in PLACES.items():
        if name.startswith(f"{resource} "):
            verb = name.partition(" ")[2]
            group.add_command(_command(verb, f"{about[:1].upper()}{about[1:]}.", resource, verb))
    return group
