"""Requests of administration about connected clients, and those forwarded to them."""

from typing import Any

import pytest

from mqgateway.gateway.codec.bodies import GetConsumerStatusBody, HeartbeatData, MessageQueue
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    GetProducerConnectionListRequestHeader,
    QuerySubscriptionByConsumerRequestHeader,
    QueryTopicsByConsumerRequestHeader,
)
from mqgateway.gateway.remoting.exchange import PeerGone, RequestTimedOut
from tests.support.gateway.broker.admin import AdminBroker, AnsweringPeer, consumer, keyed, queue
from tests.support.gateway.broker.helpers import FakePeer

ONE = "10.0.0.1:4001"
SYSTEM = ResponseCode.SYSTEM_ERROR


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


def connected(broker: AdminBroker, says: RemotingCommand | Exception, client_id: str = "me") -> AnsweringPeer:
    """A member of group g that answers so."""
    peer = AnsweringPeer(ONE, says)
    broker.heart_beat(peer, consumer("g", "T"), client_id=client_id)
    return peer


def test_the_members_of_a_group(broker: AdminBroker) -> None:
    broker.heart_beat(FakePeer(ONE), consumer("g", "T"), client_id="me")
    header = GetConsumerConnectionListRequestHeader(consumer_group="g")
    found = broker.json(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
    assert found["connectionSet"] == [
        {"clientId": "me", "clientAddr": ONE, "language": "PYTHON", "version": 513}
    ]
    assert (found["consumeType"], found["messageModel"], found["consumeFromWhere"]) == (
        "CONSUME_PASSIVELY",
        "CLUSTERING",
        "CONSUME_FROM_LAST_OFFSET",
    )
    assert found["subscriptionTable"]["T"]["subString"] == "*"
    absent = GetConsumerConnectionListRequestHeader(consumer_group="h")
    assert broker.refusal(RequestCode.GET_CONSUMER_CONNECTION_LIST, absent) == (
        ResponseCode.CONSUMER_NOT_ONLINE,
        "the consumer group[h] not online",
    )


def test_the_members_of_a_producer_group(broker: AdminBroker) -> None:
    broker.heart_beat(FakePeer(ONE), producers=("p",), client_id="me")
    header = GetProducerConnectionListRequestHeader(producer_group="p")
    found = broker.json(RequestCode.GET_PRODUCER_CONNECTION_LIST, header)
    assert [one["clientId"] for one in found["connectionSet"]] == ["me"]
    absent = GetProducerConnectionListRequestHeader(producer_group="q")
    assert broker.refusal(RequestCode.GET_PRODUCER_CONNECTION_LIST, absent) == (
        SYSTEM,
        "the producer group[q] not exist",
    )


def test_all_producers(broker: AdminBroker) -> None:
    broker.heart_beat(FakePeer(ONE), producers=("p", "q"), client_id="me")
    found = broker.json(RequestCode.GET_ALL_PRODUCER_INFO)["data"]
    assert set(found) == {"p", "q"}
    assert found["p"] == [
        {
            "clientId": "me",
            "remoteIP": f"/{ONE}",
            "language": "PYTHON",
            "version": 513,
            "lastUpdateTimestamp": broker.clock.millis(),
        }
    ]


def test_the_topics_a_group_has_offsets_in(broker: AdminBroker) -> None:
    for topic in ("U", "T"):
        broker.broker.tables.offsets.commit("g", topic, 0, 1)
    found = broker.json(RequestCode.QUERY_TOPICS_BY_CONSUMER, QueryTopicsByConsumerRequestHeader(group="g"))
    assert found == {"brokerAddr": "127.0.0.1:10911", "topicList": ["T", "U"]}


def test_the_subscription_of_a_group(broker: AdminBroker) -> None:
    broker.subscribe("g", "T", "a||b")
    code = RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER
    found = broker.json(code, QuerySubscriptionByConsumerRequestHeader(group="g", topic="T"))
    assert found["subscriptionData"]["subString"] == "a||b"
    none = broker.json(code, QuerySubscriptionByConsumerRequestHeader(group="g", topic="U"))
    assert none == {"group": "g", "topic": "U"}


RUNNING = GetConsumerRunningInfoRequestHeader(consumer_group="g", client_id="me", jstack_enable=True)


def test_request_and_answer_are_forwarded(broker: AdminBroker) -> None:
    peer = connected(broker, RemotingCommand.response(0, body=b"running", remark="well", ext={"a": "b"}))
    answer = broker.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING, ext={"newer": "field"})
    assert (answer.code, answer.remark, answer.ext, answer.arrived.body) == (
        0,
        "well",
        {"a": "b"},
        b"running",
    )
    (asked,) = peer.sent
    assert asked.code == RequestCode.GET_CONSUMER_RUNNING_INFO
    assert (asked.ext_fields["clientId"], asked.ext_fields["jstackEnable"]) == ("me", "true")
    assert asked.ext_fields["newer"] == "field"


