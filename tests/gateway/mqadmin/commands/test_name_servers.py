"""Name servers: keys, settings, permissions of brokers."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import GetKVConfigRequestHeader
from tests.fuzz.world import NAMESRV_PORT
from tests.support.gateway.client.cluster import NAMESRV, Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool


def _value(cluster: Cluster) -> str | None:
    header = GetKVConfigRequestHeader(namespace="space", key="key")
    return cluster.meet(NAMESRV_PORT).ask(RequestCode.GET_KV_CONFIG, header).ext_fields.get("value")


def test_keys_are_set_and_deleted() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("updateKvConfig -s space -k key -v value") == 0
        assert tool.out == "create or update kv config to namespace success.\n"
        assert _value(cluster) == "value"
        assert tool.run("deleteKvConfig -s space -k key") == 0
        assert tool.out == "delete kv config from namespace success.\n"
        assert _value(cluster) is None


def test_a_broker_is_written_to_no_more_and_again() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("wipeWritePerm -b broker-a") == 0
        assert tool.out.startswith(f"wipe write perm of broker[broker-a] in name server[{NAMESRV}] OK, ")
        assert tool.json("topicRoute -t TBW102")["rows"][0]["perm"] & 2 == 0
        assert tool.run("addWritePerm -b broker-a") == 0
        assert tool.out.startswith(f"add write perm of broker[broker-a] in name server[{NAMESRV}] OK, ")
        assert tool.json("topicRoute -t TBW102")["rows"][0]["perm"] & 2


def test_settings_are_shown_and_changed() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run(f"updateNamesrvConfig -k orderMessageEnable -v true -n {NAMESRV}") == 0
        assert tool.out == f"update name server config success![{NAMESRV}]\norderMessageEnable : true\n"
        assert tool.run("updateNamesrvConfig -k orderMessageEnable -v true") == 0
        assert tool.out == "update name server config success!\norderMessageEnable : true\n"
        assert tool.run("getNamesrvConfig") == 0
        assert tool.out.startswith(f"============{NAMESRV}============\n")
        assert f"{'orderMessageEnable':<50}=  true\n" in tool.out
        assert tool.run("getNamesrvConfig -n 10.0.0.1:1") == 1
