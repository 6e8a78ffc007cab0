"""Messages of queues, read and printed."""

from __future__ import annotations

from mqgateway.gateway.client.message import Message
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

QUEUE = "MessageQueue [topic=T, brokerName=broker-a, queueId=0]"


def _tool(cluster: Cluster) -> MemoryTool:
    cluster.make_topic("T", 1)
    producer = cluster.producer()
    for tag in ("A", "B", "A"):
        cluster.run(producer.send(Message("T", f"body {tag}", tags=tag)))
        cluster.settle(1.0)
    return MemoryTool(cluster)


def test_all_queues() -> None:
    with Cluster() as cluster:
        tool = _tool(cluster)
        assert tool.run("printMsg -t T") == 0
        lines = tool.out.split("\n")
        assert lines[0] == f"minOffset=0, maxOffset=3, {QUEUE}"
        assert [line[-12:] for line in lines[1:4]] == ["BODY: body A", "BODY: body B", "BODY: body A"]
        assert lines[4] == "-" * 56
        assert tool.run("printMsg -t T -d false -s B") == 0
        assert tool.out.count("MSGID: ") == tool.out.count("BODY: NOT PRINT BODY") == 1
        assert tool.run(f"printMsg -t T -b {cluster.clock.millis() - 1500} -c nothing") == 2
        assert tool.run("printMsg -t Nothing") == 3


def test_one_queue() -> None:
    with Cluster() as cluster:
        tool = _tool(cluster)
        assert tool.run("printMsgByQueue -t T -a broker-a -i 0 -f true") == 0
        assert tool.out == f"Tag: {'A':<30} Count: 2\nTag: {'B':<30} Count: 1\n"
        assert tool.run("printMsgByQueue -t T -a broker-a -i 0 -p true -d true") == 0
        assert tool.out.count("BODY: body A") == 2
        assert tool.run("printMsgByQueue -t T -a broker-z -i 0") == 3


def test_some_messages() -> None:
    with Cluster() as cluster:
        tool = _tool(cluster)
        assert tool.run("consumeMessage -t T -b broker-a -i 0 -o 1 -c 1") == 0
        first, *rest = tool.out.split("\n")
        assert first == "The oldler 1 message will be provided"
        assert rest[0] == "Consume ok" and rest[1].endswith("BODY: body B") and rest[2:] == [""]
        assert tool.run("consumeMessage -t T -c 2") == 0
        assert tool.out.startswith("The older 2 message of the 0 queue will be provided\nConsume ok\n")
        assert tool.run("consumeMessage -t T") == 0
        assert tool.out.endswith(f"{QUEUE} print msg finished. status=NO_NEW_MSG, offset=3\n")
        assert tool.run("consumeMessage -t T -b broker-a -i 0 -o 9") == 0
        assert tool.out == f"{QUEUE} no matched msg, offset=9\n"


def test_invalid_combinations_of_options_are_refused() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        for wrong in ("-c 0", "-i 1", "-b broker-a -o 1", "-s 9999999999999", "-e 1 -s 2"):
            assert tool.run(f"consumeMessage -t T {wrong}") == 2
