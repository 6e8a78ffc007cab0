"""Where `mqgateway` begins: nouns go their way without what only servers and click's commands need.

Loading that takes longer than most of their calls.
"""

from __future__ import annotations

import sys

from mqgateway.gateway.nouns import is_noun


def main() -> None:
    """The console script."""
    arguments = sys.argv[1:]
    if is_noun(arguments):
        from mqgateway.gateway.nouns.main import called

        sys.exit(called(arguments))
    from mqgateway.gateway.cli.main import main as everything

    everything()
