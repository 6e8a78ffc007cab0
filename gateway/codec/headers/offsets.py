"""Offsets: limits of queues, offsets by time, progress of consumer groups, resets.

RocketMQ: the classes of the same names.
"""

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.fields import (
    Bool,
    Boundary,
    Header,
    Int,
    Long,
    RpcRequestHeader,
    TopicRequestHeader,
)


class GetMaxOffsetRequestHeader(TopicRequestHeader, code=RequestCode.GET_MAX_OFFSET):
    """Query the offset of the next message of a queue."""

    topic: str
    queue_id: Int
    committed: Bool = True  # only messages that all replicas have


class GetMaxOffsetResponseHeader(Header):
    """The requested offset."""

    offset: Long


class GetMinOffsetRequestHeader(TopicRequestHeader, code=RequestCode.GET_MIN_OFFSET):
    """Query the offset of the oldest message of a queue."""

    topic: str
    queue_id: Int


class GetMinOffsetResponseHeader(Header):
    """The requested offset."""

    offset: Long


class SearchOffsetRequestHeader(TopicRequestHeader, code=RequestCode.SEARCH_OFFSET_BY_TIMESTAMP):
    """Query the offset of the message stored at a time."""

    topic: str
    lite_topic: str | None = None
    queue_id: Int
    timestamp: Long  # ms since the epoch
    boundary_type: Boundary | None = None


class SearchOffsetResponseHeader(Header):
    """The requested offset."""

    offset: Long


class GetEarliestMsgStoretimeRequestHeader(TopicRequestHeader, code=RequestCode.GET_EARLIEST_MSG_STORETIME):
    """Query the store time of the oldest message of a queue."""

    topic: str
    queue_id: Int


class GetEarliestMsgStoretimeResponseHeader(Header):
    """The requested time."""

    timestamp: Long  # ms since the epoch


class QueryConsumerOffsetRequestHeader(TopicRequestHeader, code=RequestCode.QUERY_CONSUMER_OFFSET):
    """Query the offset of a group in a queue."""

    consumer_group: str = ""
    topic: str
    queue_id: Int
    set_zero_if_not_found: Bool | None = None


class QueryConsumerOffsetResponseHeader(Header):
    """The requested offset."""

    offset: Long


class UpdateConsumerOffsetRequestHeader(TopicRequestHeader, code=RequestCode.UPDATE_CONSUMER_OFFSET):
    """Commit the offset of a group in a queue."""

    consumer_group: str = ""
    topic: str
    queue_id: Int | None = None
    commit_offset: Long | None = None


class UpdateConsumerOffsetResponseHeader(Header):
    """No fields."""


class InitConsumerOffsetRequestHeader(TopicRequestHeader):
    """Query the offset at which a new group starts."""

    topic: str | None = None
    init_mode: Int = 0


class ResetOffsetRequestHeader(
    TopicRequestHeader,
    code=(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, RequestCode.RESET_CONSUMER_CLIENT_OFFSET),
    is_strict=True,
):
    """Reset a group to a time, or one queue of it to an offset."""

    group: str = ""
    topic: str
    queue_id: Int = -1  # -1: all
    offset: Long | None = None
    timestamp: Long  # ms since the epoch; -1 latest, -2 earliest
    is_force: Bool = False


class QueryCorrectionOffsetHeader(TopicRequestHeader, code=RequestCode.QUERY_CORRECTION_OFFSET):
    """The smallest offsets of a topic's groups, compared with one group."""

    filter_groups: str | None = None
    compare_group: str = ""
    topic: str


class CloneGroupOffsetRequestHeader(RpcRequestHeader, code=RequestCode.CLONE_GROUP_OFFSET):
    """Copy the progress of one group to another."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: Bool = False
