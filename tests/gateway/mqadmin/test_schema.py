"""The `--json` output of every command matches the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest

from mqgateway.gateway.mqadmin.declaration import Command, CommandOption, every
from mqgateway.gateway.mqadmin.main import USAGE
from mqgateway.gateway.mqadmin.schema import schema
from tests.house.source import ROOT
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"
VALUES = {
    "brokerAddr": BROKER,
    "brokerName": "broker-a",
    "clusterName": "DefaultCluster",
    "cluster": "DefaultCluster",
    "topic": "Orders",
    "topicName": "Orders",
    "parentTopic": "Orders",
    "consumerGroup": "billing",
    "groupName": "billing",
    "group": "billing",
    "broker": BROKER,
    "brokers": "broker-a",
    "fromBroker": BROKER,
    "toBroker": BROKER,
    "namesrvAddr": "10.0.0.1:9876",
    "nameserverAddr": "10.0.0.1:9876",
    "srcGroup": "billing",
    "destGroup": "refunds",
    "controllerAddress": "10.0.0.1:9878",
    "brokerContainerAddr": "10.0.0.1:10811",
    "brokerIdentity": "DefaultCluster:broker-a:0",
    "routeTopic": "Orders",
    "subject": "User:alice",
    "resources": "Topic:Orders",
    "actions": "Pub",
    "decision": "Allow",
    "password": "12345678",
    "username": "alice",
    "msgId": "7F0000010000000000000000000000010000",
    "perm": "6",
    "method": "get",
    "mode": "PULL",
    "timestamp": "now",
    "totalQueueNum": "1",
    "commitLogReadAheadMode": "0",
    "configType": "topics",
    "engineType": "F",
}
"""Values of options by long name; other options get a 1."""
MORE = {
    "cleanBrokerMetadata": ["-c", "DefaultCluster"],
    "consumerProgress": ["-g", "billing"],
    "dumpCompactionLog": ["-f", "empty"],
    "exportMetadata": ["-t"],
    "getSyncStateSet": ["-c", "DefaultCluster"],
    "getAcl": ["-s", "User:alice"],
    "getUser": ["-u", "alice"],
    "resetMasterFlushOffset": ["-o", "0"],
    "updateStaticTopic": ["-t", "Static"],
    "remappingStaticTopic": ["-t", "Static"],
}
"""Options that a command does not require by itself, or that need other values."""


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryTool]:
    """Yield a tool for a broker; its files go to a folder of the test."""
    with pytest.MonkeyPatch.context() as patch, Cluster() as cluster:
        folder = tmp_path_factory.mktemp("files")
        patch.chdir(folder)
        patch.setattr("tempfile.tempdir", str(folder))
        patch.setitem(VALUES, "filePath", str(folder))
        patch.setitem(VALUES, "path", str(folder))
        (folder / "empty").touch()
        (folder / "list").write_text("[]")
        patch.setitem(VALUES, "filename", str(folder / "list"))
        yield MemoryTool(cluster)


def _line(command: Command) -> list[str]:
    """Return a usual call: required options, the first of each option group, a broker and a file path."""
    words = [command.name, *MORE.get(command.name, ())]
    groups: set[str] = set()
    for one in command.options:
        is_first = bool(one.group) and one.group not in groups
        groups.add(one.group)
        is_useful = one.required or is_first or (not one.group and one.long in ("brokerAddr", "filePath"))
        if is_useful and f"-{one.letters}" not in words:
            words += _given(one)
    return words


def _given(option: CommandOption) -> list[str]:
    value = VALUES.get(option.long.strip(), "1")
    name = f"-{option.letters}" if option.letters else f"--{option.long}"
    return [name, value] if option.takes_value else [name]


@pytest.mark.parametrize("extra", [[], ["--dry-run"]], ids=["done", "dry"])
@pytest.mark.parametrize("command", every(), ids=lambda one: one.name)
def test_output_of_every_command_matches_the_schema(
    command: Command, extra: list[str], tool: MemoryTool
) -> None:
    for line in (
        f"updateTopic -b {BROKER} -t Orders -r 2 -w 2",
        f"updateTopic -b {BROKER} -t %RETRY%billing -r 1 -w 1",
        f"updateSubGroup -b {BROKER} -g billing",
        "addWritePerm -b broker-a",
        "sendMessage -t Orders -p book -k k1 -c TagA",
    ):
        assert tool.run(line) == 0, tool.err  # commands before this one may have deleted them
    tool.is_impatient = True
    try:
        ended = tool.run("", *_line(command), "--json", "--timeout", "1", *extra)
    except KeyboardInterrupt:
        ended = 0  # of a command that runs until it is interrupted
    assert ended != USAGE, (_line(command), tool.err)
    jsonschema.validate(json.loads(tool.out), schema())
    assert tool.out.count("\n") == 1


def test_schema_is_valid_and_its_published_copy_is_current() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    kept = json.loads((ROOT / "docs" / "mqadmin.schema.json").read_text())
    assert kept == schema(), "python -m mqgateway.gateway.mqadmin.schema > docs/mqadmin.schema.json"


@pytest.mark.parametrize(
    "document",
    [
        {"command": "topicList", "rows": [], "summary": {}},
        {"command": "bogus", "rows": [], "summary": {}, "errors": []},
        {"command": "topicList", "rows": [{"Topic Name": 1}], "summary": {}, "errors": []},
        {"command": "topicList", "rows": [], "summary": {}, "errors": [{"error": "x"}]},
        {"command": "topicList", "rows": [], "summary": {}, "errors": [], "more": 1},
    ],
)
def test_schema_refuses_other_documents(document: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())
