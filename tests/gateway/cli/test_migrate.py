"""`mqgateway migrate`: its files, output, prompts and exit codes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mqgateway.engine.options import load_properties
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import migrate
from mqgateway.gateway.cli.main import main
from mqgateway.gateway.cli.settings import BrokerSettings, from_file
from mqgateway.gateway.migration.handover import ProcessAction
from mqgateway.gateway.migration.plan import Side
from tests.support.gateway.migration.clusters import NEW, OLD, FakeCluster, FakeWorld


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> FakeWorld:
    """A fake cluster that answers the command, and in which brokers start and stop on request."""
    world = FakeWorld(FakeCluster())

    @contextmanager
    def servers(*_: Any) -> Iterator[Any]:
        yield world.cluster

    act = migrate.Terminal.act

    def obeyed(terminal: migrate.Terminal, group: str, side: Side, what: ProcessAction) -> None:
        act(terminal, group, side, what)
        world.obey(what, side.address)

    monkeypatch.setattr(migrate, "asking", servers)
    monkeypatch.setattr(migrate.Terminal, "act", obeyed)
    monkeypatch.setattr(migrate.Terminal, "wait", lambda _, seconds: world.wait(seconds))
    monkeypatch.setattr(migrate.Terminal, "monotonic", lambda _: world.now)
    return world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "moving.json"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["migrate", *(str(each) for each in arguments)])


def planned(path: Path, *more: str) -> Result:
    return run("plan", path, "--new", f"a={NEW}", "--data-dir", path.parent / "new", *more)


def settings(path: Path) -> dict[str, str]:
    return {one.key: one.value for one in load_properties(path.read_text(), "")}


def test_a_plan_has_files_for_each_broker_in_each_role(world: FakeWorld, path: Path) -> None:
    world.cluster.old.settings |= {"flushDiskType": "SYNC_FLUSH", "brokerId": "0", "fileReservedTime": "72"}
    result = planned(path)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"a  {OLD}  2 topics, 1,000 bytes of log\n"
    new = settings(path.parent / "moving-a-new-slave.conf")
    assert new == {
        "brokerClusterName": "C",
        "brokerName": "a",
        "brokerId": "1",
        "brokerRole": "SLAVE",
        "brokerIP1": "10.0.0.2",
        "listenPort": "10911",
        "namesrvAddr": "127.0.0.1:9876",
        "storePathRootDir": str(path.parent / "new" / "a" / "store"),
        "flushDiskType": "SYNC_FLUSH",
        "haCopyWholeLog": "true",
    }
    old = settings(path.parent / "moving-a-old-master.conf")
    assert (old["brokerRole"], old["brokerId"], old["storePathRootDir"]) == ("ASYNC_MASTER", "0", "/old")
    for kind in ("new-slave", "new-master", "old-slave", "old-master"):
        file = path.parent / f"moving-a-{kind}.conf"
        assert not BrokerSettings().options.apply(from_file(str(file)))
        assert file.stat().st_mode & 0o077 == 0


def test_there_and_back(world: FakeWorld, path: Path) -> None:
    planned(path)
    assert run("run", path, "--dry-run").exit_code == 0
    assert world.cluster.asked == []
    moved = run("run", path)
    assert moved.exit_code == 0, moved.output
    assert f"please start with {path.parent}/moving-a-new-slave.conf the broker at {NEW}" in moved.stdout
    assert f"please stop the broker at {OLD}" in moved.stdout
    assert run("verify", path).stdout == f"a  {NEW}  moved\n"
    assert run("rollback", path).exit_code == 0
    assert run("verify", path).stdout == f"a  {OLD}  not moved\n"


def test_the_same_for_programs(world: FakeWorld, path: Path) -> None:
    world.cluster.others = []
    found = json.loads(planned(path, "--json").stdout)
    assert (found["onlyHere"], found["problems"]) == (["T"], [])
    lines = [json.loads(line) for line in run("run", path, "--json").stdout.splitlines()]
    assert [line["act"] for line in lines if "act" in line] == ["begin-slave", "end", "end", "begin-master"]
    row = json.loads(run("verify", path, "--json").stdout)
    assert (row["moved"], row["wrong"], row["log"]) == (True, "", [0, 1000])


def test_obstacle_is_named_and_the_run_refused(world: FakeWorld, path: Path) -> None:
    world.cluster.old.settings["authenticationEnabled"] = "true"
    result = planned(path)
    assert (result.exit_code, "--accept accounts: users and policies" in result.stdout) == (3, True)
    dry = run("run", path, "--dry-run")
    assert (dry.exit_code, "refused: a: users and policies" in dry.stdout) == (1, True)
    refused = run("run", path)
    assert (refused.exit_code, refused.stderr.startswith("mqgateway: error: a: users and policies")) == (
        1,
        True,
    )
    assert world.cluster.asked == []


def test_room_and_settings_are_looked_at(
    world: FakeWorld, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "new").mkdir()
    monkeypatch.setattr(RealDisk, "usage", lambda *_: (2000, 600))
    result = planned(path)
    assert (result.exit_code, "--accept room: 400 bytes of free space are missing" in result.stdout) == (
        3,
        True,
    )
    world.cluster.old.settings["flushDiskType"] = "NEVER"
    refused = planned(path)
    assert (refused.exit_code, "refused: " in refused.stdout) == (3, True)


def test_verify_ends_with_3_where_something_is_missing(world: FakeWorld, path: Path) -> None:
    planned(path)
    run("run", path)
    world.cluster.new.log[1] = 1
    result = run("verify", path)
    assert (result.exit_code, "log up to 1," in result.stdout) == (3, True)


def test_commands_of_the_plan_are_given_to_a_shell(world: FakeWorld, path: Path) -> None:
    planned(path)
    plan = json.loads(path.read_text())
    plan["groups"][0]["new"]["begin_slave"] = f"echo begun > {path.parent}/said"
    plan["groups"][0]["old"]["end"] = "exit 7"
    path.write_text(json.dumps(plan))
    result = run("run", path)
    assert (path.parent / "said").read_text() == "begun\n"
    assert (result.exit_code, "error: a: exit 7 ended with 7" in result.stderr) == (1, True)


def test_wrong_arguments_are_reported(world: FakeWorld, path: Path) -> None:
    result = run("plan", path, "--new", "a")
    assert (result.exit_code, "write it as broker-a=" in result.stderr) == (2, True)
    assert run("plan", path).exit_code == 2
    missing = run("run", path)
    assert (missing.exit_code, "No such file" in missing.stderr) == (1, True)
    planned(path)
    unknown = run("run", path, "--group", "z")
    assert (unknown.exit_code, "no group z" in unknown.stderr) == (1, True)


@pytest.mark.parametrize("command", ["plan", "run", "verify", "rollback"])
def test_help_has_examples(command: str) -> None:
    shown = run(command, "--help")
    assert (shown.exit_code, f"mqgateway migrate {command} moving.json" in shown.output) == (0, True)
