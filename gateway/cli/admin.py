"""`mqgateway admin`: the standard's administration commands, as `mqadmin` has them."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def _completed(context: click.Context, parameter: click.Parameter, current: str) -> list[CompletionItem]:
    """What may come next, as `mqadmin` offers it."""
    import sys

    from mqgateway.gateway.mqadmin.completion import offered
    from mqgateway.gateway.mqadmin.main import Surroundings, Tool

    tool = Tool(Surroundings(sys.stdout.write, sys.stderr.write))
    offer = offered(context.params.get("arguments") or (), current, tool.names)
    if offer.has_files:
        return [CompletionItem(current, type="file")]
    return [CompletionItem(one.word, help=one.about or None) for one in offer.candidates]


class _Passing(click.Command):
    """A command whose options click does not know."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return _completed(ctx, self.params[0], incomplete)


@click.command(
    "admin",
    cls=_Passing,
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=_completed)
def admin(arguments: tuple[str, ...]) -> None:
    """Administration with the standard's commands: `admin help` lists them; also as mqadmin."""
    from mqgateway.gateway.mqadmin.main import console

    raise SystemExit(console(arguments))
