"""Where `mqgateway` begins: nouns go their way without what only servers and click's commands need.

Loading that takes longer than most of their calls.
"""

from __future__ import annotations

import sys

from mqgateway.gateway.nouns import CATALOGUE, is_noun


def main() -> None:
    """The console script."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--complete"]:
        from mqgateway.gateway.cli.completing import complete

        complete(arguments[1:])
    elif arguments[:1] == ["--completion"]:
        from mqgateway.gateway.mqadmin.main import console

        sys.exit(console(arguments, CATALOGUE))
    elif is_noun(arguments):
        from mqgateway.gateway.nouns.main import called

        sys.exit(called(arguments))
    else:
        from mqgateway.gateway.cli.main import main as everything

        everything()
