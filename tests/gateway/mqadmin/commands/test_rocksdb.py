"""RocksDB commands, and the refusal of those that would have to read its files."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin import main
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool, ScriptedTool

NAMESRV = "-n 10.0.0.1:9876"


def test_check_of_consume_queues_is_started() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"checkRocksdbCqWriteProgress -c DefaultCluster {NAMESRV}") == main.DONE
        assert tool.out == "broker-a check doing, please wait and get the result from log... \n"
        assert tool.run(f"checkRocksdbCqWriteProgress -c Nowhere {NAMESRV}") == main.NOT_FOUND
        assert tool.run("checkRocksdbCqWriteProgress -c DefaultCluster") == main.USAGE


def test_failed_check_reports_its_reason() -> None:
    broker = b'{"brokerAddrs":{0:"h:1"},"brokerName":"b","cluster":"C"}'
    info = b'{"brokerAddrTable":{"b":' + broker + b'},"clusterAddrTable":{"C":["b"]}}'

    def answer(address: str, request: RemotingCommand) -> RemotingCommand:
        if request.code == RequestCode.GET_BROKER_CLUSTER_INFO:
            return RemotingCommand.response(0, body=info)
        return RemotingCommand.response(0, body=b'{"checkStatus":3,"checkResult":"no such topic"}')

    tool = ScriptedTool(ManualClock(), answer)
    assert tool.run("checkRocksdbCqWriteProgress -c C -n ns:1 -t T -cf 5") == main.DONE
    assert tool.out == "b check error, please check log... errInfo: no such topic\n"
    assert tool.asked[-1][1].ext_fields == {"topic": "T", "checkStoreTime": "5"}


def test_brokers_write_their_tables() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("rocksDBConfigToJson -c DefaultCluster") == main.DONE
        first = "Use [rpc mode] call all brokers in cluster to export to json file \n"
        assert tool.out == f"{first}broker export done."
        assert tool.run("rocksDBConfigToJson -b 10.0.0.1:10911 -t topics") == main.DONE
        assert tool.out == "Use [rpc mode] call broker to export to json file \nbroker export done."
        assert tool.run("rocksDBConfigToJson -b 10.0.0.1:10911 -t tables") == main.USAGE
        assert "Invalid configType: tables" in tool.err
        assert tool.run("rocksDBConfigToJson") == main.USAGE
        assert tool.run("rocksDBConfigToJson -b 10.0.0.1:10911 --dry-run") == main.DONE
        assert "EXPORT_ROCKSDB_CONFIG_TO_JSON" in tool.out


def test_files_are_not_read(tmp_path: Path) -> None:
    tool = ScriptedTool(ManualClock(), lambda address, request: RemotingCommand.response(0))
    assert tool.run(f"exportMetadataInRocksDB -p {tmp_path} -t topics") == main.FAILED
    assert (
        tool.err.startswith("mqadmin: error: RocksDB files are not supported here")
        and tool.err.count("\n") == 1
    )
    assert tool.run(f"exportMetadataInRocksDB -p {tmp_path}/none -t topics") == main.USAGE
    assert tool.run(f"rocksDBConfigToJson -p {tmp_path} -t topics") == main.FAILED
    assert tool.asked == []
