"""`mqgateway profile` keeps profiles in the user's file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main

Run = Callable[..., Result]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the user's file, which does not exist yet."""
    return tmp_path / "mqgateway" / "profiles.toml"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command for a user with an empty folder of settings."""

    def call(line: str, code: int = 0, typed: str | None = None) -> Result:
        environment = {"XDG_CONFIG_HOME": str(tmp_path)}
        monkeypatch.setattr("getpass.getpass", lambda question: typed)
        found = CliRunner().invoke(main, ["profile", *line.split()], env=environment)
        assert found.exit_code == code, found.output
        return found

    return call


def test_a_profile_from_first_to_last(run: Run, path: Path) -> None:
    assert "mqgateway profile set NAME creates one" in run("list").output
    run("set test -n a:1 --access-key me --ask-secret-key --timeout 3", typed="hidden")
    assert path.stat().st_mode & 0o777 == 0o600
    assert 'secret-key = "hidden"' in path.read_text()
    run("set live -n b:1 --tls")
    run("use live")
    assert run("list").output == (
        "NAME  IS CURRENT  NAME SERVERS  ACCESS KEY  TLS  TIMEOUT\n"
        "live         yes  b:1           -           yes        -\n"
        "test          no  a:1           me           no      3.0\n"
    )
    shown = run("show test").output
    assert "nameServers: a:1\n" in shown and "secretKey:   ***\n" in shown and "hidden" not in shown
    assert json.loads(run("show live --json").output)["rows"][0]["tls"]
    run("set live --no-tls")
    live, test = json.loads(run("list --json").output)["rows"]
    assert (live["isCurrent"], live["tls"], test["secretKey"]) == (True, False, "***")
    run("remove live")
    assert [one["name"] for one in json.loads(run("list --json").output)["rows"]] == ["test"]


def test_a_dry_run_and_a_profile_that_is_gone(run: Run, path: Path) -> None:
    run("set test -n a:1 --dry-run")
    assert not path.exists()
    path.parent.mkdir()
    path.write_text("current = 'gone'\n[profiles.test]\n")
    assert "gone" not in run("use test").output, "the way out of it"


def test_comments_of_the_user_are_kept(run: Run, path: Path) -> None:
    path.parent.mkdir()
    path.write_text("# mine\n[profiles.test] # the small one\nname-servers = 'a:1'\n")
    run("set test --timeout 7")
    assert path.read_text().startswith(
        "# mine\n[profiles.test] # the small one\nname-servers = 'a:1'\ntimeout = 7"
    )


def test_invalid_commands_change_nothing(run: Run, path: Path) -> None:
    assert "has no profile 'x'; there are: none" in run("use x", 3).output
    run("show x", 3)
    run("remove x", 3)
    assert "not a number of seconds: '-1'" in run("set test --timeout -1", 2).output
    assert not path.exists()
    path.parent.mkdir()
    path.write_text("[profiles.test]\nnamesrv = 'a:1'\n")
    assert "namesrv: there are name-servers" in run("set test -n a:1", 2).output
    assert path.read_text() == "[profiles.test]\nnamesrv = 'a:1'\n"
