"""Which way a command line goes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mqgateway.gateway.cli import calling, entry
from mqgateway.gateway.resources import main as resources


@pytest.mark.parametrize(
    ("line", "is_resource_command"),
    [
        ("topic list", True),
        ("topic", True),
        ("doctor billing", True),
        ("broker list", True),
        pytest.param("broker", False, id="runs a broker"),
        pytest.param("broker -c broker.conf", False, id="runs a broker as its file says"),
        pytest.param("message tail T", False, id="a command that is click's"),
        ("serve", False),
        ("--help", False),
        ("", False),
    ],
)
def test_resource_commands_are_run_without_click(
    monkeypatch: pytest.MonkeyPatch, line: str, is_resource_command: bool
) -> None:
    went: list[str] = []
    monkeypatch.setattr(sys, "argv", ["mqgateway", *line.split()])
    monkeypatch.setattr(resources, "called", lambda words: went.append("resource") or 5)
    monkeypatch.setattr(calling, "call", lambda *called: went.append("click") or 6)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == (5 if is_resource_command else 6)
    assert went == ["resource" if is_resource_command else "click"]


def test_resource_command_loads_neither_click_nor_servers() -> None:
    script = "import sys; sys.argv = ['mqgateway', 'offset', 'reset', '--help']\n"
    script += "from mqgateway.gateway.cli.entry import main\ntry: main()\nexcept SystemExit: pass\n"
    script += "import json; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.startswith("usage: mqgateway offset reset")
    loaded = set(json.loads(output.splitlines()[-1]))
    assert not loaded & {
        "click",
        "twisted",
        "psutil",
        "mqgateway.engine.options.broker",
        "mqgateway.gateway.cli.main",
    }
