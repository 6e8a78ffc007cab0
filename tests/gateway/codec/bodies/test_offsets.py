"""Offsets that are reset or reported."""

from mqgateway.gateway.codec.bodies import (
    ConsumerOffsetSerializeWrapper,
    GetConsumerStatusBody,
    MessageQueue,
    MessageQueueForC,
    ResetOffsetBody,
    ResetOffsetBodyForC,
)

QUEUE = MessageQueue("T", "b", 0)


def test_reset_offsets_for_java_and_for_c() -> None:
    assert ResetOffsetBody({QUEUE: 12}).encode() == (
        b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:12}}'
    )
    assert ResetOffsetBodyForC([MessageQueueForC("T", "b", 0, 12)]).encode() == (
        b'{"offsetTable":[{"brokerName":"b","offset":12,"queueId":0,"topic":"T"}]}'
    )


def test_offsets_of_a_client() -> None:
    status = GetConsumerStatusBody.decode(
        b'{"consumerTable":{},"messageQueueTable":{{"brokerName":"b","queueId":0,"topic":"T"}:12}}'
    )
    assert status.message_queue_table == {QUEUE: 12}


def test_all_offsets_of_a_broker() -> None:
    body = ConsumerOffsetSerializeWrapper({"T@G": {10: 5, 2: 7}}, {"counter": 1})
    text = b'{"dataVersion":{"counter":1},"offsetTable":{"T@G":{2:7,10:5}}}'
    assert body.encode() == text
    assert ConsumerOffsetSerializeWrapper.decode(text) == body
