"""Where `mqgateway` begins: nouns go their way without what only servers and click's commands need.

Loading that takes longer than most of their calls.
"""

from __future__ import annotations

import sys

from mqgateway.gateway.cli.ending import DONE, PROGRAM, end_with
from mqgateway.gateway.nouns import CATALOGUE, is_noun


def main() -> None:
    """The console script."""
    end_with(run)


def run() -> int:
    """Call what the command line names; the exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--complete"]:
        from mqgateway.gateway.cli.completing import complete

        complete(arguments[1:])
        return DONE
    if arguments[:1] == ["--completion"]:
        from mqgateway.gateway.mqadmin.main import console

        return console(arguments, CATALOGUE)
    if is_noun(arguments):
        from mqgateway.gateway.nouns.main import called

        return called(arguments)
    from mqgateway.gateway.cli.calling import call
    from mqgateway.gateway.cli.main import main as everything

    return call(everything, arguments, PROGRAM)
