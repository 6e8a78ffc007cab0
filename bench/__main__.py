"""`python -m bench NAME`: all benchmarks by name; without a name, the rows beside Apache's broker."""

import ast
from importlib import import_module
from pathlib import Path

import click

DEFAULT = "messages"
"""The benchmark that runs if no name is given, as `tox -e bench` does."""
GROUPS = {
    "Beside another implementation": (
        "messages",
        "kafka",
        "grpc",
        "clients",
        "commands",
        "replication",
        "succession",
        "spark",
    ),
    "As load, data or members grow": ("curves", "scale", "store", "topics"),
    "Where the time goes": ("micro", "floor", "profile", "scrape", "watched"),
}
"""Benchmarks by the heading under which `--help` lists them; each is a module of this package."""


class Benchmarks(click.Group):
    """The benchmarks as commands. Only the one that runs is imported, so that it is measured alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default in front of options that follow no name."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return [name for names in GROUPS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a benchmark; None for an unknown name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"bench.{cmd_name}").main
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list for each group."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary(name)) for name in names])


def summary(name: str) -> str:
    """Return the first line of the help of a benchmark, without an import of what it needs."""
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text())
    mains = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    return (ast.get_docstring(mains[0]) or "").partition("\n")[0].rstrip(".")


@click.command(
    cls=Benchmarks, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}
)
def main() -> None:
    """Run a benchmark, `messages` if none is named; `python -m bench NAME --help` lists its options."""


if __name__ == "__main__":
    main()
