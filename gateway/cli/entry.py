"""Where `mqgateway` begins: nouns go their way without what only servers and click's commands need.

Loading that takes longer than most of their calls.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The console script."""
    from mqgateway.gateway.nouns.main import called, is_noun

    arguments = sys.argv[1:]
    if is_noun(arguments):
        sys.exit(called(arguments))
    from mqgateway.gateway.cli.main import main as everything

    everything()
