"""Replies: their receivers, their contents, and replies that no client takes."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.message import parse_properties
from mqgateway.gateway.broker.clients.outgoing import PushedReply
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.produce.reply import (
    ReplyNotTaken,
    ReplyOutcome,
    StoredReply,
    send_reply,
)
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader
from mqgateway.gateway.remoting.exchange import RequestTimedOut
from tests.support.gateway.broker.admin import AdminBroker, AnsweringPeer
from tests.support.gateway.broker.helpers import Answer, FakePeer, send_header
from tests.support.gateway.broker.producing import later, new_message

REQUESTER = "10.0.0.7:4007"
TOPIC = "DefaultCluster_REPLY_TOPIC"
PROPERTIES = {"CORRELATION_ID": "c1", "REPLY_TO_CLIENT": "asker@1", "TTL": "3000", "MSG_TYPE": "reply"}


def world(says: RemotingCommand | Exception | None = None, **options: Any) -> tuple[AdminBroker, FakePeer]:
    """A broker and the client that waits for replies; without `says` it never answers."""
    broker = AdminBroker(options=options)
    peer = FakePeer(REQUESTER) if says is None else AnsweringPeer(REQUESTER, says)
    broker.heart_beat(peer, producers=("askers",), client_id="asker@1")
    return broker, peer


def taken() -> RemotingCommand:
    return RemotingCommand.response(0)


def reply(broker: AdminBroker, properties: dict[str, str] = PROPERTIES, **fields: Any) -> Answer:
    header = send_header(TOPIC, properties, **fields)
    return broker.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header, b"here", peer=broker.producer)


def test_reply_is_pushed_to_the_requester() -> None:
    broker, peer = world(taken())
    answer = reply(broker, flag=3, sys_flag=0x101, reconsume_times=2)
    (pushed,) = peer.sent
    header = ReplyMessageRequestHeader.decode(pushed.ext_fields)
    assert (pushed.code, pushed.body) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"here")
    assert (header.topic, header.producer_group, header.queue_id) == (TOPIC, "PG", 0)
    assert (header.flag, header.sys_flag, header.reconsume_times) == (3, 0x101, 2)
    assert (header.born_host, header.store_host) == ("10.0.0.1:4001", "127.0.0.1:10911")
    assert (header.born_timestamp, header.store_timestamp) == (1_699_999_999_000, broker.clock.millis())
    assert header.properties is not None
    assert parse_properties(header.properties) == PROPERTIES | {"PUSH_REPLY_TIME": str(broker.clock.millis())}
    (stored,) = broker.stored(TOPIC)
    assert (answer.code, answer.remark) == (0, None)
    assert answer.ext == {
        "msgId": stored.message_id,
        "queueId": "0",
        "queueOffset": "0",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }


@pytest.mark.parametrize("reconsume_times", [None, 0, 2])
def test_pushed_reply_has_reconsume_times_only_if_the_sender_gave_them(reconsume_times: int | None) -> None:
    broker, peer = world(taken())
    reply(broker, reconsume_times=reconsume_times)
    (pushed,) = peer.sent
    expected = None if reconsume_times is None else str(reconsume_times)
    assert pushed.ext_fields.get("reconsumeTimes") == expected


def test_reply_is_stored_and_readable() -> None:
    broker, _ = world(taken())
    reply(broker, sys_flag=0x101 | 4, queue_id=-1)
    (stored,) = broker.stored(TOPIC)
    assert (stored.body, stored.properties, stored.sys_flag) == (b"here", PROPERTIES, 0x101)


def test_storing_can_be_switched_off() -> None:
    broker, peer = world(taken(), store_reply_message_enable=False)
    answer = reply(broker)
    assert broker.stored(TOPIC) == []
    assert len(peer.sent) == 1
    assert (answer.code, answer.ext["msgId"], answer.ext["queueOffset"]) == (0, "0", "0")


def test_reply_waits_until_it_is_accepted() -> None:
    broker, peer = world()
    answer = reply(broker)
    assert answer.waits
    assert len(peer.sent) == 1


@pytest.mark.parametrize(
    ("says", "properties", "remark"),
    [
        (RemotingCommand.response(1), PROPERTIES, "push reply message to asker@1fail."),
        (RequestTimedOut("too late"), PROPERTIES, "push reply message to asker@1fail."),
        (
            RemotingCommand.response(0),
            PROPERTIES | {"REPLY_TO_CLIENT": "nobody"},
            "push reply message fail, channel of <nobody> not found.",
        ),
        (RemotingCommand.response(0), {}, "reply message properties[REPLY_TO_CLIENT] is null"),
    ],
)
def test_reply_that_is_not_accepted_is_refused_but_stored(
    says: RemotingCommand | Exception, properties: dict[str, str], remark: str
) -> None:
    broker, _ = world(says)
    answer = reply(broker, properties)
    assert (answer.code, answer.remark) == (1, remark)
    assert answer.ext["msgId"] == broker.stored(TOPIC)[0].message_id


def test_disconnected_requester_is_not_found() -> None:
    broker, peer = world(taken())
    peer.lose()
    assert reply(broker).remark == "push reply message fail, channel of <asker@1> not found."


def test_reply_that_cannot_be_stored_is_pushed() -> None:
    broker, peer = world(taken())
    broker.store_options.max_message_size = 1
    answer = reply(broker)
    assert (answer.code, answer.ext["msgId"]) == (0, "0")
    assert len(peer.sent) == 1
    assert broker.stored(TOPIC) == []


def test_reply_is_pushed_by_the_listener_of_the_requester() -> None:
    broker, peer = world()
    pushed: list[PushedReply] = []
    taken_later: Deferred[None] = Deferred()

    class Elsewhere(RemotingOutgoing):
        """A way that is not remoting's."""

        def push_reply(self, reply: PushedReply) -> Deferred[None]:
            pushed.append(reply)
            return taken_later

    requester = broker.broker.clients.producer("asker@1")
    assert requester is not None
    requester.outgoing = Elsewhere(peer, CURRENT_VERSION)
    request = new_message(TOPIC, b"here", properties=dict(PROPERTIES))
    arrived = later(send_reply(broker.broker, request, broker.producer, 5))
    (brought,) = pushed
    assert (brought.message, brought.message.body) == (request, b"here")
    assert brought.message.properties["PUSH_REPLY_TIME"] == "5"
    assert arrived == []
    taken_later.callback(None)
    broker.broker.store.dispatch()
    (stored,) = broker.stored(TOPIC)
    assert arrived == [ReplyOutcome(0, StoredReply(stored.message_id, 0), "DefaultRegion", True)]


def test_reply_without_a_requester_has_its_stored_position() -> None:
    broker, _ = world()
    with pytest.raises(ReplyNotTaken) as caught:
        send_reply(broker.broker, new_message(TOPIC), broker.producer, 5)
    assert caught.value.outcome.stored is not None
