"""Lite topics, as a server answers that has some."""

from __future__ import annotations

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin.rendering import moment
from tests.support.gateway.mqadmin.answers import CLUSTER, answering, body

ROUTE = body({"brokerDatas": [CLUSTER["brokerAddrTable"]["broker-a"]], "queueDatas": []})
THEN = ManualClock().millis() - 60_000


def _tool(code: RequestCode, answer: object):  # type: ignore[no-untyped-def]
    return answering({RequestCode.GET_ROUTEINFO_BY_TOPIC: ROUTE, code: body(answer)})


def test_a_broker() -> None:
    answer = {"storeType": "default", "maxLmqNum": 9, "currentLmqNum": 1, "topicMeta": {"P": 60}}
    tool = _tool(RequestCode.GET_BROKER_LITE_INFO, answer)
    assert tool.run("getBrokerLiteInfo -c C") == 0
    head, row, _ = tool.out.split("\n")
    assert head.startswith(f"{'#Broker':<30} {'#Store Type':<17} {'#Max LMQ':<10}")
    assert row.split() == ["a:1", "default", "9", "1", "0", "0", "0", "0", "0"]
    assert tool.run("getBrokerLiteInfo -b a:1 -d") == 0
    assert tool.out.endswith('Topic Meta: {"P":60}\nGroup Meta: {}\n\n')


def test_a_parent() -> None:
    answer = {"topic": "P", "ttl": 60, "groups": ["G", "F"], "lmqNum": 3, "liteTopicCount": 2}
    tool = _tool(RequestCode.GET_PARENT_TOPIC_INFO, answer)
    assert tool.run("getParentTopicInfo -p P") == 0
    first, head, row, _ = tool.out.split("\n")
    assert first == "Parent Topic Info: [P]" and head.split()[-1] == "#GROUPS"
    assert row.split() == ["broker-a", "60", "2", "3", "[F,", "G]"]


def test_a_lite_topic() -> None:
    answer = {
        "parentTopic": "P",
        "liteTopic": "L",
        "subscriber": [{"clientId": "c1", "group": "G"}],
        "topicOffset": {"minOffset": 1, "maxOffset": 5, "lastUpdateTimestamp": THEN},
        "shardingToBroker": True,
    }
    tool = _tool(RequestCode.GET_LITE_TOPIC_INFO, answer)
    assert tool.run("getLiteTopicInfo -p P -l L -s") == 0
    first, _, row, clients, _ = tool.out.split("\n")
    assert first == "Lite Topic Info: [P] [L] [%LMQ%$P$L]"
    assert row.split() == ["broker-a", "1", "5", *moment(THEN).split(), "true", "1"]
    assert clients == "[c1@G]"


def test_a_client() -> None:
    answer = {"liteTopicSet": ["L"], "liteTopicCount": 1, "lastAccessTime": THEN, "lastConsumeTime": -1}
    tool = _tool(RequestCode.GET_LITE_CLIENT_INFO, answer)
    assert tool.run("getLiteClientInfo -p P -g G -c c1 -s") == 0
    first, _, row, topics, *_ = tool.out.split("\n")
    assert first == "Lite Client Info: [P] [G] [c1]"
    assert row.split() == ["broker-a", "1", *moment(THEN).split(), "N/A"]
    assert topics == "Lite Topics: [L]"


def test_a_group() -> None:
    worst = [{"liteTopic": "L1", "lagCount": 1, "earliestUnconsumedTimestamp": THEN}]
    worst += [{"liteTopic": "L2", "lagCount": 8, "earliestUnconsumedTimestamp": -1}]
    answer = {
        "group": "G",
        "totalLagCount": 9,
        "earliestUnconsumedTimestamp": THEN,
        "lagCountTopK": worst,
        "lagTimestampTopK": worst[:1],
        "liteTopicOffsetWrapper": {"brokerOffset": 9, "consumerOffset": 2, "lastTimestamp": THEN},
    }
    tool = _tool(RequestCode.GET_LITE_GROUP_INFO, answer)
    assert tool.run("getLiteGroupInfo -p P -g G") == 0
    lines = tool.out.split("\n")
    assert lines[:3] == [
        "Lite Group Info: [G] [P]",
        "Total Lag Count: 9",
        f"Min Unconsumed Timestamp: {THEN} (60 s ago)",
    ]
    assert lines[4] == "------TopK by lag count-----"
    assert [line.split()[:3] for line in lines[6:8]] == [["1", "L2", "8"], ["2", "L1", "1"]]
    assert lines[9] == "------TopK by lag time------"
    assert tool.run("getLiteGroupInfo -p P -g G -l L1") == 0
    assert tool.out.split("\n")[2].split() == ["broker-a", "9", "2", "7", *moment(THEN).split()]
    assert "TopK" not in tool.out


def test_clients_are_notified_of_waiting_messages() -> None:
    tool = answering({RequestCode.GET_ROUTEINFO_BY_TOPIC: ROUTE})
    assert tool.run("triggerLiteDispatch -p P -g G") == 0
    assert tool.out == f"Group And Topic Info: [G] [P]\n\n{'broker-a':<30} {'dispatched':<12}\n"
    assert tool.json("triggerLiteDispatch -p P -g G -b other")["rows"] == []
    refusal = RemotingCommand.response(1, remark="no")
    tool = answering({RequestCode.GET_ROUTEINFO_BY_TOPIC: ROUTE, RequestCode.TRIGGER_LITE_DISPATCH: refusal})
    assert tool.run("triggerLiteDispatch -p P -g G") == 1 and "error" in tool.out
