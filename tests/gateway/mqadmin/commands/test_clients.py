"""Connected producers and consumers."""

from __future__ import annotations

from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def test_connected_clients_are_shown() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        cluster.run(cluster.producer("Producers").send(messages("T", 1)[0]))
        connect(cluster, "G", "T", "TagA || TagB")
        tool = MemoryTool(cluster)
        assert tool.run("producerConnection -g Producers -t T") == 0
        number, client, address, language, version = tool.out.split()
        assert number == "0001" and client.startswith("10.0.0.2@") and language == "PYTHON"
        assert tool.run(f"producer -b {BROKER}") == 0
        expected = (
            f"producer group (Producers) instance : clientId={client},remoteIP=/{address}, language=PYTHON, "
        )
        assert expected in tool.out
        assert tool.run("consumerConnection -g G") == 0
        lines = tool.out.split("\n")
        assert lines[0] == f"{'#ClientId':<36} {'#ClientAddr':<22} {'#Language':<10} #Version"
        assert lines[1].split()[2:] == ["PYTHON", version]
        assert f"{'T':<20} TagA || TagB" in lines and "ConsumeType: CONSUME_PASSIVELY" in lines
        assert "MessageModel: CLUSTERING" in lines
        assert (
            tool.json(f"consumerConnection -g G -b {BROKER}")["summary"]["consumeType"] == "CONSUME_PASSIVELY"
        )


def test_group_without_clients_is_reported() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("producerConnection -g Nobody -t TBW102") == 1
        assert "the producer group[Nobody] not exist" in tool.err and tool.out == ""
        assert tool.run("consumerConnection -g Nobody") == 3
        assert tool.run(f"consumerConnection -g Nobody -b {BROKER}") == 3
        assert tool.run(f"producer -b {BROKER}") == 0 and tool.out == ""