def test_refusal_is_forwarded(broker: AdminBroker) -> None:
    connected(broker, RemotingCommand.response(1, remark="no such group here"))
    assert broker.refusal(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING) == (1, "no such group here")


@pytest.mark.parametrize(
    ("error", "code", "remark"),
    [
        (
            RequestTimedOut("no answer within 10 s"),
            ResponseCode.CONSUME_MSG_TIMEOUT,
            "consumer <g> <me> Timeout: RequestTimedOut, no answer within 10 s",
        ),
        (PeerGone("gone"), SYSTEM, "invoke consumer <g> <me> Exception: PeerGone, gone"),
    ],
)
def test_unresponsive_consumer_is_reported(
    broker: AdminBroker, error: Exception, code: int, remark: str
) -> None:
    connected(broker, error)
    assert broker.refusal(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING) == (code, remark)


def test_offline_or_old_consumer_is_refused(broker: AdminBroker) -> None:
    assert broker.refusal(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING) == (
        SYSTEM,
        "The Consumer <g> <me> not online",
    )
    reported = HeartbeatData(client_id="me", consumer_data_set=[consumer("g", "T")]).encode()
    broker.ask(RequestCode.HEART_BEAT, body=reported, peer=FakePeer(ONE), version=26)
    assert broker.refusal(RequestCode.GET_CONSUMER_RUNNING_INFO, RUNNING) == (
        SYSTEM,
        "The Consumer <me> Version <V3_0_6_SNAPSHOT> too low to finish, please upgrade it to V3_1_8_SNAPSHOT",
    )


def direct(message_id: str) -> ConsumeMessageDirectlyResultRequestHeader:
    return ConsumeMessageDirectlyResultRequestHeader(
        consumer_group="g", client_id="me", msg_id=message_id, topic="T"
    )


def test_stored_message_is_consumed_directly(broker: AdminBroker) -> None:
    broker.add_topic("T", topic_sys_flag=1)
    message_id = broker.send("T", body=b"again").ext["msgId"]
    peer = connected(broker, RemotingCommand.response(0, body=b"done"))
    answer = broker.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct(message_id), ext={"newer": "field"})
    assert (answer.code, answer.arrived.body) == (0, b"done")
    (asked,) = peer.sent
    assert (asked.ext_fields["brokerName"], asked.ext_fields["newer"]) == ("broker-a", "field")
    assert (asked.ext_fields["topicSysFlag"], asked.ext_fields["groupSysFlag"]) == ("1", "0")
    assert b"again" in asked.body


@pytest.mark.parametrize(
    ("message_id", "words"),
    [("short", "32 or 56 characters"), ("7F0000010000" + "2A9F" + "0" * 12 + "FFFF", "can not find message")],
)
def test_missing_message_is_not_consumed(broker: AdminBroker, message_id: str, words: str) -> None:
    peer = connected(broker, PeerGone("never asked"))
    code, remark = broker.refusal(RequestCode.CONSUME_MESSAGE_DIRECTLY, direct(message_id))
    assert code == SYSTEM and words in str(remark)
    assert peer.sent == []


STATUS = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS


def status(broker: AdminBroker, client: str | None = None) -> dict[str, Any]:
    header = GetConsumerStatusRequestHeader(topic="T", group="g", client_addr=client)
    table: dict[str, Any] = broker.json(STATUS, header)["consumerTable"]
    return {client_id: keyed(offsets) for client_id, offsets in table.items()}


def test_silent_members_are_left_out_of_the_offsets(broker: AdminBroker) -> None:
    said = GetConsumerStatusBody(message_queue_table={MessageQueue("T", "broker-a", 0): 5}).encode()
    connected(broker, RemotingCommand.response(0, body=said), "one")
    broker.heart_beat(AnsweringPeer("10.0.0.9:1", PeerGone("gone")), consumer("g", "T"), client_id="two")
    assert status(broker) == {"one": {queue("T", 0): 5}}
    assert status(broker, "one") == {"one": {queue("T", 0): 5}}
    assert status(broker, "two") == {}


def test_offline_group_has_no_status(broker: AdminBroker) -> None:
    header = GetConsumerStatusRequestHeader(topic="T", group="g")
    assert broker.refusal(STATUS, header) == (SYSTEM, "No Any Consumer online in the consumer group: [g]")
