"""Both spellings of a reply, and what is answered where none is stored; the talk is in `test_reply`."""

import pytest

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from tests.support.gateway.broker.admin import AdminBroker, AnsweringPeer
from tests.support.gateway.broker.helpers import send_header

TOPIC = "DefaultCluster_REPLY_TOPIC"
NOWHERE = {"msgId": "0", "queueId": "0", "queueOffset": "0"}
PROPERTIES = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@pytest.mark.parametrize("code", [RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2])
@pytest.mark.parametrize(("says", "fields"), [(0, PROPERTIES | NOWHERE), (1, PROPERTIES)])
def test_answer_has_a_position_only_if_the_reply_was_accepted(
    code: RequestCode, says: int, fields: dict[str, str]
) -> None:
    """324 as the Go client sends it, 325 as others do."""
    broker = AdminBroker(options={"store_reply_message_enable": False})
    peer = AnsweringPeer("10.0.0.7:4007", RemotingCommand.response(says))
    broker.heart_beat(peer, producers=("askers",), client_id="asker@1")
    header = send_header(TOPIC, {"REPLY_TO_CLIENT": "asker@1"})
    if code == RequestCode.SEND_REPLY_MESSAGE:
        header = SendMessageRequestHeader(
            **{field.name: getattr(header, field.name) for field in header.__fields__}
        )
    answer = broker.ask(code, header, b"here")
    assert (answer.code, answer.ext, len(peer.sent)) == (says, fields, 1)
