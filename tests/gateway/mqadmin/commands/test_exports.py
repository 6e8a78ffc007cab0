"""Exports of broker data to files."""

from __future__ import annotations

import json
from pathlib import Path

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.answers import answering
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def test_topics_and_groups_are_exported(tmp_path: Path) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 3)
        cluster.make_topic("%RETRY%G", 1)
        tool = MemoryTool(cluster)
        assert tool.run(f"updateSubGroup -b {BROKER} -g G") == 0
        assert tool.run(f"exportMetadata -c DefaultCluster -f {tmp_path}") == 0
        assert tool.out == f"export {tmp_path}/metadata.json success\n"
        found = json.loads((tmp_path / "metadata.json").read_text())
        assert found.keys() == {"exportTime", "topicConfigTable", "subscriptionGroupTable"}
        assert list(found["topicConfigTable"]) == ["T"] and list(found["subscriptionGroupTable"]) == ["G"]
        assert found["topicConfigTable"]["T"]["readQueueNums"] == 3
        assert tool.run(f"exportMetadata -b {BROKER} -t -s -f {tmp_path}") == 0
        found = json.loads((tmp_path / "topic.json").read_text())
        assert list(found["topicConfigTable"]) == ["%RETRY%G", "T"]
        assert tool.run(f"exportMetadata -b {BROKER} -g -f {tmp_path}") == 0
        assert "topicConfigTable" not in json.loads((tmp_path / "subscriptionGroup.json").read_text())
        assert tool.run(f"exportMetadata -b {BROKER}") == 2


def test_exported_topics_are_accepted_by_update_topic_list(tmp_path: Path) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 3)
        tool = MemoryTool(cluster)
        (row,) = tool.json(f"exportMetadata -c DefaultCluster -t -f {tmp_path}")["rows"]
        file = tmp_path / "list.json"
        file.write_text(json.dumps(list(row["content"]["topicConfigTable"].values())))
        assert tool.run(f"updateTopicList -b {BROKER} -f {file}") == 0


def test_settings_and_metrics_are_exported(tmp_path: Path) -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"exportConfigs -c DefaultCluster -f {tmp_path}") == 0
        found = json.loads((tmp_path / "configs.json").read_text())
        assert found["clusterScale"] == {"namesrvSize": 1, "masterBrokerSize": 1, "slaveBrokerSize": 0}
        assert found["brokerConfigs"]["broker-a"]["brokerRole"] == "ASYNC_MASTER"
        assert tool.run(f"exportMetrics -c DefaultCluster -f {tmp_path}") == 0
        found = json.loads((tmp_path / "metrics.json").read_text())
        quota = found["evaluateReport"]["broker-a"]["runtimeQuota"]
        assert quota["tps"].keys() == {"normalInTps", "normalOutTps", "transInTps", "scheduleInTps"}
        assert found["totalData"]["totalTps"]["totalNormalInTps"] == quota["tps"]["normalInTps"]
        assert found["evaluateReport"]["broker-a"]["runtimeVersion"]["rocketmqVersion"] == "V5_5_0"
        assert tool.run("exportConfigs -c Other") == 3


def test_unwritable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"exportConfigs -c DefaultCluster -f {tmp_path / 'file'}") == 1
        assert "cannot be written" in tool.err
        assert tool.run(f"exportConfigs -c DefaultCluster -f {tmp_path / 'none'} --dry-run") == 0
        assert not (tmp_path / "none").exists()


def test_pop_checkpoints_are_exported_unless_it_is_a_dry_run() -> None:
    tool = answering(
        {RequestCode.GET_BROKER_CONFIG: RemotingCommand.response(0, body=b"brokerName=broker-a\n")}
    )
    expected = "Export broker records, brokerName=broker-a, brokerAddr=a:1, dryRun="
    assert tool.run("exportPopRecord -b a:1") == 0 and tool.out == f"{expected}false\n"
    assert tool.asked[-1][1].code == RequestCode.POP_ROLLBACK
    assert tool.run("exportPopRecord -c C -d true") == 0 and tool.out.startswith(f"{expected}true\n")
    assert tool.asked[-1][1].code == RequestCode.GET_BROKER_CONFIG
