"""Reading messages: pulls, and look-ups by key or by offset.

Standard: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import Header, Int, Long, TopicRequestHeader


class PullMessageRequestHeader(
    TopicRequestHeader, code=(RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE), is_strict=True
):
    """A consumer asks for messages of one queue from `queue_offset` on, and may wait for them."""

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
    proxy_froward_client_id: str | None = None  # the standard's spelling


class PullMessageResponseHeader(Header):
    """Where to go on; clients unbox the first four even when nothing was found."""

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
    offset_delta: Long | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None
    forbidden_type: Int | None = None


class QueryMessageRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_MESSAGE):
    """Messages of a topic with a key, stored between two times."""

    topic: str = ""
    key: str = ""
    max_num: Int
    begin_timestamp: Long  # ms since the epoch
    end_timestamp: Long  # ms since the epoch
    index_type: str | None = None  # K keys, U unique key, T tags
    last_key: str | None = None


class QueryMessageResponseHeader(Header):
    """How far the index had come."""

    index_last_update_timestamp: Long  # ms since the epoch
    index_last_update_phyoffset: Long


class ViewMessageRequestHeader(Header, code=RequestCode.VIEW_MESSAGE_BY_ID):
    """The message at a physical offset."""

    topic: str | None = None
    offset: Long  # physical offset


class ViewMessageResponseHeader(Header):
    """Nothing but the body."""
