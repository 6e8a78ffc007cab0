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
    """The user's file, which is not there yet."""
    return tmp_path / "mqgateway" / "profiles.toml"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A call for a user with an empty folder of settings."""

    def call(line: str, code: int = 0, typed: str | None = None) -> Result:
        environment = {"XDG_CONFIG_HOME": str(tmp_path)}
        found = CliRunner().invoke(main, ["profile", *line.split()], input=typed, env=environment)
        assert found.exit_code == code, found.output
        return found

    return call


def test_a_profile_from_first_to_last(run: Run, path: Path) -> None:
    assert "mqgateway profile set NAME makes one" in run("list").output
    run("set test -n a:1 --access-key me --ask-secret-key --timeout 3", typed="hidden\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert 'secret-key = "hidden"' in path.read_text()
    run("set live -n b:1 --tls")
    run("use live")
    assert run("list").output == f"* {'live':<20} b:1\n  {'test':<20} a:1\n"
    shown = run("show test").output
    assert "name-servers  a:1\n" in shown and "secret-key    ***\n" in shown and "hidden" not in shown
    assert json.loads(run("show live --json").output) == {"name-servers": "b:1", "tls": True}
    run("set live --no-tls")
    assert json.loads(run("list --json").output) == {
        "current": "live",
        "profiles": {
            "live": {"name-servers": "b:1"},
            "test": {"name-servers": "a:1", "access-key": "me", "secret-key": "***", "timeout": 3.0},
        },
    }
    run("remove live")
    assert run("list").output == f"  {'test':<20} a:1\n"


def test_what_people_wrote_stays(run: Run, path: Path) -> None:
    path.parent.mkdir()
    path.write_text("# mine\n[profiles.test] # the small one\nname-servers = 'a:1'\n")
    run("set test --timeout 7")
    assert path.read_text().startswith(
        "# mine\n[profiles.test] # the small one\nname-servers = 'a:1'\ntimeout = 7"
    )


def test_what_is_wrong_changes_nothing(run: Run, path: Path) -> None:
    assert "has no profile 'x'; there are: none" in run("use x", 3).output
    run("show x", 3)
    run("remove x", 3)
    assert "timeout = -1.0: seconds are wanted" in run("set test --timeout -1", 2).output
    assert not path.exists()
    path.parent.mkdir()
    path.write_text("[profiles.test]\nnamesrv = 'a:1'\n")
    assert "namesrv: there are name-servers" in run("set test -n a:1", 2).output
    assert path.read_text() == "[profiles.test]\nnamesrv = 'a:1'\n"
