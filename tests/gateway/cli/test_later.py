"""Commands that are imported when they are called."""

from __future__ import annotations

import json
import subprocess
import sys

import click

from mqgateway.gateway.cli.main import LATER, main


def test_listed_summaries_equal_the_short_help_of_the_commands() -> None:
    context = click.Context(main)
    for name, about in LATER.items():
        command = main.get_command(context, name)
        assert command is not None and command.name == name
        assert command.get_short_help_str(200).rstrip(".") == about.rstrip(".")


def test_help_and_servers_load_none_of_them() -> None:
    script = "import sys; from mqgateway.gateway.cli.main import main\n"
    script += "try: main(['--help'])\nexcept SystemExit: pass\n"
    script += "import json; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "  store        Check, rebuild, count, convert, back up" in output
    loaded = set(json.loads(output.splitlines()[-1]))
    assert not loaded & {f"mqgateway.gateway.cli.{name}" for name in LATER}


def test_an_unknown_command_is_refused() -> None:
    context = click.Context(main)
    assert main.get_command(context, "later") is None
