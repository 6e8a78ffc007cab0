"""Brokers: settings, figures, files."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.answers import answering
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def test_settings_are_shown_and_changed() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("updateBrokerConfig -c DefaultCluster -k slaveReadEnable -v true") == 0
        assert tool.out == f"update broker config success, {BROKER}\n"
        why = "not kept beyond a restart: there is no settings file; name one with -c"
        assert tool.err == f"mqadmin: note: {BROKER}: {why}\n"
        assert tool.run(f"getBrokerConfig -b {BROKER}") == 0
        assert tool.out.startswith(f"============{BROKER}============\n")
        assert f"{'slaveReadEnable':<50}=  true\n" in tool.out and tool.out.endswith("\n\n")
        assert tool.run("getBrokerConfig -c DefaultCluster") == 0
        assert tool.out.startswith(f"============Master: {BROKER}============\n")
        assert tool.run(f"updateBrokerConfig -b {BROKER} -k brokerId -v x") == 1
        assert tool.run("updateBrokerConfig -k a -v b") == 2


def test_settings_of_slaves_are_changed_on_request() -> None:
    tool = answering({RequestCode.GET_BROKER_CONFIG: RemotingCommand.response(0, body=b"a=1\n")})
    line = "updateBrokerConfig -c C -k a -v 2"
    assert len(tool.json(line)["rows"]) == len(tool.json(f"{line} -a false")["rows"]) == 1
    assert [row["broker"] for row in tool.json(f"{line} -a true")["rows"]] == ["a:1", "a:2"]
    assert tool.run("getBrokerConfig -c C") == 0
    assert "============My Master: a:1=====Slave: a:2============\n" in tool.out


def test_figures_are_shown_by_name() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"brokerStatus -b {BROKER}") == 0
        assert f"{'brokerVersionDesc':<32}: V5_5_0\n" in tool.out
        assert tool.run("brokerStatus -c DefaultCluster") == 0
        assert f"{BROKER:<24} {'brokerVersionDesc':<32}: V5_5_0\n" in tool.out


def test_expired_files_and_unused_topics_are_cleaned() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        for name in ("cleanExpiredCQ", "deleteExpiredCommitLog", "cleanUnusedTopic"):
            for where in ("", f" -b {BROKER}", " -c DefaultCluster"):
                assert tool.run(name + where) == 0 and tool.out == "success\n"
            assert tool.run(f"{name} -b 10.0.0.1:1") == 1 and tool.out == ""
            assert tool.run(f"{name} --dry-run") == 0 and tool.out.startswith(f"would ask {BROKER}: ")


def test_master_flush_offset_and_timer_engine_are_set() -> None:
    tool = answering({})
    assert tool.run("resetMasterFlushOffset -b a:2 -o 100") == 0
    assert tool.out == "reset master flush offset to 100 success\n"
    assert tool.asked[-1][1].ext_fields == {"masterFlushOffset": "100"}
    assert tool.run("resetMasterFlushOffset -b a:2") == 2
    assert tool.run("switchTimerEngine -c C -e R") == 0
    assert tool.out == "switchTimerEngine to ROCKSDB_TIMELINE success, a:1\n"
    assert tool.run("switchTimerEngine -b a:1 -e X") == 2
