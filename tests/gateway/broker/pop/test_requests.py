"""The requests of POP on the wire: their fields, and the encoding of outcomes."""

import base64
from typing import Any

import pytest

from mqgateway.engine.message import PROPERTY_POP_CK
from mqgateway.gateway.broker.pop.requests import BITS_MAX, REQUESTS
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from tests.support.gateway.broker.helpers import Answer
from tests.support.gateway.broker.pop import PopBroker


def test_the_codes_of_pop_are_answered() -> None:
    named = {code for code in RequestCode if 200050 <= code <= 200056} | {RequestCode.BATCH_ACK_MESSAGE}
    assert set(REQUESTS) == named


def test_found_messages_are_written_queue_by_queue() -> None:
    broker = PopBroker()
    broker.chance = 0
    for queue_id, count in ((1, 2), (2, 1)):
        for _ in range(count):
            assert broker.send("T", b"x", queue_id=queue_id).code == 0
    answer = broker.ask_pop(max_msg_nums=2)
    now = broker.broker.store.steady.now()
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert answer.ext == {
        "popTime": str(now),
        "invisibleTime": "10000",
        "reviveQid": answer.ext["reviveQid"],
        "restNum": "1",
        "startOffsetInfo": "0 2 0;0 1 0",
        "msgOffsetInfo": "0 2 0;0 1 0",
    }


def test_pop_without_messages_returns_its_status() -> None:
    broker = PopBroker(options={"pop_polling_size": 1})
    answers = [broker.ask_pop(poll_time=poll) for poll in (0, 1000, 1000)]
    assert [answers[0].code, answers[1].waits, answers[2].code] == [210, True, 209]
    for answer in (answers[0], answers[2]):
        assert answer.remark == "NO_MESSAGE_IN_QUEUE"
        assert (answer.ext["startOffsetInfo"], answer.ext["msgOffsetInfo"]) == ("", "")
        assert "orderCountInfo" not in answer.ext


def test_counts_of_what_is_popped_in_order() -> None:
    broker = PopBroker()
    broker.send("T", b"a", queue_id=0)
    broker.send("T", b"b", queue_id=0)
    assert broker.ask_pop(order=True, queue_id=0, max_msg_nums=1).ext["orderCountInfo"] == "0 0 0"
    broker.pass_time(15_000)
    assert broker.ask_pop(order=True, queue_id=0).ext["orderCountInfo"] == "0 qo0%0 1;0 0 0"
    broker.pass_time(15_000)
    counts = broker.ask_pop(order=True, queue_id=0).ext["orderCountInfo"]
    assert counts == "0 qo0%0 2;0 qo0%1 1;0 0 1"


def batch(broker: PopBroker, *acks: BatchAck) -> Answer:
    body = BatchAckMessageRequestBody(broker_name="broker-a", acks=list(acks))
    return broker.ask(RequestCode.BATCH_ACK_MESSAGE, None, body.encode(), peer=broker.consumer)


def ack(broker: PopBroker, bit_set: str, **fields: Any) -> BatchAck:
    usual = {"consumer_group": "G", "topic": "T", "retry": "0", "start_offset": 0, "queue_id": 0}
    times = {"revive_queue_id": 0, "pop_time": broker.broker.store.steady.now(), "invisible_time": 1000}
    return BatchAck(bit_set=bit_set, **usual | times | fields)


def test_empty_batch_is_answered() -> None:
    broker = PopBroker()
    for answer in (broker.ask(RequestCode.BATCH_ACK_MESSAGE, None), batch(broker)):
        assert (answer.code, answer.remark) == (ResponseCode.NO_MESSAGE, None)


@pytest.mark.parametrize(
    ("bits", "fields"), [("!", {}), ("A" * (BITS_MAX + 4), {}), ("AQ==", {"retry": "9"})]
)
def test_batch_is_acknowledged_up_to_a_malformed_ack(bits: str, fields: dict[str, str]) -> None:
    broker = PopBroker()
    for body in (b"a", b"b"):
        broker.send("T", body, queue_id=0)
    first, _ = broker.pop(queue_id=0)
    receipt = first.receipt.split(" ")
    good = ack(
        broker,
        base64.b64encode(b"\1").decode(),
        pop_time=int(receipt[1]),
        invisible_time=int(receipt[2]),
        revive_queue_id=int(receipt[3]),
    )
    answer = batch(broker, good, ack(broker, bits, **fields))
    assert (answer.code, str(answer.remark)[:35]) == (1, "an acknowledgement cannot be read: "[:35])
    broker.pass_time(15_000)
    again = broker.pop()
    assert [message.body for message in again] == [b"b"]
    assert PROPERTY_POP_CK in again[0].stored.properties
