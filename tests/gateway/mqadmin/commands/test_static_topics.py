"""Static topics that are created, extended and remapped on brokers in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqgateway.gateway.mqadmin import main
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryTool]:
    """Yield a tool for brokers a, b and c; mapping files go to a folder of the test."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 10_921)
        cluster.add_broker("broker-c", 10_931)
        cluster.settle(1)
        yield MemoryTool(cluster)


def files(tool: MemoryTool) -> list[Any]:
    """Return the contents of the files that the last call named."""
    names = [line.rpartition(" ")[2] for line in tool.out.splitlines()]
    return [json.loads(Path(name).read_text()) for name in names]


def leaders(plan: Any) -> dict[str, str]:
    """Return the last broker of each queue, as a mapping file has it."""
    found = {}
    for name, one in plan["brokerConfigMap"].items():
        for number, items in one["mappingDetail"]["hostedQueues"].items():
            if items[-1]["bname"] == name:
                found[number] = name
    return dict(sorted(found.items()))


def test_a_static_topic_is_made_grows_and_moves(tool: MemoryTool) -> None:
    assert tool.run("updateStaticTopic -t Static -b broker-a,broker-b -qn 2") == main.DONE, tool.err
    lines = tool.out.splitlines()
    assert lines[0].startswith("The old mapping data is written to file ") and lines[0].endswith(".before")
    assert lines[1].startswith("The new mapping data is written to file ") and lines[1].endswith(".after")
    before, after = files(tool)
    assert before["brokerConfigMap"] == {}
    assert leaders(after) == {"0": "broker-a", "1": "broker-b"}
    tool.cluster.settle(1)
    assert tool.run("updateStaticTopic -t Static -c DefaultCluster -qn 4") == main.DONE, tool.err
    assert leaders(files(tool)[1]) == {"0": "broker-a", "1": "broker-b", "2": "broker-c", "3": "broker-a"}
    assert tool.run("remappingStaticTopic -t Static -b broker-c") == main.DONE, tool.err
    assert set(leaders(files(tool)[1]).values()) == {"broker-c"}
    assert tool.run("updateStaticTopic -t Static -b broker-a -qn 5") == main.DONE, tool.err
    before = files(tool)[0]
    items = before["brokerConfigMap"]["broker-c"]["mappingDetail"]["hostedQueues"]["0"]
    assert [(one["bname"], one["logicOffset"]) for one in items] == [("broker-a", 0), ("broker-c", 10_000)]


def test_dry_run_prints_its_requests_and_writes_nothing(tool: MemoryTool, tmp_path: Path) -> None:
    assert tool.run("updateStaticTopic -t Static -b broker-a -qn 2 --dry-run") == main.DONE, tool.err
    asked = tool.out.splitlines()
    assert len(asked) == 3 and all("UPDATE_AND_CREATE_STATIC_TOPIC" in line for line in asked)
    assert list(tmp_path.iterdir()) == []
    assert tool.run("topicRoute -t Static") == main.NOT_FOUND


def test_json_has_files_and_moves(tool: MemoryTool) -> None:
    tool.run("updateStaticTopic -t Static -b broker-a -qn 1")
    plan = tool.json("remappingStaticTopic -t Static -b broker-b")
    assert [row["mapping"] for row in plan["rows"]] == ["old", "new"]
    assert plan["summary"]["moves"] == [
        {"queueId": 0, "from": "broker-a", "to": "broker-b", "logicOffset": 10_000}
    ]


def test_a_move_is_made_from_its_file(tool: MemoryTool, tmp_path: Path) -> None:
    tool.run("updateStaticTopic -t Static -b broker-a -qn 1")
    tool.run("remappingStaticTopic -t Static -b broker-b")
    after = tool.out.splitlines()[1].rpartition(" ")[2]
    again = f"remappingStaticTopic -t Static -b broker-b -mf {after}"
    assert tool.run(again) == main.FAILED and "can not be changed" in tool.err, "it is done already"
    assert tool.run(f"{again} -fr true") == main.DONE, tool.err
    assert tool.run(f"updateStaticTopic -t Other -b broker-b -qn 1 -mf {after}") == main.USAGE
    assert "is for the topic Static, not Other" in tool.err
    assert tool.run(f"updateStaticTopic -t Static -b broker-b -qn 1 -mf {tmp_path}/none") == main.USAGE
    (tmp_path / "no-json").write_text("{")
    assert tool.run(f"remappingStaticTopic -t Static -b broker-b -mf {tmp_path}/no-json") == main.USAGE


def test_refusals_name_their_reason(tool: MemoryTool) -> None:
    assert tool.run("remappingStaticTopic -t Nothing -b broker-b") == main.NOT_FOUND
    assert tool.err == "mqadmin: error: no broker has the topic Nothing\n"
    assert tool.run("updateStaticTopic -t Static -b broker-x -qn 1") == main.NOT_FOUND
    assert tool.err == "mqadmin: error: there is no broker broker-x\n"
    assert tool.run("updateStaticTopic -t Static -c Nowhere -qn 1") == main.NOT_FOUND
    assert tool.run("updateStaticTopic -t TBW102 -b broker-a -qn 1") == main.FAILED
    assert "TBW102 is not a static topic: broker broker-a has it with ordinary queues" in tool.err
    assert tool.run("updateStaticTopic -t Static -b broker-a -qn many") == main.USAGE
