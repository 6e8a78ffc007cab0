"""`mqgateway cluster status`: output as text and as JSON, and exit codes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from mqgateway.gateway.cli.main import main
from mqgateway.gateway.mqadmin import connection
from tests.gateway.mqadmin.test_cluster_status import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A scripted cluster whose servers answer in place of real sockets."""
    made = World()
    monkeypatch.setattr(connection, "plain", lambda *where: made.servers()._connections._connect(*where))
    return made


def status(*more: str) -> Result:
    return CliRunner().invoke(main, ["cluster", "status", "-n", "n:1", *more])


def test_all_is_well(world: World) -> None:
    world.in_sync = {1, 2}
    ended = status()
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith("controllers  n0   k:1") and "master a:1, epoch 3" in ended.stdout


def test_something_is_wrong(world: World) -> None:
    ended = status("--json", "--cluster", "C", "--controller", "k:1")
    assert ended.exit_code == 3
    found = json.loads(ended.stdout)
    assert list(found) == ["controllers", "groups", "problems", "errors"]
    assert found["problems"] == ["broker-a: 2 at a:2 is not in sync"]


def test_unreachable_broker_ends_with_3(world: World) -> None:
    world.in_sync = {1, 2}
    world.gone = {"a:2"}
    ended = status("--access-key", "k", "--secret-key", "s")
    assert ended.exit_code == 3
    assert "mqgateway: error: cannot connect to a:2 (refused); check that" in ended.stderr


def test_unreachable_name_server_ends_with_1(world: World) -> None:
    world.gone = {"n:1"}
    ended = status()
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith("mqgateway: error: cannot connect to n:1")


def test_a_key_needs_its_secret(world: World) -> None:
    ended = status("--access-key", "k")
    assert ended.exit_code == 2 and "--secret-key" in ended.stderr
