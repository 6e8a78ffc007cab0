"""Completion in real shells, behind a terminal; and what each of them is answered."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from mqgateway.gateway.mqadmin.completion import Candidate, Offer
from mqgateway.gateway.mqadmin.shells import SCRIPTS, laid_out, typed
from mqgateway.testing import Server
from tests.house.source import ROOT
from tests.support.terminal import Terminal

SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOADED = {
    "bash": 'eval "$(mqadmin --completion bash)"',
    "zsh": 'autoload -Uz compinit; compinit -D; eval "$(mqadmin --completion zsh)"',
    "fish": "mqadmin --completion fish | source",
}
MQADMIN = f"""#!/bin/sh
case "$1" in
    --complet*) exec {sys.executable} -c 'from mqgateway.gateway.mqadmin.main import main; main()' "$@" ;;
esac
printf '<%s>' "$@"
"""
"""The real one when a shell asks; otherwise it shows what it was called with."""


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


def test_what_shells_are_answered() -> None:
    offer = Offer([Candidate("127.0.0.1:10911"), Candidate("-t", "the topic")])
    assert laid_out("bash", offer, "") == "127.0.0.1:10911\n-t\n"
    assert laid_out("bash", Offer([Candidate("127.0.0.1:10911")]), "127.0.0.1:1") == "10911\n"
    assert laid_out("zsh", offer, "") == "127.0.0.1\\:10911\n-t:the topic\n"
    assert laid_out("fish", offer, "") == "127.0.0.1:10911\n-t\tthe topic\n"
    assert laid_out("fish", Offer(has_files=True), "") == ":files\n"


@pytest.mark.parametrize("name", ["$(reboot)", "a b", "`x`", "a\nb", "*", "a;b", "'", ""])
def test_names_that_a_shell_would_read_are_left_out(name: str) -> None:
    assert laid_out("bash", Offer([Candidate(name)]), "") == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_commands_options_and_names(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; scripts/test does that")
    program = tmp_path / "mqadmin"
    program.write_text(MQADMIN)
    program.chmod(0o755)
    (tmp_path / "topics-of-today.json").write_text("[]")
    with Server() as server:
        server.create_topic("OrdersOfToday", 1)
        environment = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
            "NAMESRV_ADDR": server.namesrv,
            "LC_ALL": "C.UTF-8",
        }
        with Terminal(SHELLS[shell], environment) as terminal:
            terminal.type(f"{LOADED[shell]}; cd {tmp_path}; echo rea''dy\n")
            terminal.shows("ready")
            terminal.type("mqadmin topicRo\t-t Orders\t--js\t\n")
            terminal.shows("<topicRoute><-t><OrdersOfToday><--json>")
            terminal.type("mqadmin brokerStatus -b 127.0\t\n")
            terminal.shows("<brokerStatus><-b><127.0.0.1:")
            terminal.type("mqadmin updateTopicList -f topics-of\t\n")
            terminal.shows("<updateTopicList><-f><topics-of-today.json>")


def test_each_shell_is_told_something() -> None:
    assert SCRIPTS.keys() == SHELLS.keys()
