"""Entry point of `mqgateway`. Resource commands start without the modules of servers and click's commands.

Loading those modules takes longer than most calls of a resource command.
"""

from __future__ import annotations

import sys

from mqgateway.gateway.cli.ending import DONE, PROGRAM, end_with
from mqgateway.gateway.resources import CATALOGUE, is_resource_command


def main() -> None:
    """Run the console script."""
    end_with(run)


def run() -> int:
    """Run the command of the command line. Return the exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--complete"]:
        from mqgateway.gateway.cli.completing import complete

        complete(arguments[1:])
        return DONE
    if arguments[:1] == ["--completion"]:
        from mqgateway.gateway.mqadmin.main import console

        return console(arguments, CATALOGUE)
    if is_resource_command(arguments):
        from mqgateway.gateway.resources.main import called

        return called(arguments)
    from mqgateway.gateway.cli.calling import call
    from mqgateway.gateway.cli.main import main as everything

    return call(everything, arguments, PROGRAM)
