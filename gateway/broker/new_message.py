"""Messages as front ends hand them over: values without a header of any protocol."""

from __future__ import annotations

from typing import Final

from mqgateway.engine.message import Message

ANY_QUEUE: Final = -1
"""The broker chooses the queue."""


class NewMessage(Message):
    """A message to store, with what the broker needs to know besides what a record has.

    The broker adds the hosts, its own properties and a queue if none is named, and stores this object itself.

    `body` is stored as it is; `sys_flag` holds the bits of `engine.message.SysFlag` for its compression and
    for a half message. `flag` belongs to the application. `born_timestamp` is in ms since the epoch.

    `reconsume_times` counts failed deliveries, of a message to a retry topic (None: the producer does not
    count, and `is_counted` is false); above `max_reconsume_times` (None: that of the group) it becomes a dead
    letter.

    A topic that does not exist is created after `default_topic`, with `default_topic_queue_nums` queues, if
    that permits it; `unit_mode` marks such a topic as one of a unit. Without a `default_topic` an unknown
    topic is refused.
    """

    __slots__ = (
        "default_topic",
        "default_topic_queue_nums",
        "is_counted",
        "max_reconsume_times",
        "producer_group",
        "unit_mode",
    )

    def __init__(
        self,
        topic: str,
        body: bytes,
        born_timestamp: int,
        properties: dict[str, str] | None = None,
        queue_id: int = ANY_QUEUE,
        sys_flag: int = 0,
        flag: int = 0,
        reconsume_times: int | None = None,
        producer_group: str = "",
        default_topic: str = "",
        default_topic_queue_nums: int = 0,
        unit_mode: bool = False,
        max_reconsume_times: int | None = None,
    ) -> None:
        self.topic = topic
        self.body = body
        self.born_timestamp = born_timestamp
        self.properties = {} if properties is None else properties
        self.queue_id = queue_id
        self.sys_flag = sys_flag
        self.flag = flag
        self.reconsume_times = reconsume_times or 0
        self.is_counted = reconsume_times is not None
        self.prepared_transaction_offset = 0
        self.producer_group = producer_group
        self.default_topic = default_topic
        self.default_topic_queue_nums = default_topic_queue_nums
        self.unit_mode = unit_mode
        self.max_reconsume_times = max_reconsume_times
