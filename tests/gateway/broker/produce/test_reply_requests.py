"""A reply as the command that the requester gets; the conversations are in `test_reply`."""

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import pack_host
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.produce.reply import PushedReply
from mqgateway.gateway.broker.produce.reply_requests import push
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader
from tests.support.gateway.broker.admin import AnsweringPeer
from tests.support.gateway.broker.producing import TypedMessage

PUSHED = PushedReply(TypedMessage("T"), b"here", {"TTL": "1"}, "10.0.0.1:4", pack_host("10.0.0.9", 5), 77)


@pytest.mark.parametrize(("code", "error"), [(0, None), (1, "it answers 1 busy")])
def test_a_reply_is_taken_when_the_requester_says_so(code: int, error: str | None) -> None:
    peer = AnsweringPeer("10.0.0.7:4007", RemotingCommand.response(code, remark="busy"))
    results: list[Failure | None] = []
    pushed: Deferred[None] = push(Client(peer, "asker", "JAVA", CURRENT_VERSION), PUSHED)
    pushed.addBoth(results.append)
    (command,) = peer.sent
    header = ReplyMessageRequestHeader.decode(command.ext_fields)
    assert (command.code, command.body) == (RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, b"here")
    assert (header.topic, header.born_host, header.store_host) == ("T", "10.0.0.1:4", "10.0.0.9:5")
    assert (header.properties, header.store_timestamp) == ("TTL\x011\x02", 77)
    (result,) = results
    assert (None if result is None else str(result.value)) == error
