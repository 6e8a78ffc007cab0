"""Missing programs become Debian packages; a user who cannot install them is shown what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.stages import machine
from scripts.stages.machine import HEADER, NotInstallable, exists, install, missing_packages
from scripts.stages.plan import COMPILER, PEERS, SERVERS


def test_missing_programs_name_their_packages_once() -> None:
    assert missing_packages({SERVERS}, lambda place: place == "etcd") == ["etcd-client", "prometheus"]


def test_one_of_several_places_is_enough() -> None:
    lacking = missing_packages({PEERS}, lambda place: place == "/usr/local/go/bin/go")
    assert "golang-go" not in lacking and lacking[0] == "openjdk-17-jdk-headless"


def test_other_groups_are_not_looked_at() -> None:
    assert missing_packages({COMPILER}, lambda place: place != HEADER) == ["python3-dev"]
    assert missing_packages((), lambda place: False) == []


def test_places_are_names_on_the_path_or_files(tmp_path: Path) -> None:
    assert exists("sh") and not exists("no-such-program")
    assert exists(str(tmp_path)) and not exists(str(tmp_path / "header.h"))


def test_user_without_rights_is_shown_which_packages_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    with pytest.raises(NotInstallable, match="missing: maven nodejs; install them, or use --no-peers"):
        install(["maven", "nodejs"])
    install([])


def test_installs_with_sudo_and_reports_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    class Done:
        returncode = 0

    def run(command: list[str], **_: Any) -> Done:
        commands.append(command)
        return Done()

    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(machine.subprocess, "run", run)
    install(["maven"])
    assert [command[:1] + command[3:5] for command in commands] == [
        ["sudo", "apt-get", "update"],
        ["sudo", "apt-get", "install"],
    ]
    Done.returncode = 100
    with pytest.raises(NotInstallable, match="apt-get update failed"):
        install(["maven"])
