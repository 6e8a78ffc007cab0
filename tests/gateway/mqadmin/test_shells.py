"""Completion in real shells at a terminal, and the answer format of each shell."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqgateway.gateway.mqadmin import shells
from mqgateway.gateway.mqadmin.completion import Candidate, Offer
from mqgateway.gateway.mqadmin.shells import laid_out, script, typed
from mqgateway.testing import Server
from tests.house.source import ROOT
from tests.support.terminal import Terminal

SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOADED = {
    "bash": 'eval "$({0} --completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -D; eval "$({0} --completion zsh)"',
    "fish": "{0} --completion fish | source",
}
PROGRAM = f"""#!/bin/sh
case "$1" in
    --complet*) exec {sys.executable} -c 'from mqgateway.gateway.{{0}} import main; main()' "$@" ;;
esac
printf '<%s>' "$@"
"""
"""Runs the real program for a completion; otherwise it prints its arguments."""


def test_words_of_a_line() -> None:
    assert typed("zsh", ["topicRoute", "-t", "Or"]) == (["topicRoute", "-t"], "Or")
    assert typed("fish", []) == ([], "")
    assert typed("bash", ["mqadmin topicRoute -t Or"]) == (["topicRoute", "-t"], "Or")
    assert typed("bash", ["mqadmin topicRoute -t "]) == (["topicRoute", "-t"], "")
    assert typed("bash", ["mqadmin sendMessage -p 'a b' -t 'Or"]) == (
        ["sendMessage", "-p", "a b", "-t"],
        "Or",
    )
    assert typed("bash", []) == ([], "")


def test_answer_has_the_format_of_its_shell() -> None:
    offer = Offer([Candidate("127.0.0.1:10911"), Candidate("-t", "the topic")])
    assert laid_out("bash", offer, "") == "127.0.0.1:10911\n-t\n"
    assert laid_out("bash", Offer([Candidate("127.0.0.1:10911")]), "127.0.0.1:1") == "10911\n"
    assert laid_out("zsh", offer, "") == "127.0.0.1\\:10911\n-t:the topic\n"
    assert laid_out("fish", offer, "") == "127.0.0.1:10911\n-t\tthe topic\n"
    assert laid_out("fish", Offer(has_files=True), "") == ":files\n"


@pytest.mark.parametrize("name", ["$(reboot)", "a b", "`x`", "a\nb", "*", "a;b", "'", ""])
def test_names_that_a_shell_would_read_are_left_out(name: str) -> None:
    assert laid_out("bash", Offer([Candidate(name)]), "") == ""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield a shell's environment for a server with a topic and a group; the shell's home has a file."""
    (tmp_path / "topics-of-today.json").write_text("[]")
    with Server() as server:
        server.create_topic("OrdersOfToday", 1)
        server.create_topic("%RETRY%billing-of-today", 1)
        yield {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
            "NAMESRV_ADDR": server.namesrv,
            "LC_ALL": "C.UTF-8",
        }


@contextmanager
def ready(shell: str, environment: dict[str, str], name: str, module: str) -> Iterator[Terminal]:
    """Run a shell that completes the words of a program."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; scripts/test does that")
    program = Path(environment["HOME"]) / name
    program.write_text(PROGRAM.format(module))
    program.chmod(0o755)
    with Terminal(SHELLS[shell], environment) as terminal:
        terminal.type(f"{LOADED[shell].format(name)}; cd {environment['HOME']}; echo rea''dy\n")
        terminal.shows("ready")
        yield terminal


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_commands_options_and_names(shell: str, shop: dict[str, str]) -> None:
    with ready(shell, shop, "mqadmin", "mqadmin.main") as terminal:
        terminal.type("mqadmin topicRo\t-t Orders\t--js\t\n")
        terminal.shows("<topicRoute><-t><OrdersOfToday><--json>")
        terminal.type("mqadmin brokerStatus -b 127.0\t\n")
        terminal.shows("<brokerStatus><-b><127.0.0.1:")
        terminal.type("mqadmin updateTopicList -f topics-of\t\n")
        terminal.shows("<updateTopicList><-f><topics-of-today.json>")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_resource_commands(shell: str, shop: dict[str, str]) -> None:
    with ready(shell, shop, "mqgateway", "cli.entry") as terminal:
        terminal.type("mqgateway offs\tres\tbilling\tOrders\t--dry\t\n")
        terminal.shows("<offset><reset><billing-of-today><OrdersOfToday><--dry-run>")
        terminal.type("mqgateway admin topicRo\t-t Orders\t\n")
        terminal.shows("<admin><topicRoute><-t><OrdersOfToday>")
        terminal.type("mqgateway message tai\tT --foll\t\n")
        terminal.shows("<message><tail><T><--follow>")


def test_each_shell_has_a_script() -> None:
    assert set(shells.SHELLS) == SHELLS.keys()
    assert all("mqgateway" in script(one, "mqgateway") for one in SHELLS)
