"""Replication status of brokers."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.mqadmin.rendering import moment
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.answers import answering, body
from tests.support.gateway.mqadmin.tool import MemoryTool


def test_a_master_shows_its_slaves() -> None:
    slave = {
        "addr": "10.0.0.2:5",
        "slaveAckOffset": 90,
        "diff": 10,
        "inSync": True,
        "transferredByteInSecond": 2048,
        "transferFromWhere": 80,
    }
    fields = {
        "master": True,
        "masterCommitLogMaxOffset": 100,
        "inSyncSlaveNums": 1,
        "haConnectionInfo": [slave, {**slave, "inSync": False}],
    }
    tool = answering({RequestCode.GET_BROKER_HA_STATUS: body(fields)})
    assert tool.run("haStatus -b a:1") == 0
    lines = tool.out.split("\n")
    assert lines[1:5] == [
        "#MasterAddr\ta:1",
        "#MasterCommitLogMaxOffset\t100",
        "#SlaveNum\t2",
        "#InSyncSlaveNum\t1",
    ]
    assert lines[6].split() == ["10.0.0.2:5", "90", "10", "2.00", "OK", "80"]
    assert "Fall Behind" in lines[7]


def test_a_slave_shows_its_master() -> None:
    client = {"masterAddr": "a:1", "maxOffset": 7, "transferredByteInSecond": 512, "masterFlushOffset": 5}
    client |= {"lastReadTimestamp": 1_700_000_000_000, "lastWriteTimestamp": 1_700_000_000_001}
    result = body({"master": False, "haClientRuntimeInfo": client})
    tool = answering({RequestCode.GET_BROKER_HA_STATUS: result})
    assert tool.run("haStatus -b a:2") == 0
    assert tool.out == (
        "\n#MasterAddr\ta:1\n#CommitLogMaxOffset\t7\n#TransferSpeed(KB/s)\t0.50\n"
        f"#LastReadTime\t{moment(1_700_000_000_000)}\n#LastWriteTime\t{moment(1_700_000_000_001)}\n"
        "#MasterFlushOffset\t5\n"
    )


def test_status_of_a_master_without_slaves() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("haStatus -c DefaultCluster") == 0 and "#SlaveNum\t0\n" in tool.out
        assert tool.run("haStatus") == 2
