"""Lite topics: many small topics inside a parent topic, popped by client.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header, Int, Long, RpcRequestHeader


class PopLiteMessageRequestHeader(RpcRequestHeader, code=RequestCode.POP_LITE_MESSAGE):
    """A client requests messages of the lite topics it subscribes to."""

    client_id: str
    consumer_group: str
    topic: str
    max_msg_num: Int = 0
    invisible_time: Long = 0  # ms
    poll_time: Long = 0  # ms to wait
    born_time: Long = 0  # ms since the epoch, by the client's clock
    attempt_id: str | None = None


class PopLiteMessageResponseHeader(Header):
    """The delivered messages."""

    pop_time: Long  # ms since the epoch
    invisible_time: Long  # ms
    revive_qid: Int
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class LiteSubscriptionCtlRequestHeader(RpcRequestHeader, code=RequestCode.LITE_SUBSCRIPTION_CTL):
    """Change the subscriptions in the body."""


class NotifyUnsubscribeLiteRequestHeader(RpcRequestHeader, code=RequestCode.NOTIFY_UNSUBSCRIBE_LITE):
    """The broker notifies a client that it lost a subscription."""

    lite_topic: str
    consumer_group: str
    client_id: str


class GetParentTopicInfoRequestHeader(Header, code=RequestCode.GET_PARENT_TOPIC_INFO):
    """A parent topic."""

    topic: str


class GetLiteTopicInfoRequestHeader(Header, code=RequestCode.GET_LITE_TOPIC_INFO):
    """One lite topic."""

    parent_topic: str | None = None
    lite_topic: str | None = None


class GetLiteClientInfoRequestHeader(Header, code=RequestCode.GET_LITE_CLIENT_INFO):
    """The lite topics of a client."""

    parent_topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    max_count: Int = 1000


class GetLiteGroupInfoRequestHeader(Header, code=RequestCode.GET_LITE_GROUP_INFO):
    """The lag of a group, of one lite topic or the `top_k` worst."""

    group: str
    lite_topic: str | None = None
    top_k: Int = 0


class TriggerLiteDispatchRequestHeader(Header, code=RequestCode.TRIGGER_LITE_DISPATCH):
    """Deliver messages to a group's clients now."""

    group: str
    client_id: str | None = None
