"""Groups of click's whose commands are loaded once they are called, and are listed by subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from mqgateway.gateway.cli.calling import Called


class GroupWithLater(Called, click.Group):
    """A group some of whose commands are in modules beside this one, each in the `module` of this name, in
    which {} is the command's. `subjects` are the headings below which its help lists commands; all below one
    otherwise."""

    def __init__(
        self,
        *arguments: Any,
        later: Mapping[str, str],
        module: str = "{}",
        subjects: Mapping[str, Sequence[str]] | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._later = later
        self._module = module
        self._subjects = subjects

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See `click.Group.list_commands`."""
        return sorted({*super().list_commands(ctx), *self._later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See `click.Group.get_command`."""
        if cmd_name in self._later and cmd_name not in self.commands:
            module = import_module(f"mqgateway.gateway.cli.{self._module.format(cmd_name)}")
            self.add_command(getattr(module, cmd_name))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See `click.Group.format_commands`; says what those are for that are not loaded."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        limit = formatter.width - 6 - width
        later = {name: click.Command(name, help=about) for name, about in self._later.items()}
        for subject, members in (self._subjects or {"Commands": names}).items():
            commands = [(name, later.get(name) or self.commands[name]) for name in members]
            with formatter.section(subject):
                formatter.write_dl(
                    [(f"{name:<{width}}", command.get_short_help_str(limit)) for name, command in commands]
                )
