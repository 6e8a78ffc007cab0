"""The brokers of clusters."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.answers import answering, body
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"
BUSY = {
    "brokerVersionDesc": "V5_5_0",
    "putTps": "12.345 1 1",
    "getTransferredTps": "6.0 1 1",
    "sendThreadPoolQueueSize": "1",
    "sendThreadPoolQueueHeadWaitTimeMills": "2",
    "pullThreadPoolQueueSize": "3",
    "pullThreadPoolQueueHeadWaitTimeMills": "4",
    "timerReadBehind": "5",
    "timerOffsetBehind": "6",
    "timerCongestNum": "15000",
    "timerEnqueueTps": "0.5",
    "timerDequeueTps": "0.25",
    "pageCacheLockTimeMills": "7",
    "earliestMessageTimeStamp": str(1_700_000_000_000 - 5_400_000),
    "commitLogDiskRatio": "0.12345",
    "brokerActive": "true",
}
MORE = {
    "msgPutTotalYesterdayMorning": "1",
    "msgPutTotalTodayMorning": "11",
    "msgPutTotalTodayNow": "31",
    "msgGetTotalYesterdayMorning": "2",
    "msgGetTotalTodayMorning": "5",
    "msgGetTotalTodayNow": "9",
}


def test_list_shows_the_load_of_each_broker() -> None:
    tool = answering({RequestCode.GET_BROKER_RUNTIME_INFO: body({"table": BUSY})})
    assert tool.run("clusterList") == 0
    head, master, slave, _ = tool.out.split("\n")
    titles = "#Cluster Name #Broker Name #BID #Addr #Version #InTPS(LOAD) #OutTPS(LOAD) "
    assert head.split() == f"{titles} #Timer(Progress) #PCWait(ms) #Hour #SPACE #ACTIVATED".split()
    load = "12.35(1,2ms) 6.00(3,4ms|N,Nms) 5-6(1.5w, 0.5, 0.2) 7 1.50 0.1235 true"
    assert master.split() == f"C broker-a 0 a:1 V5_5_0 {load}".split()
    assert slave.split()[2:4] == ["1", "a:2"]
    assert head.index("#Addr") == master.index("a:1")


def test_list_shows_the_messages_of_yesterday_and_today() -> None:
    tool = answering({RequestCode.GET_BROKER_RUNTIME_INFO: body({"table": MORE})})
    assert tool.run("clusterList -m -c C") == 0
    assert tool.out.split("\n")[1].split() == ["C", "broker-a", "10", "3", "20", "4"]
    assert tool.json("clusterList -c Other")["rows"] == []


def test_unreachable_broker_is_shown_as_inactive() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        producer = cluster.producer()
        cluster.run(producer.send(messages("T", 1)[0]))
        tool = MemoryTool(cluster)
        assert tool.json("clusterList")["rows"][0]["isActive"] is True
        cluster.cut(10911)
        assert tool.run("clusterList") == 1
        assert "false" in tool.out and "connect to" in tool.err
        assert tool.run("clusterList -c Nowhere") == 3 and tool.out == ""
        cluster.mend(10911)
