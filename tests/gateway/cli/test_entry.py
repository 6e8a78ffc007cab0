"""Which way a command line goes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mqgateway.gateway.cli import calling, entry
from mqgateway.gateway.nouns import main as nouns


@pytest.mark.parametrize(
    ("line", "is_noun"),
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
def test_nouns_go_their_own_way(monkeypatch: pytest.MonkeyPatch, line: str, is_noun: bool) -> None:
    went: list[str] = []
    monkeypatch.setattr(sys, "argv", ["mqgateway", *line.split()])
    monkeypatch.setattr(nouns, "called", lambda words: went.append("noun") or 5)
    monkeypatch.setattr(calling, "call", lambda *called: went.append("click") or 6)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == (5 if is_noun else 6)
    assert went == ["noun" if is_noun else "click"]


def test_a_noun_loads_neither_click_nor_servers() -> None:
    script = "import sys; sys.argv = ['mqgateway', 'offset', 'reset', '--help']\n"
    script += "from mqgateway.gateway.cli.entry import main\ntry: main()\nexcept SystemExit: pass\n"
    script += "import json; print(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.startswith("usage: mqgateway offset reset")
    loaded = set(json.loads(told.splitlines()[-1]))
    assert not loaded & {
        "click",
        "twisted",
        "psutil",
        "mqgateway.engine.options.broker",
        "mqgateway.gateway.cli.main",
    }
