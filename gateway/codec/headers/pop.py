"""Pop consumption: the broker delivers messages of all queues, each of which must be acknowledged.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long, TopicRequestHeader


class PopMessageRequestHeader(TopicRequestHeader, code=RequestCode.POP_MESSAGE):
    """Pop messages of a queue, or of any (-1), which are then invisible for some time."""

    consumer_group: str
    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    invisible_time: Long = 0  # ms
    poll_time: Long = 0  # ms to wait
    init_mode: Int = 0
    born_time: Long = 0  # ms since the epoch, by the client's clock; 0 for now
    exp_type: str | None = None
    exp: str | None = None
    order: Bool = False
    attempt_id: str | None = None


class PopMessageResponseHeader(Header):
    """The delivered messages; the three texts give start offsets, offsets and delivery counts by queue."""

    pop_time: Long  # ms since the epoch
    invisible_time: Long  # ms
    revive_qid: Int
    rest_num: Long
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class AckMessageRequestHeader(TopicRequestHeader, code=RequestCode.ACK_MESSAGE):
    """Acknowledge the message at `offset`; `extra_info` is its receipt of the pop."""

    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long
    lite_topic: str | None = None


class ChangeInvisibleTimeRequestHeader(TopicRequestHeader, code=RequestCode.CHANGE_MESSAGE_INVISIBLETIME):
    """Change the invisible time of the message at `offset`."""

    consumer_group: str
    topic: str
    queue_id: Int
    extra_info: str
    offset: Long
    invisible_time: Long  # ms
    lite_topic: str | None = None
    suspend: Bool = False


class ChangeInvisibleTimeResponseHeader(Header):
    """The new delivery."""

    pop_time: Long  # ms since the epoch
    invisible_time: Long  # ms
    revive_qid: Int


class PeekMessageRequestHeader(TopicRequestHeader, code=RequestCode.PEEK_MESSAGE):
    """Messages that a pop would deliver, which remain visible."""

    topic: str
    queue_id: Int = 0
    max_msg_nums: Int = 0
    consumer_group: str


class NotificationRequestHeader(TopicRequestHeader, code=RequestCode.NOTIFICATION):
    """Wait until a pop would deliver a message."""

    consumer_group: str
    topic: str
    queue_id: Int = 0
    poll_time: Long = 0  # ms to wait
    born_time: Long = 0  # ms since the epoch, by the client's clock
    order: Bool = False
    attempt_id: str | None = None
    exp_type: str | None = None
    exp: str | None = None


class NotificationResponseHeader(Header):
    """True if a pop would deliver a message."""

    has_msg: Bool
    polling_full: Bool = False


class PollingInfoRequestHeader(TopicRequestHeader, code=RequestCode.POLLING_INFO):
    """Query the number of waiting pops."""

    consumer_group: str
    topic: str
    queue_id: Int = 0


class PollingInfoResponseHeader(Header):
    """The number of waiting pops."""

    polling_num: Int


class StatisticsMessagesRequestHeader(TopicRequestHeader):
    """Count messages of a queue between two times."""

    consumer_group: str
    topic: str
    queue_id: Int
    from_time: Long = 0  # ms since the epoch
    to_time: Long = 0  # ms since the epoch
