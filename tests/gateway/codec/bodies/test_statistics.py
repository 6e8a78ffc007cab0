"""Statistics, whose keys are queues."""

from mqgateway.gateway.codec.bodies import (
    BrokerStatsData,
    ConsumeStats,
    ConsumeStatsList,
    MessageQueue,
    OffsetWrapper,
    TopicOffset,
    TopicStatsTable,
)

QUEUE = MessageQueue("T", "b", 0)


def test_statistics_have_queues_as_keys() -> None:
    key = b'{"brokerName":"b","queueId":0,"topic":"T"}'
    assert TopicStatsTable({QUEUE: TopicOffset(1, 2, 3)}).encode() == (
        b'{"offsetTable":{'
        + key
        + b':{"lastUpdateTimestamp":3,"maxOffset":2,"minOffset":1}},"topicPutTps":0.0}'
    )
    assert ConsumeStats({QUEUE: OffsetWrapper(9, 5, 6, 7)}, 1.5).encode() == (
        b'{"consumeTps":1.5,"offsetTable":{'
        + key
        + b':{"brokerOffset":9,"consumerOffset":5,"lastTimestamp":7,"pullOffset":6}}}'
    )


def test_counters_are_whole_even_when_nothing_was_counted() -> None:
    nothing = b'{"avgpt":0.0,"sum":0,"tps":0.0}'
    assert BrokerStatsData().encode() == (
        b'{"statsDay":' + nothing + b',"statsHour":' + nothing + b',"statsMinute":' + nothing + b"}"
    )


def test_the_progress_of_all_groups() -> None:
    body = ConsumeStatsList([{"G": [ConsumeStats({QUEUE: OffsetWrapper(9, 5, 6, 7)})]}], "b:1", 4, 1)
    assert ConsumeStatsList.decode(body.encode()) == body
