"""Offsets and rates of topics, groups and brokers, as administration asks for them.

Times are ms since the epoch. Standard: `TopicStatsTable`, `ConsumeStats`, `ConsumeStatsList`,
`BrokerStatsData`, `QueryConsumeTimeSpanBody`.
"""

from dataclasses import field

from mqgateway.gateway.codec.bodies.body import Body, body
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


@body
class TopicOffset(Body):
    """The ends of a queue, and when its last message was stored."""

    min_offset: int = 0
    max_offset: int = 0
    last_update_timestamp: int = 0


@body
class TopicStatsTable(Body):
    """The queues of a topic; `topic_put_tps` is messages a second."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    topic_put_tps: float = 0.0


@body
class OffsetWrapper(Body):
    """A group's progress on a queue; `last_timestamp` is when the last consumed message was stored."""

    broker_offset: int = 0
    consumer_offset: int = 0
    pull_offset: int = 0
    last_timestamp: int = 0


@body
class ConsumeStats(Body):
    """A group's progress; `consume_tps` is messages a second."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0


@body
class ConsumeStatsList(Body):
    """The progress of all groups of a broker, each with one entry a topic."""

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = field(default_factory=list)
    broker_addr: str | None = None
    total_diff: int = 0
    total_inflight_diff: int = 0


@body
class BrokerStatsItem(Body):
    """A counter over a while: its sum, its rate a second, and its sum for each call."""

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


@body
class BrokerStatsData(Body):
    """A counter over the last minute, hour and day."""

    stats_minute: BrokerStatsItem = field(default_factory=BrokerStatsItem)
    stats_hour: BrokerStatsItem = field(default_factory=BrokerStatsItem)
    stats_day: BrokerStatsItem = field(default_factory=BrokerStatsItem)


@body
class QueueTimeSpan(Body):
    """When the first, the last and the last consumed message of a queue were stored, and the lag in ms."""

    message_queue: MessageQueue
    min_time_stamp: int = 0
    max_time_stamp: int = 0
    consume_time_stamp: int = 0
    delay_time: int = 0


@body
class QueryConsumeTimeSpanBody(Body):
    """The spans of all queues of a topic."""

    consume_time_span_set: list[QueueTimeSpan] = field(default_factory=list)
