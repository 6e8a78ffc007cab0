"""Sends that may be to static topics."""

import pytest

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.static_topics.requests import sending
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers.send import SendMessageRequestHeaderV2
from mqgateway.gateway.remoting.call import Call, Reply
from tests.support.gateway.broker.clusters import TOPIC, Cluster
from tests.support.gateway.broker.helpers import FakePeer, send_header


def plain(_: Broker, call: Call) -> Reply:
    """Stores at offset 5 of the queue it is asked for."""
    assert isinstance(call.header, SendMessageRequestHeaderV2)
    return Reply(remark=str(call.header.queue_id), ext={"queueId": "physical", "queueOffset": "5"})


def send(brokers: Cluster, name: str, topic: str = TOPIC, queue_id: int = 0, lo: bool | None = None) -> Reply:
    header = send_header(topic, queue_id=queue_id, lo=lo)
    call = Call(RemotingCommand.request(310, header), header, b"", FakePeer(), 0)
    reply = sending(plain)(brokers[name].broker, call)
    assert isinstance(reply, Reply)
    return reply


def test_a_send_goes_to_the_piece_that_is_written_to() -> None:
    brokers = Cluster("a", "b")
    brokers.create("b", "a")
    for queue_id in (1, -1):
        reply = send(brokers, "a", queue_id=queue_id)
        assert (reply.remark, reply.ext) == ("0", {"queueId": "1", "queueOffset": "5"})
    with pytest.raises(OperationError) as refusal:
        send(brokers, "a", queue_id=0)
    assert refusal.value.reason is Reason.NOT_LEADER_FOR_QUEUE


@pytest.mark.parametrize("fields", [{"topic": "other", "queue_id": 3}, {"queue_id": 3, "lo": False}])
def test_other_sends_are_left_alone(fields: dict[str, object]) -> None:
    brokers = Cluster("a")
    brokers.create("a")
    reply = send(brokers, "a", **fields)  # type: ignore[arg-type]
    assert (reply.remark, reply.ext) == ("3", {"queueId": "physical", "queueOffset": "5"})
