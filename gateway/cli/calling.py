"""Calls of commands of click's: they end, and report wrong usage, as all commands do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from mqgateway.gateway.cli.ending import DONE, INTERRUPTED, PROGRAM, complain


def call(command: click.Command, arguments: Sequence[str] | None, name: str, **more: Any) -> int:
    """Call a command by the name that its user knows it by. Returns its exit code."""
    program = name.partition(" ")[0]
    try:
        ended = command.main(arguments, name, standalone_mode=False, **more)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        complain(_usage(error, name), program=program)
        return error.exit_code
    except click.ClickException as error:
        complain(error.format_message().rstrip("."), program=program)
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    return ended if isinstance(ended, int) else DONE


def _usage(error: click.UsageError, name: str) -> str:
    """Return what is wrong, and where to look up what is right."""
    path = name if error.ctx is None else error.ctx.command_path
    text = error.format_message().strip().rstrip(".")
    return f"{text}; see '{path} --help'"


class Called(click.Command):
    """A command that is an entry point: called alone it ends the process as all commands end it."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **more: Any
    ) -> Any:
        """See `click.Command.main`."""
        if not more.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **more)
        sys.exit(call(self, args, prog_name or self.name or PROGRAM, **more))
