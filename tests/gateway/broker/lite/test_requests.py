"""The requests of lite topics on the wire: the encoding of outcomes, and notifications of clients."""

from mqgateway.engine.lite.subscriptions import Subscriber
from mqgateway.gateway.broker.lite.requests import REQUESTS, RemotingLiteClient
from mqgateway.gateway.codec.codes import RequestCode
from tests.support.gateway.broker.helpers import FakePeer
from tests.support.gateway.broker.lite import LiteBroker


def test_the_codes_of_lite_topics_are_answered() -> None:
    assert set(REQUESTS) == {RequestCode.POP_LITE_MESSAGE, RequestCode.LITE_SUBSCRIPTION_CTL}


def test_every_answer_to_a_pop_has_a_header() -> None:
    broker = LiteBroker(options={"pop_polling_size": 1})
    now = str(broker.broker.store.steady.now())
    answers = [broker.ask_pop(poll_time=poll) for poll in (0, 1000, 1000)]
    for answer, code in ((answers[0], 210), (answers[2], 209)):
        assert (answer.code, answer.remark) == (code, "NO_MESSAGE_IN_QUEUE")
        expected = {"popTime": now, "invisibleTime": "10000", "reviveQid": "999", "orderCountInfo": ""}
        assert answer.ext == expected
    refused = broker.ask_pop(topic="T")
    assert refused.code == 17
    assert refused.ext == {"popTime": "0", "invisibleTime": "0", "reviveQid": "0"}


def test_counts_are_of_each_message_or_none() -> None:
    broker = LiteBroker()
    broker.control("PARTIAL_ADD", "a", option=("POLICY", 1))
    broker.post("a", b"1", b"2")
    assert broker.ask_pop().ext["orderCountInfo"] == "0;0"
    broker.wait(15_000)
    assert broker.ask_pop().ext["orderCountInfo"] == "0 qo0%0 1;0 qo0%1 1"


def test_client_is_notified_by_a_oneway_command() -> None:
    peer = FakePeer()
    RemotingLiteClient(peer).unsubscribed(Subscriber("c1", "G"), "a")
    (command,) = peer.sent
    assert command.code == RequestCode.NOTIFY_UNSUBSCRIBE_LITE and command.is_oneway
    assert command.ext_fields == {"liteTopic": "a", "consumerGroup": "G", "clientId": "c1"}
