"""The JSON output of every resource command matches the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest

from mqgateway.gateway.mqadmin.declaration import Command, every
from mqgateway.gateway.mqadmin.main import USAGE
from mqgateway.gateway.mqadmin.schema import schema
from mqgateway.gateway.resources import CATALOGUE
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool

BROKER = "10.0.0.1:10911"
OPERANDS = {
    "topic": "Orders",
    "group": "billing",
    "message-id": "7F0000010000000000000000000000010000",
    "key": "k1",
    "broker": BROKER,
    "other": BROKER,
    "source": "billing",
    "destination": "refunds",
    "name": "test",
    "value": "4",
}
MORE = {
    "topic create": ["-b", BROKER],
    "topic delete": ["-c", "DefaultCluster"],
    "group create": ["-b", BROKER],
    "group delete": ["-b", BROKER],
    "offset reset": ["--to", "last", "--yes"],
    "offset undo": ["--yes"],
    "dlq replay": ["--yes"],
    "access users": ["-b", BROKER],
    "access policies": ["-b", BROKER],
    "broker status": ["-b", BROKER],
    "config show": ["-b", BROKER],
    "config set": ["-b", BROKER],
    "transaction resume": ["-b", BROKER],
}
"""Arguments of a command beside its operands; other required options are 1."""


@pytest.fixture(scope="module")
def tool() -> Iterator[ResourceTool]:
    """Return the tool with a broker."""
    with Cluster() as cluster:
        yield ResourceTool(cluster)


def _line(command: Command) -> list[str]:
    words = [*command.name.split(), *MORE.get(command.name, ())]
    for one in command.options:
        if one.is_operand:
            words += [f"--{one.long}", OPERANDS.get(one.long, "1")]
        elif one.required and f"-{one.letters}" not in words:
            words += [f"-{one.letters}" if one.letters else f"--{one.long}", "1"]
    return words


@pytest.mark.parametrize("extra", [[], ["--dry-run"]], ids=["done", "dry"])
@pytest.mark.parametrize("command", every(CATALOGUE), ids=lambda one: one.name)
def test_output_of_every_command_matches_the_schema(
    command: Command, extra: list[str], tool: ResourceTool
) -> None:
    for line in (f"topic create Orders -b {BROKER} -r 2 -w 2", f"group create billing -b {BROKER}"):
        assert tool.run(line) == 0, tool.err  # commands before this one may have deleted them
    tool.profiles.write("[profiles.test]\n")
    ended = tool.run("", *_line(command), "--json", "--timeout", "1", *extra)
    assert ended != USAGE, (_line(command), tool.err)
    jsonschema.validate(json.loads(tool.out), schema(CATALOGUE))
    assert tool.out.count("\n") == 1
