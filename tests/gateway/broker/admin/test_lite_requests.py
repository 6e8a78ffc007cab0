"""200074 to 200079: what administration sees of lite topics."""

from typing import Any

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    GetLiteClientInfoRequestHeader,
    GetLiteGroupInfoRequestHeader,
    GetLiteTopicInfoRequestHeader,
    GetParentTopicInfoRequestHeader,
    TriggerLiteDispatchRequestHeader,
)
from mqgateway.gateway.codec.lenient_json import loads
from tests.support.gateway.broker.helpers import Answer
from tests.support.gateway.broker.lite import LiteBroker, queue


@pytest.fixture
def broker() -> LiteBroker:
    """Client c1 of G reads a and b; a has two messages, of which one was consumed."""
    made = LiteBroker()
    made.bind("W", wildcard="true")
    made.control("COMPLETE_ADD", "a", "b")
    made.control("COMPLETE_ADD", client_id="w1", group="W")
    made.post("a", b"1", b"2")
    answer = made.ask_pop(max_msg_num=1)
    made.ack(answer, answer.messages[0])
    return made


def shown(answer: Answer) -> dict[str, Any]:
    assert answer.code == 0, answer.remark
    found: dict[str, Any] = loads(answer.arrived.body)
    return found


def test_the_broker(broker: LiteBroker) -> None:
    found = shown(broker.ask(RequestCode.GET_BROKER_LITE_INFO))
    assert found["topicMeta"] == {"chat": 20}
    assert sorted(found["groupMeta"]["chat"]) == ["G", "W"]
    assert (found["currentLmqNum"], found["maxLmqNum"], found["liteSubscriptionCount"]) == (1, 20000, 3)
    assert (found["orderInfoCount"], found["offsetTableSize"], found["eventMapSize"]) == (1, 1, 2)
    assert found["storeType"] == "default"


def test_a_parent(broker: LiteBroker) -> None:
    header = GetParentTopicInfoRequestHeader(topic="chat")
    found = shown(broker.ask(RequestCode.GET_PARENT_TOPIC_INFO, header))
    assert sorted(found.pop("groups")) == ["G", "W"]
    assert found == {"liteTopicCount": 1, "lmqNum": 1, "topic": "chat", "ttl": 20}


def test_a_lite_topic(broker: LiteBroker) -> None:
    header = GetLiteTopicInfoRequestHeader(parent_topic="chat", lite_topic="a")
    found = shown(broker.ask(RequestCode.GET_LITE_TOPIC_INFO, header))
    ends = {"lastUpdateTimestamp": broker.clock.millis(), "maxOffset": 2, "minOffset": 0}
    assert found["topicOffset"] == ends and found["shardingToBroker"] is True
    assert sorted((one["clientId"], one["group"]) for one in found["subscriber"]) == [("*", "W"), ("c1", "G")]
    header = GetLiteTopicInfoRequestHeader(parent_topic="chat", lite_topic="none")
    found = shown(broker.ask(RequestCode.GET_LITE_TOPIC_INFO, header))
    assert found["topicOffset"] == {"lastUpdateTimestamp": 0, "maxOffset": 0, "minOffset": 0}


def test_a_client(broker: LiteBroker) -> None:
    def asked(client_id: str, count: int) -> dict[str, Any]:
        header = GetLiteClientInfoRequestHeader(
            parent_topic="chat", group="G", client_id=client_id, max_count=count
        )
        return shown(broker.ask(RequestCode.GET_LITE_CLIENT_INFO, header))

    found = asked("c1", 1000)
    assert sorted(found["liteTopicSet"]) == [queue("a"), queue("b")]
    assert (found["liteTopicCount"], found["lastAccessTime"]) == (2, broker.clock.millis())
    assert asked("c1", 1)["liteTopicSet"] == [queue("a")]
    assert (asked("none", 9)["liteTopicCount"], asked("none", 9)["lastAccessTime"]) == (-1, -1)


def test_a_group(broker: LiteBroker) -> None:
    def asked(lite: str) -> dict[str, Any]:
        header = GetLiteGroupInfoRequestHeader(group="G", lite_topic=lite, top_k=5)
        return shown(broker.ask(RequestCode.GET_LITE_GROUP_INFO, header))

    now = broker.clock.millis()
    found = asked("a")
    assert (found["totalLagCount"], found["earliestUnconsumedTimestamp"]) == (1, now)
    ends = {"brokerOffset": 2, "consumerOffset": 1, "lastTimestamp": now, "pullOffset": 0}
    assert found["liteTopicOffsetWrapper"] == ends
    assert (asked("none")["totalLagCount"], asked("none")["earliestUnconsumedTimestamp"]) == (-1, -1)
    assert "liteTopicOffsetWrapper" not in asked("none")
    assert asked("")["lagCountTopK"] == []


def test_clients_are_notified_of_all_messages(broker: LiteBroker) -> None:
    assert broker.pop(max_msg_num=32) == [b"2"]
    broker.wait(10_000)
    broker.pop(max_msg_num=0)
    list(broker.broker.lite.events.take("c1", "chat"))
    header = TriggerLiteDispatchRequestHeader(group="G")
    assert broker.ask(RequestCode.TRIGGER_LITE_DISPATCH, header).code == 0
    assert broker.pop() == [b"2"]
    header = TriggerLiteDispatchRequestHeader(group="G", client_id="c1")
    assert broker.ask(RequestCode.TRIGGER_LITE_DISPATCH, header).code == 0


def test_refusals(broker: LiteBroker) -> None:
    broker.add_topic("T")
    for topic, code, remark in [
        ("none", 17, "Topic [none] not exist."),
        ("T", 29, "Topic [T] type not match."),
    ]:
        answer = broker.ask(RequestCode.GET_PARENT_TOPIC_INFO, GetParentTopicInfoRequestHeader(topic=topic))
        assert (answer.code, answer.remark) == (code, remark)
    long = "x" * 121
    for group, code, remark in [
        (long, 26, f"Group [{long}] not exist."),
        ("plain", 29, "Group [plain] is not a LITE group."),
    ]:
        header = TriggerLiteDispatchRequestHeader(group=group)
        answer = broker.ask(RequestCode.TRIGGER_LITE_DISPATCH, header)
        assert (answer.code, answer.remark) == (code, remark)
    header_of_client = GetLiteClientInfoRequestHeader(parent_topic="chat", group="plain", client_id="c")
    answer = broker.ask(RequestCode.GET_LITE_CLIENT_INFO, header_of_client)
    assert (answer.code, answer.remark) == (29, "Subscription [plain]-[chat] not match.")
