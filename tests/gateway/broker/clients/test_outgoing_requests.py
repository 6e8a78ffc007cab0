"""Notifications and requests to clients of the remoting protocol, as they see them."""

import pytest
from twisted.python.failure import Failure

from mqgateway.engine.message import pack_host
from mqgateway.engine.transactions import CheckBack
from mqgateway.gateway.broker.clients.outgoing import (
    ClientAnswer,
    DirectConsumption,
    NotAnswered,
    OffsetReset,
    PushedReply,
)
from mqgateway.gateway.broker.clients.outgoing_requests import RemotingOutgoing
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import GetConsumerStatusBody, MessageQueue
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import CheckTransactionStateRequestHeader, ReplyMessageRequestHeader
from mqgateway.gateway.remoting.exchange import PeerGone, RequestTimedOut
from tests.support.gateway.broker.admin import AnsweringPeer
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.producing import new_message

ONE = "10.0.0.1:4001"
QUEUE = MessageQueue("T", "broker-a", 0)
MESSAGE = DirectConsumption("g", "me", "id", b"record", "broker-a", "T", 1, None)


class Gone(FakePeer):
    """A client that stopped reading."""

    def send_oneway(self, command: RemotingCommand) -> None:
        raise PeerGone("gone")


def outgoing(peer: FakePeer, version: int = CURRENT_VERSION) -> RemotingOutgoing:
    return RemotingOutgoing(peer, version)


def test_client_is_notified_of_changed_members() -> None:
    peer = FakePeer(ONE)
    outgoing(peer).members_changed("g")
    (reported,) = peer.sent
    assert (reported.code, reported.ext_fields["consumerGroup"]) == (
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
        "g",
    )
    outgoing(Gone(ONE)).members_changed("g")


@pytest.mark.parametrize(
    ("as_list", "body"),
    [
        (False, b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:5}}'),
        (True, b'{"offsetTable":[{"brokerName":"broker-a","offset":5,"queueId":0,"topic":"T"}]}'),
    ],
)
def test_client_is_notified_of_reset_offsets(as_list: bool, body: bytes) -> None:
    peer = FakePeer(ONE)
    outgoing(peer).reset_offsets(OffsetReset("g", "T", 7, {QUEUE: 5}, as_list))
    (reported,) = peer.sent
    assert (reported.code, reported.body) == (RequestCode.RESET_CONSUMER_CLIENT_OFFSET, body)
    assert (reported.ext_fields["timestamp"], reported.ext_fields["isForce"]) == ("7", "false")


def test_client_returns_its_offsets() -> None:
    said = GetConsumerStatusBody(message_queue_table={QUEUE: 5}).encode()
    found: list[dict[MessageQueue, int]] = []
    peer = AnsweringPeer(ONE, RemotingCommand.response(0, body=said))
    outgoing(peer).offsets("g", "T").addCallback(found.append)
    assert found == [{QUEUE: 5}]


SAID = {"brokerName": "elsewhere", "topicSysFlag": "9", "groupSysFlag": "3"}


def test_request_and_answer_are_forwarded_unchanged() -> None:
    peer = AnsweringPeer(ONE, RemotingCommand.response(1, body=b"b", remark="r", ext={"a": "b"}))
    found: list[ClientAnswer] = []
    outgoing(peer).running_info("g", "me", True, {"x": "1", "clientId": "?"}).addCallback(found.append)
    outgoing(peer).consume(MESSAGE._replace(fields=SAID)).addCallback(found.append)
    assert found == [ClientAnswer(1, b"b", "r", {"a": "b"})] * 2
    asked, consumed = peer.sent
    assert asked.ext_fields == {"consumerGroup": "g", "clientId": "me", "jstackEnable": "true", "x": "1"}
    assert consumed.body == b"record" and consumed.ext_fields["topicSysFlag"] == "1"
    assert (consumed.ext_fields["brokerName"], consumed.ext_fields["groupSysFlag"]) == ("broker-a", "3")


@pytest.mark.parametrize(
    ("error", "why", "is_late"),
    [
        (RequestTimedOut("no answer"), "RequestTimedOut, no answer", True),
        (PeerGone("gone"), "PeerGone, gone", False),
    ],
)
def test_missing_answer_has_a_reason(error: Exception, why: str, is_late: bool) -> None:
    failed: list[BaseException] = []
    asked = outgoing(AnsweringPeer(ONE, error)).running_info("g", "me", False, {})
    asked.addErrback(lambda failure: failed.append(failure.value))
    (refused,) = failed
    assert isinstance(refused, NotAnswered)
    assert (str(refused), refused.is_late) == (why, is_late)


def test_old_client_gets_no_unknown_request() -> None:
    peer = FakePeer(ONE)
    old = outgoing(peer, version=26)
    for ask in (lambda: old.running_info("g", "me", False, {}), lambda: old.consume(MESSAGE)):
        with pytest.raises(OperationError) as refused:
            ask()
        assert refused.value.reason is Reason.SYSTEM_ERROR
    assert peer.sent == []


@pytest.mark.parametrize(("code", "error"), [(0, None), (1, "it answers 1 busy")])
def test_reply_is_accepted_when_the_requester_confirms_it(code: int, error: str | None) -> None:
    store_host = pack_host("10.0.0.9", 5)
    reply = PushedReply(new_message("T", b"here", properties={"TTL": "1"}), "10.0.0.1:4", store_host, 77)
    peer = AnsweringPeer(ONE, RemotingCommand.response(code, remark="busy"))
    results: list[Failure | None] = []
    outgoing(peer).push_reply(reply).addBoth(results.append)
    (command,) = peer.sent
    header = ReplyMessageRequestHeader.decode(command.ext_fields)
    assert (command.code, command.body) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"here")
    assert (header.topic, header.born_host, header.store_host) == ("T", "10.0.0.1:4", "10.0.0.9:5")
    assert (header.properties, header.store_timestamp) == ("TTL\x011\x02", 77)
    (result,) = results
    assert (None if result is None else str(result.value)) == error


def test_check_contains_the_half_message() -> None:
    peer = FakePeer(ONE)
    check = CheckBack(0, "PG", 7, 1234, "K1", "ID", b"record", "T")
    outgoing(peer).check_transaction(check, "broker-a")
    (command,) = peer.sent
    header = CheckTransactionStateRequestHeader.decode(command.ext_fields)
    assert (command.code, command.body) == (RequestCode.CHECK_TRANSACTION_STATE, b"record")
    assert (header.tran_state_table_offset, header.commit_log_offset) == (7, 1234)
    assert (header.msg_id, header.transaction_id, header.offset_msg_id) == ("K1", "K1", "ID")
    assert (header.topic, header.bname) == ("RMQ_SYS_TRANS_HALF_TOPIC", "broker-a")
    outgoing(Gone(ONE)).check_transaction(check, "broker-a")
