"""Clients of a broker: heartbeats, members of groups, queue locks, and requests of a broker to a consumer.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Bool, Header, Int, RpcRequestHeader, TopicRequestHeader, wire


class HeartbeatRequestHeader(RpcRequestHeader, code=RequestCode.HEART_BEAT):
    """A client is alive; its groups are in the body."""


class UnregisterClientRequestHeader(RpcRequestHeader, code=RequestCode.UNREGISTER_CLIENT):
    """A client leaves a producer group, a consumer group, or both."""

    client_id: str = wire("clientID", default="")
    producer_group: str | None = None
    consumer_group: str | None = None


class UnregisterClientResponseHeader(Header):
    """No fields."""


class GetConsumerListByGroupRequestHeader(RpcRequestHeader, code=RequestCode.GET_CONSUMER_LIST_BY_GROUP):
    """The client ids of a consumer group."""

    consumer_group: str


class GetConsumerListByGroupResponseHeader(Header):
    """No fields; the answer is the body."""


class NotifyConsumerIdsChangedRequestHeader(RpcRequestHeader, code=RequestCode.NOTIFY_CONSUMER_IDS_CHANGED):
    """The broker notifies a client that a group has changed."""

    consumer_group: str


class LockBatchMqRequestHeader(RpcRequestHeader, code=RequestCode.LOCK_BATCH_MQ):
    """Lock queues for ordered consumption."""


class UnlockBatchMqRequestHeader(RpcRequestHeader, code=RequestCode.UNLOCK_BATCH_MQ):
    """Unlock queues."""


class GetConsumerConnectionListRequestHeader(RpcRequestHeader, code=RequestCode.GET_CONSUMER_CONNECTION_LIST):
    """The connections of a consumer group."""

    consumer_group: str


class GetProducerConnectionListRequestHeader(RpcRequestHeader, code=RequestCode.GET_PRODUCER_CONNECTION_LIST):
    """The connections of a producer group."""

    producer_group: str


class GetAllProducerInfoRequestHeader(Header, code=RequestCode.GET_ALL_PRODUCER_INFO):
    """All producers of a broker."""


class GetConsumerRunningInfoRequestHeader(RpcRequestHeader, code=RequestCode.GET_CONSUMER_RUNNING_INFO):
    """Running information of a consumer; passed on to the consumer."""

    consumer_group: str
    client_id: str
    jstack_enable: Bool = False


class ConsumeMessageDirectlyResultRequestHeader(
    TopicRequestHeader, code=RequestCode.CONSUME_MESSAGE_DIRECTLY
):
    """Consume one message now; passed on to the consumer."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None


class GetConsumerStatusRequestHeader(
    TopicRequestHeader,
    code=(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT),
):
    """Offsets as the consumers of a group see them."""

    topic: str
    group: str
    client_addr: str | None = None
