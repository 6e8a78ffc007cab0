"""Running information of consumers."""

from mqgateway.gateway.codec.bodies import (
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    ConsumeStatus,
    MessageQueue,
    ProcessQueueInfo,
)

QUEUE = MessageQueue("T", "b", 0)


def test_a_consumer_from_inside() -> None:
    running = ConsumerRunningInfo.decode(
        b'{"mqTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"cachedMsgCount":3,"cachedMsgSizeInMiB":1,'
        b'"droped":false}},"properties":{"PROP_CONSUMER_START_TIMESTAMP":"1"},"statusTable":{"T":{"consumeOKTPS":0.5}}}'
    )
    assert running.mq_table == {QUEUE: ProcessQueueInfo(cached_msg_count=3, cached_msg_size_in_mib=1)}
    assert running.status_table == {"T": ConsumeStatus(consume_ok_tps=0.5)}


def test_one_message_consumed_now() -> None:
    result = ConsumeMessageDirectlyResult.decode(
        b'{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":3}'
    )
    assert result == ConsumeMessageDirectlyResult(consume_result="CR_SUCCESS", spent_time_mills=3)
