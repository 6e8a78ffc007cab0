"""Reads of old data."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.mqadmin.rendering import second
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.answers import answering, body
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def test_limits_are_set_and_taken_away() -> None:
    with Cluster(cold_data_flow_control_enable=True) as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("updateColdDataFlowCtrGroupConfig -c DefaultCluster -g G -v 1000") == 0
        assert tool.out == f"updateColdDataFlowCtrGroupConfig success, {BROKER}\n"
        assert tool.json(f"getColdDataFlowCtrInfo -b {BROKER}")["rows"][0]["info"]["configTable"] == {
            "G": 1000
        }
        assert tool.run(f"removeColdDataFlowCtrGroupConfig -b {BROKER} -g G") == 0
        assert tool.out == f"remove broker cold read threshold success, {BROKER}\n"
        assert tool.run(f"getColdDataFlowCtrInfo -b {BROKER}") == 0
        assert tool.out.startswith(f" ============{BROKER}============\n{{\n")
        assert '\t"configTable":{},\n' in tool.out
        assert tool.run("updateColdDataFlowCtrGroupConfig -c DefaultCluster -g G -v much") == 2


def test_times_of_reads_are_shown() -> None:
    one = {"coldAcc": 1, "lastColdReadTimeMills": 1_700_000_000_000, "createTimeMills": 1_700_000_001_000}
    tool = answering({RequestCode.GET_COLD_DATA_FLOW_CTR_INFO: body({"runtimeTable": {"G": one}})})
    assert tool.run("getColdDataFlowCtrInfo -b a:1") == 0
    assert f'"createTimeFormat":"{second(1_700_000_001_000)}"' in tool.out
    assert f'"lastColdReadTimeFormat":"{second(1_700_000_000_000)}"' in tool.out
    assert "Mills" not in tool.out


def test_reading_ahead() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("setCommitLogReadAheadMode -c DefaultCluster -m 1") == 0
        title = f" ============Master: {BROKER}============\n"
        assert tool.out.startswith(f"{title}commitLog set readAhead mode rstStr")
        assert tool.run(f"setCommitLogReadAheadMode -b {BROKER} -m 2") == 2
