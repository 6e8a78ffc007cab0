"""The commands without a running server: help, printed settings, and errors for wrong settings."""

import json
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from mqgateway.gateway.cli.container import mqbrokercontainer
from mqgateway.gateway.cli.controller import mqcontroller
from mqgateway.gateway.cli.main import main, mqbroker, mqnamesrv
from mqgateway.gateway.mqadmin.declaration import every
from mqgateway.gateway.mqadmin.parsing import OURS
from mqgateway.gateway.resources import CATALOGUE
from tests.house.source import ROOT


def invoke(*arguments: str, command=main, env: dict[str, str] | None = None):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command, arguments, env=env or {})


@pytest.mark.parametrize("arguments", [(), ("serve",), ("namesrv",), ("broker",), ("dump",)])
def test_every_command_has_help(arguments: tuple[str, ...]) -> None:
    for flag in ("-h", "--help"):
        result = invoke(*arguments, flag)
        assert result.exit_code == 0
        assert result.output.startswith("Usage:")


def test_commands_named_as_in_rocketmq_accept_its_flags(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=a\n")
    result = invoke("-c", str(file), "-n", "127.0.0.1:1", "-p", command=mqbroker)
    assert result.exit_code == 0
    assert "brokerName=a" in result.output
    assert "namesrvAddr=127.0.0.1:1" in result.output
    result = invoke("-p", command=mqnamesrv)
    assert result.exit_code == 0
    assert "listenPort=9876" in result.output


@pytest.mark.parametrize("dash", ["--", "-"])
def test_long_flags_of_rocketmq(tmp_path: Path, dash: str) -> None:
    """Flags in the forms of commons-cli: one dash or two, the value after a blank or an equals sign."""
    file = tmp_path / "any.conf"
    file.write_text("listenPort=12345\n")
    flags = (f"{dash}configFile", str(file), f"{dash}namesrvAddr=10.1.1.1:1;10.1.1.2:1")
    for command in (mqbroker, mqbrokercontainer, mqcontroller, mqnamesrv):
        result = invoke(*flags, f"{dash}printConfigItem", command=command)
        assert result.exit_code == 0, result.output
        assert "listenPort=12345" in result.output
        assert ("namesrvAddr=10.1.1.1:1;10.1.1.2:1" in result.output) == (
            command in (mqbroker, mqbrokercontainer)
        )
    for command in (mqbroker, mqbrokercontainer):
        result = invoke(*flags, f"{dash}printImportantConfig", command=command)
        assert (result.exit_code, len(result.output.splitlines()) < 12) == (0, True)
        assert "namesrvAddr=10.1.1.1:1;10.1.1.2:1" in result.output.splitlines()
    paths = (f"{dash}brokerConfigPaths", "/a.conf:/b.conf", "-p")
    assert "brokerConfigPaths=/a.conf:/b.conf" in invoke(*paths, command=mqbrokercontainer).output


def test_unsupported_setting_is_named_as_the_only_cause(tmp_path: Path) -> None:
    """The missing id of the slave, an error as well, is not reported."""
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=a\nbrokerRole=SLAVE\nbrokerId=-1\nstoreType=defaultRocksDB\n")
    result = invoke("-c", str(file), command=mqbroker)
    first, *others = result.stderr.splitlines()
    assert result.exit_code == 2 and first.startswith(
        f"mqgateway: error: {file}:4: storeType=defaultRocksDB: "
    )
    assert "not in RocksDB" in first and not others


def test_a_broker_in_a_group_has_to_be_one_of_its_members(tmp_path: Path) -> None:
    """A broker in a group needs neither role nor id."""
    file = tmp_path / "broker.conf"
    lines = "brokerName=a\nbrokerRole=SLAVE\nbrokerId=-1\nenableDLegerCommitLog=true\ndLegerSelfId=n1\n"
    file.write_text(lines + "dLegerPeers=n0-127.0.0.1:40911\n")
    result = invoke("-c", str(file), command=mqbroker)
    assert result.exit_code == 2 and "dLegerSelfId=n1: dLegerPeers has no such id" in result.stderr


def test_a_broker_under_a_controller_needs_neither_role_nor_id(tmp_path: Path) -> None:
    """The broker needs the address of the controller."""
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=a\nbrokerRole=SLAVE\nbrokerId=-1\nenableControllerMode=true\n")
    result = invoke("-c", str(file), "-p", command=mqbroker)
    assert (result.exit_code, "controllerAddr: set the addresses" in result.stderr) == (2, True)
    file.write_text(file.read_text() + "controllerAddr=10.0.0.1:9878\n")
    assert invoke("-c", str(file), "-p", command=mqbroker).exit_code == 0


def test_the_important_settings_alone(tmp_path: Path) -> None:
    result = invoke("-m", command=mqbroker)
    assert result.exit_code == 0
    assert "brokerRole=ASYNC_MASTER" in result.output.splitlines()
    assert len(result.output.splitlines()) < 12


def test_serve_prints_the_settings_of_both_as_json(tmp_path: Path) -> None:
    result = invoke("serve", "--data-dir", str(tmp_path), "-p", "--output", "json")
    assert result.exit_code == 0
    text = result.output
    namesrv, end = json.JSONDecoder().raw_decode(text)
    broker = json.loads(text[end:])
    places = {row["name"]: row["value"] for row in namesrv}
    assert places["kvConfigPath"] == str(tmp_path / "namesrv" / "kvConfig.json")
    roots = {row["name"]: row["value"] for row in broker}
    assert roots["storePathRootDir"] == str(tmp_path / "store")


def test_serve_gives_settings_to_the_service_they_are_for() -> None:
    """TLS goes to both, because clients connect to both; a common port or thread count goes to the broker."""
    pairs = ("tls.server.mode=enforcing", "listenPort=10922", "kvConfigPath=/kv.json")
    flags = [part for pair in pairs for part in ("--set", pair)]
    text = invoke("serve", *flags, "-p", "--output", "json").output
    namesrv, end = json.JSONDecoder().raw_decode(text)
    broker = json.loads(text[end:])
    ours, theirs = ({row["name"]: row["value"] for row in rows} for rows in (namesrv, broker))
    assert ours["tls.server.mode"] == theirs["tls.server.mode"] == "enforcing"
    assert (ours["listenPort"], theirs["listenPort"]) == ("9876", "10922")
    assert ours["kvConfigPath"] == "/kv.json"


def test_a_wrong_value_stops_the_start_and_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerName=a\nflushDiskType=SYNC\n")
    result = invoke("broker", "-c", str(file))
    assert result.exit_code == 2
    assert f"{file}:2" in result.stderr
    assert "flushDiskType=SYNC" in result.stderr


def test_a_misspelt_key_stops_only_a_strict_start(tmp_path: Path) -> None:
    result = invoke("broker", "--set", "brokerNmae=a", "--strict")
    assert result.exit_code == 2
    assert "did you mean brokerName?" in result.stderr
    result = invoke("broker", "--set", "brokerNmae=a", "-p")
    assert result.exit_code == 0
    assert "did you mean brokerName?" in result.stderr


def test_a_missing_file_is_reported_as_json_where_asked() -> None:
    result = invoke("broker", "-c", "/no/such.conf", "--output", "json")
    assert result.exit_code == 2
    assert "cannot be read" in json.loads(result.stderr)["error"]


def test_dump_prints_a_table(tmp_path: Path) -> None:
    file = tmp_path / "topics.json"
    file.write_text('{"dataVersion":{"counter":1}}')
    result = invoke("dump", str(file))
    assert result.exit_code == 0
    assert 'dataVersion={"counter":1}' in result.output


def test_dump_of_an_unknown_file_ends_with_an_error(tmp_path: Path) -> None:
    file = tmp_path / "poem"
    file.write_text("roses")
    result = invoke("dump", str(file))
    assert result.exit_code == 1
    assert "--kind" in result.stderr


def test_dump_has_examples_and_prints_json(tmp_path: Path) -> None:
    assert "mqgateway dump capture.bin --kind frame" in invoke("dump", "-h").output
    file = tmp_path / "topics.json"
    file.write_text('{"dataVersion":{"counter":1}}')
    result = invoke("dump", str(file), "--json")
    assert json.loads(result.stdout) == {"at": 0, "dataVersion": {"counter": 1}}


def test_misspelt_key_and_contradicting_setting_are_both_reported(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("brokerRole=SLAVE\nbrokerIdd=1\n")
    lines = invoke("broker", "-c", str(file)).stderr.splitlines()
    assert "did you mean brokerId?" in lines[0] and "a slave's id must be greater than 0" in lines[1]


def commands_of(command: click.Command, name: str) -> dict[str, click.Command]:
    """Return every subcommand of a command, by the words that call it."""
    found = {name: command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            below = command.get_command(context, part)
            assert below is not None
            found |= commands_of(below, f"{name} {part}")
    return found


def test_the_page_of_commands_names_what_there_is() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    commands = {**commands_of(main, "mqgateway"), "mqbroker": mqbroker, "mqnamesrv": mqnamesrv}
    commands |= {"mqbrokercontainer": mqbrokercontainer, "mqcontroller": mqcontroller}
    flags = {flag for command in commands.values() for one in command.params for flag in one.opts}
    flags |= {f"--{one.long}" for one in OURS} | {"--batch", "--completion"}
    flags |= {f"--{option.long}" for one in every(CATALOGUE) for option in one.options}
    assert set(re.findall(r"--[a-zA-Z][-a-zA-Z]+", page)) <= flags | {"--help"}
    assert all(re.search(rf"\b{name.split()[-1]}\b", page) for name in commands if name.count(" ") == 1)
    examples = re.findall(r"^(?:.* \| )?mqgateway ([a-z]+) ", page, re.M)
    assert {f"mqgateway {word}" for word in examples} <= set(commands)


def test_shell_completes_flags_of_the_rocketmq_names_as_documented() -> None:
    variable = "_MQBROKER_COMPLETE"
    assert variable in (ROOT / "docs" / "commands.md").read_text()
    shell = ShellComplete(mqbroker, {}, "mqbroker", variable)
    offered = [item.value for item in shell.get_completions([], "--print")]
    assert sorted(offered) == ["--print-config", "--printConfigItem", "--printImportantConfig"]
