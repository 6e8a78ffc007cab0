"""Shell completion of `mqgateway`; with real shells: `tests/gateway/mqadmin/test_shells.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqgateway.gateway.cli.completing import complete, offer


def words(line: str) -> list[str]:
    """Return the candidates for the last word of a line."""
    *before, current = line.split(" ")
    return [one.word for one in offer(before, current).candidates]


def test_the_first_word_is_any_command() -> None:
    assert words("top") == ["top", "topic"]
    assert words("ser") == ["serve"]


def test_resource_is_followed_by_its_commands_from_either_module() -> None:
    assert words("offset ") == ["show", "reset", "undo", "clone"]
    assert words("message ") == ["get", "find", "tail", "send"]
    assert words("message tail T --fol") == ["--follow"]
    assert "--span" in words("top --") and "--json" in words("top --")


def test_resource_that_runs_a_server_has_the_flags_of_that_too() -> None:
    assert words("broker ") == ["list", "status", "add", "remove"]
    assert words("broker --advert") == ["--advertise"]
    assert "--json" in words("broker list --")


def test_admin_is_mqadmin() -> None:
    assert words("admin topicRo") == ["topicRoute"]
    assert words("admin topicRoute --js") == ["--json"]
    assert words("admin updateTopicPerm -p ") == ["2", "4", "6"]
    assert offer(["admin", "updateTopicList", "-f"], "to").has_files


def test_profiles_are_known_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "mqgateway").mkdir()
    (tmp_path / "mqgateway" / "profiles.toml").write_text("[profiles.live]\n[profiles.test]\n")
    assert words("profile use ") == ["live", "test"]
    assert words("topic list --profile t") == ["test"]


def test_a_shell_is_answered_in_its_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    complete(["fish", "offset", "und"])
    assert capsys.readouterr().out.startswith("undo\tmove a group back")
    complete(["fish", "dump", ""])
    assert capsys.readouterr().out == ":files\n"
