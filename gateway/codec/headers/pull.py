"""Reading messages: pulls, and look-ups by key or by offset.

RocketMQ: the classes of the same names.
"""

from typing import Final

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header, Int, Long, TopicRequestHeader

# Bits of a pull's `sys_flag`. RocketMQ: `PullSysFlag`.
FLAG_COMMIT_OFFSET: Final = 1
FLAG_SUSPEND: Final = 2
FLAG_SUBSCRIPTION: Final = 4
PROXY_FOR_BROADCAST: Final = 1
"""The `request_source` of a proxy that pulls for a broadcasting client. RocketMQ: `RequestSource`."""


class PullMessageRequestHeader(
    TopicRequestHeader, code=(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE), is_strict=True
):
    """Pull messages of one queue from `queue_offset` on, and perhaps wait for them."""

    consumer_group: str
    topic: str
    lite_topic: str | None = None
    queue_id: Int
    queue_offset: Long
    max_msg_nums: Int
    sys_flag: Int  # 1 commit, 2 wait, 4 subscription, 8 class filter, 16 lite
    commit_offset: Long = -1  # -1: nothing to commit
    suspend_timeout_millis: Long = 0  # ms to wait for messages
    subscription: str | None = None
    sub_version: Long = 0  # ms since the epoch
    expression_type: str | None = None
    max_msg_bytes: Int | None = None  # bytes
    request_source: Int | None = None
    proxy_froward_client_id: str | None = None  # RocketMQ's spelling


class PullMessageResponseHeader(Header):
    """The next offset; clients unbox the first four fields even if nothing was found."""

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None
    forbidden_type: Int | None = None


class QueryMessageRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_MESSAGE):
    """Query messages of a topic with a key, stored between two times."""

    topic: str = ""
    key: str = ""
    max_num: Int
    begin_timestamp: Long  # ms since the epoch
    end_timestamp: Long  # ms since the epoch
    index_type: str | None = None  # K keys, U unique key, T tags
    last_key: str | None = None


class QueryMessageResponseHeader(Header):
    """Freshness of the index: time and position of its last entry."""

    index_last_update_timestamp: Long  # ms since the epoch
    index_last_update_phyoffset: Long


class ViewMessageRequestHeader(Header, code=RequestCode.VIEW_MESSAGE_BY_ID):
    """View the message at a physical offset."""

    topic: str | None = None
    offset: Long  # physical offset


class ViewMessageResponseHeader(Header):
    """No fields; the answer is the body."""
