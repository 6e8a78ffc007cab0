"""`mqgateway admin`: RocketMQ's administration commands, as `mqadmin` has them."""

from __future__ import annotations

import click


@click.command(
    "admin",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def admin(arguments: tuple[str, ...]) -> None:
    "Run a command of Apache's mqadmin: `admin help` lists them."
    from mqgateway.gateway.mqadmin.main import console

    raise SystemExit(console(arguments))
