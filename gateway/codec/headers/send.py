"""Sending: plain and batch messages, replies, messages sent back, recalls.

The one-letter header of SEND_MESSAGE_V2 is the same header in another spelling, so both share one class of
a message's fields.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, Long, RpcRequestHeader, TopicRequestHeader


class SendMessageRequestHeader(
    TopicRequestHeader, code=(RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE)
):
    """Fields of the message, or the batch of messages, in the body."""

    producer_group: str = ""
    topic: str
    default_topic: str = ""  # the topic a new one is copied from
    default_topic_queue_nums: Int = 0
    queue_id: Int
    sys_flag: Int  # bits of `engine.message.SysFlag`
    born_timestamp: Long  # ms since the epoch
    flag: Int
    properties: str | None = None  # name \x01 value \x02 ...
    reconsume_times: Int | None = None
    unit_mode: Bool | None = None
    batch: Bool | None = None
    max_reconsume_times: Int | None = None


# RocketMQ: `SendMessageRequestHeaderV2`, whose fields have no other names than these.
_ONE_LETTER = {
    "producer_group": "a",
    "topic": "b",
    "default_topic": "c",
    "default_topic_queue_nums": "d",
    "queue_id": "e",
    "sys_flag": "f",
    "born_timestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsume_times": "j",
    "unit_mode": "k",
    "max_reconsume_times": "l",
    "batch": "m",
    "bname": "n",
}


class SendMessageRequestHeaderV2(
    SendMessageRequestHeader,
    code=(RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    spelling=_ONE_LETTER,
    is_strict=True,
):
    """`SendMessageRequestHeader` with one-letter names; `bname` is `n` here."""


class SendMessageResponseHeader(Header):
    """Position of the stored message; of a batch, all ids joined by commas and the first offset."""

    msg_id: str
    queue_id: Int
    queue_offset: Long
    transaction_id: str | None = None
    batch_uniq_id: str | None = None
    recall_handle: str | None = None


class ConsumerSendMsgBackRequestHeader(RpcRequestHeader, code=RequestCode.CONSUMER_SEND_MSG_BACK):
    """Send back the message at `offset` for a later retry."""

    offset: Long  # physical offset
    group: str
    delay_level: Int  # 0: by the number of tries, below 0: dead letter queue
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: Bool = False
    max_reconsume_times: Int | None = None


class ReplyMessageRequestHeader(TopicRequestHeader, code=RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT):
    """The broker pushes to a requester the reply that is in the body."""

    producer_group: str
    topic: str
    default_topic: str  # the topic a new one is copied from
    default_topic_queue_nums: Int
    queue_id: Int
    sys_flag: Int
    born_timestamp: Long  # ms since the epoch
    flag: Int
    properties: str | None = None  # name \x01 value \x02 ...
    reconsume_times: Int | None = None
    unit_mode: Bool = False
    born_host: str
    store_host: str
    store_timestamp: Long  # ms since the epoch


class RecallMessageRequestHeader(TopicRequestHeader, code=RequestCode.RECALL_MESSAGE):
    """Recall a timed message that was not delivered yet."""

    producer_group: str | None = None
    topic: str = ""
    recall_handle: str = ""


class RecallMessageResponseHeader(Header):
    """The key of the recalled message."""

    msg_id: str
